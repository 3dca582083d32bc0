"""`scripts/swarm.sh check`: measures clocks, images, ports and links of a swarm's nodes, and says what it found.

A finding prevents a run on these nodes, or affects its figures, or says that all is well.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from driver.docker import CONFINED, DockerError, Done, answer, docker
from driver.failure import say, warn
from driver.nodes.images import HARNESS, IMAGE, copy_tools
from driver.nodes.node import ROLES, Node
from driver.nodes.swarm import LABEL, SEPARATOR, Swarm, SwarmNode
from driver.together import together

SKEW_STOPS = 1.0
"""Seconds; with more, windows of two nodes cannot be matched."""
SKEW_WARNS = 0.1
SLOW_LINK = 1e9
"""Bits/s; below, the network limits answers of some kilobytes."""
FAR = 0.002
"""Seconds of round trip; above, the network limits 64 connections."""
PORTS = {2377: "the swarm's managers", 7946: "what nodes tell each other of networks"}


@dataclass(frozen=True)
class Clock:
    """How far a node's clock is ahead of this machine's, and the error of that, in seconds."""

    ahead: float
    within: float


@dataclass(frozen=True)
class Port:
    """Whether one node reaches a TCP port of another."""

    of: str
    to: str
    number: int
    open: bool


@dataclass(frozen=True)
class Link:
    """The link between two nodes over an overlay network: bits/s, and mean round trip in seconds; None if unknown."""

    of: str
    to: str
    bits_per_second: float | None
    round_trip: float | None


@dataclass
class Facts:
    """What was measured. `images`: ids of each node's images; `wanted`: names and ids of the images here."""

    swarm: Swarm
    wanted: Mapping[str, str]
    clocks: dict[str, Clock] = field(default_factory=dict)
    images: dict[str, frozenset[str]] = field(default_factory=dict)
    ports: list[Port] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """`kind`: `stop` (no run is possible until it is fixed), `warn` (it affects figures), or `ok`."""

    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}"


def findings(facts: Facts) -> tuple[Finding, ...]:
    """All that was found: roles, engines, images, clocks, ports, links."""
    return (
        *_of_roles(facts.swarm),
        *_of_engines(facts.swarm),
        *_of_images(facts),
        *_of_clocks(facts),
        *_of_ports(facts),
        *(_of_link(link) for link in facts.links),
    )


def _of_roles(swarm: Swarm) -> Iterator[Finding]:
    for role in ROLES:
        those = swarm.with_role(role)
        usable = [node for node in those if node.usable]
        if usable:
            yield Finding("ok", f"{role}: {_names(usable)}")
        elif those:
            yield Finding("stop", f"{role}: no node with this role can be used now ({_names(those)})")
        else:
            yield Finding("stop", f"{role}: no node has this role: scripts/swarm.sh label NODE {role}")
    for node in swarm.nodes:
        unknown = [word for word in node.label.split(SEPARATOR) if word and word not in ROLES]
        if unknown:
            yield Finding("stop", f"{node.name}: {LABEL}={node.label} has no meaning; roles are {', '.join(ROLES)}")
        if "server" in node.roles and len(node.roles) > 1:
            yield Finding("stop", f"{node.name}: a server under test shares its node with no other role")


def _of_engines(swarm: Swarm) -> Iterator[Finding]:
    ours = [node for node in swarm.nodes if node.roles]
    for node in ours:
        if not node.ready:
            yield Finding("warn", f"{node.name}: is down, as the swarm has it")
        elif not node.active:
            yield Finding("warn", f"{node.name}: is drained or paused: docker node update --availability active")
        if node.context is None:
            yield Finding(
                "stop" if node.ready and node.active else "warn",
                f"{node.name}: no Docker context reaches its engine: docker context create {node.name} "
                f"--docker host=ssh://{node.address}",
            )
    versions = sorted({node.engine for node in ours})
    if len(versions) > 1:
        yield Finding("warn", f"engines of {len(versions)} versions: {', '.join(versions)}")
    kinds: dict[str, list[SwarmNode]] = {}
    for node in swarm.with_role("server"):
        kinds.setdefault(node.kind, []).append(node)
    if len(kinds) > 1:
        apart = "; ".join(f"{_names(those)}: {kind}" for kind, those in kinds.items())
        yield Finding("warn", f"server nodes of {len(kinds)} kinds, whose figures are not compared ({apart})")


def _names(nodes: Iterable[SwarmNode]) -> str:
    return ", ".join(node.name for node in nodes)


def _of_images(facts: Facts) -> Iterator[Finding]:
    for node in facts.swarm.nodes:
        if not node.roles or not node.usable or not facts.wanted:
            continue
        there = facts.images.get(node.name, frozenset())
        lacks = sorted(name for name, image in facts.wanted.items() if image not in there)
        if lacks:
            yield Finding("ok", f"{node.name}: images that are not there yet and will be sent: {', '.join(lacks)}")
        else:
            yield Finding("ok", f"{node.name}: has all images of the harness")


def _of_clocks(facts: Facts) -> Iterator[Finding]:
    for name, clock in sorted(facts.clocks.items()):
        # The difference that is certain.
        least = abs(clock.ahead) - clock.within
        kind = "stop" if least > SKEW_STOPS else "warn" if least > SKEW_WARNS else "ok"
        help_ = "; set it by NTP (chrony, systemd-timesyncd)" if kind != "ok" else ""
        yield Finding(
            kind,
            f"{name}: clock {clock.ahead * 1e3:+.0f} ms from this machine's (within {clock.within * 1e3:.0f}){help_}",
        )


def _of_ports(facts: Facts) -> Iterator[Finding]:
    closed = [port for port in facts.ports if not port.open]
    for port in closed:
        what = PORTS.get(port.number, "")
        yield Finding("stop", f"{port.of}: does not reach {port.to} at {port.number}/tcp ({what}): open it there")
    if facts.ports and not closed:
        numbers = ", ".join(f"{number}/tcp" for number in sorted({port.number for port in facts.ports}))
        yield Finding("ok", f"ports: {numbers} reached between all nodes with a role")


def _of_link(link: Link) -> Finding:
    pair = f"{link.of} to {link.to}"
    if link.round_trip is None:
        return Finding("stop", f"{pair}: nothing passes on an overlay network: open 4789/udp and 7946/udp on both")
    if link.bits_per_second is None:
        return Finding("stop", f"{pair}: iperf3 fails, although a ping passes: is the network's MTU too large?")
    slow = link.bits_per_second < SLOW_LINK or link.round_trip > FAR
    words = (
        f"{pair}: {link.bits_per_second / 1e9:.2f} Gbit/s, {link.round_trip * 1e3:.2f} ms (iperf3 and ping, overlay)"
    )
    return Finding("warn" if slow else "ok", words + ("; the network may limit what is measured" if slow else ""))


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
