"""Measures what `scripts/swarm.sh check` reports: clocks, images, ports and links of a swarm's nodes."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from driver.docker import CONFINED, DockerError, Done, docker
from driver.failure import say, warn
from driver.machines.image_copies import HARNESS
from driver.machines.node import Node
from driver.swarm.findings import Clock, Facts, Link, Port
from driver.swarm.members import Swarm, answer
from driver.swarm.registry import IMAGE, copy_tools
from driver.together import together

PING = re.compile(r"^rtt min/avg/max/mdev = [\d.]+/(?P<mean>[\d.]+)/", re.MULTILINE)
TRY_PORTS = """
    while read -r address port; do
        if timeout 3 bash -c "</dev/tcp/$address/$port" 2>/dev/null; then echo open; else echo closed; fi
    done"""


def check_nodes(root: Path, swarm: Swarm, seconds: int) -> Facts:
    """All measurements. `seconds`: for each link."""
    wanted = {image: docker("image", "inspect", "--format", "{{.Id}}", image).out.strip() for image in HARNESS}
    facts = Facts(swarm, wanted)
    nodes = swarm.machines()
    if not nodes:
        return facts
    for node in nodes:
        facts.clocks[node.name] = _clock(node)
        ids = docker("image", "ls", "--no-trunc", "--quiet", context=node.context).out
        facts.images[node.name] = frozenset(ids.split())
    copy_tools(root, nodes)
    for ports in together(partial(_ports, swarm), nodes):
        facts.ports += ports
    facts.links += _links(swarm, seconds)
    return facts


def clock_of(before: float, told: str, after: float) -> Clock:
    """From a node's time, and this machine's time before and after asking."""
    # Python 3.9 parses neither nanoseconds nor a Z for UTC.
    told = re.sub(r"\.(\d+)", lambda found: "." + found[1][:6].ljust(6, "0"), told.strip()).replace("Z", "+00:00")
    return Clock(ahead=datetime.fromisoformat(told).timestamp() - (before + after) / 2, within=(after - before) / 2)


def link_of(of: str, to: str, ping: Done | None, iperf: Done | None) -> Link:
    """From the outputs of ping and iperf3; None if they were not run."""
    found = PING.search(ping.out) if ping else None
    return Link(of, to, _speed(iperf.out if iperf else ""), float(found["mean"]) / 1000 if found else None)


def remove_network(manager: str, name: str) -> None:
    """Removes a network; tries again while the swarm still counts containers in it."""
    for _ in range(30):
        if answer("network", "rm", name, context=manager) is not None:
            return
        time.sleep(0.3)
    warn(f"network {name} is not removed")


def _clock(node: Node) -> Clock:
    """Asks three times and keeps the fastest answer, which is the most exact."""
    clocks = []
    for _ in range(3):
        before = time.time()
        told = docker("info", "--format", "{{.SystemTime}}", context=node.context).out
        clocks.append(clock_of(before, told, time.time()))
    return min(clocks, key=lambda clock: clock.within)


def _node_tool(node: Node, *words: str, stdin: bytes = b"", check: bool = True) -> Done:
    """Runs a container with network tools on a node."""
    return docker("run", "--rm", *CONFINED, "--init", *words, context=node.context, stdin=stdin, check=check)


def _ports(swarm: Swarm, node: Node) -> list[Port]:
    """Whether a node reaches the swarm's ports of all others."""
    manages = {one.name for one in swarm.nodes if one.manager}
    asked = []
    for other in swarm.machines():
        if other.name != node.name:
            asked += [(other, number) for number in (7946, *((2377,) if other.name in manages else ()))]
    lines = "".join(f"{other.address} {number}\n" for other, number in asked).encode()
    done = _node_tool(node, "--interactive", "--network", "host", IMAGE, "bash", "-c", TRY_PORTS, stdin=lines)
    return [
        Port(node.name, other.name, number, word == "open") for (other, number), word in zip(asked, done.out.split())
    ]


def _links(swarm: Swarm, seconds: int) -> Iterator[Link]:
    """Measures each server with one of the load generators, one pair at a time."""
    servers, loadgens = swarm.machines("server"), swarm.machines("loadgen")
    if not servers or not loadgens:
        return
    network = f"bench-check-{os.getpid()}"
    docker("network", "create", "--driver", "overlay", "--attachable", "--internal", network, context=swarm.manager)
    try:
        for place, server in enumerate(servers):
            yield _link(seconds, network, loadgens[place % len(loadgens)], server)
    finally:
        remove_network(swarm.manager, network)


def _link(seconds: int, network: str, loadgen: Node, server: Node) -> Link:
    """Measures round trips, then throughput."""
    name = f"{network}-server"
    ping = iperf = None
    tool = ("--network", network, "--tmpfs", "/tmp", IMAGE)
    try:
        _node_tool(server, "--detach", "--name", name, *tool, "iperf3", "--server", "--one-off")
        ping = _node_tool(loadgen, *tool, *f"ping -q -c 50 -i 0.02 -W 1 {name}".split(), check=False)
        if ping.status == 0:
            words = f"iperf3 --json --connect-timeout 3000 --time {seconds} --client {name}".split()
            iperf = _node_tool(loadgen, *tool, *words, check=False)
    except DockerError:
        say(f"{server.name}: no link is measured")
    answer("rm", "--force", name, context=server.context, timeout=60)
    return link_of(loadgen.name, server.name, ping, iperf)


def _speed(text: str) -> float | None:
    """Received bits/s in iperf3's JSON; None if it reports an error."""
    try:
        return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) or None
    except (ValueError, KeyError, TypeError):
        return None
