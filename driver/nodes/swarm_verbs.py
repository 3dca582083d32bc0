"""The verbs of scripts/swarm.sh, which has checked the arguments; `check` tests all that a run needs from a swarm."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from driver.docker import CONFINED, DockerError, Done, answer, docker, in_time, or_failure, time_ns
from driver.failure import USER, say, warn
from driver.nodes.images import IMAGE, copy_tools, remove_registry, send_images, start_registry
from driver.nodes.node import ROLES, Node
from driver.nodes.swarm import LABEL, SEPARATOR, Swarm, SwarmNode, read_swarm, role_label
from driver.parallel import together
from driver.run import ROOT
from driver.services.harness import IMAGES

SKEW_STOPS = 1.0
"""Seconds; above, windows of two nodes cannot be matched."""
SKEW_WARNS = 0.1
SLOW_LINK = 1e9
"""Bits/s; below, the network limits answers of some kilobytes."""
FAR = 0.002
"""Seconds of round trip; above, the network limits 64 connections."""
MANAGERS, NETWORKS = 2377, 7946
PORTS = {MANAGERS: "the swarm's managers", NETWORKS: "what nodes tell each other of networks"}
PING = re.compile(r"^rtt min/avg/max/mdev = [\d.]+/(?P<mean>[\d.]+)/", re.MULTILINE)
TRY_PORTS = """
    while read -r address port; do
        if timeout 3 bash -c "</dev/tcp/$address/$port" 2>/dev/null; then echo open; else echo closed; fi
    done"""


def main(argv: list[str]) -> int:
    """`swarm VERB WORD...`: see scripts/swarm.sh --help."""
    verb, words = argv[0], argv[1:]
    root = Path(os.environ.get("BENCH_ROOT") or ROOT)
    swarm = read_swarm()
    if verb == "label":
        _label(swarm, words[0], words[1:])
    elif verb == "roles":
        for node in swarm.usable():
            print(node.role, node.name, node.context, node.address, node.kind)
    elif verb == "check":
        found = list(check(root, swarm, int(words[-1]) if words else 2))
        print(*found, sep="\n")
        return 1 if any(finding.kind == "stop" for finding in found) else 0
    elif verb == "up":
        start_registry(root, swarm, words)
    elif verb == "send":
        send_images(root, swarm, words)
    else:
        remove_registry(swarm)
    return 0


def _label(swarm: Swarm, name: str, roles: Sequence[str]) -> None:
    """Sets the role label of a node; removes it if there are no roles."""
    label = role_label(roles)
    change = ["--label-add", f"{LABEL}={label}"] if label else ["--label-rm", LABEL]
    with or_failure(USER, f"node {name} is not labelled"):
        docker("node", "update", *change, name, context=swarm.manager)
    say(f"{name}: {label or 'no role'}")


@dataclass(frozen=True)
class Finding:
    """`kind`: `stop` (no run is possible until it is fixed), `warn` (it affects figures), or `ok`."""

    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}"


def check(root: Path, swarm: Swarm, seconds: int) -> Iterator[Finding]:
    """All findings. `seconds`: how long to measure each link."""
    wanted = {image: docker("image", "inspect", "--format", "{{.Id}}", image).out.strip() for image in IMAGES}
    yield from of_roles(swarm)
    yield from of_engines(swarm)
    if not (nodes := swarm.machines()):
        return
    for node in nodes:
        ids = docker("image", "ls", "--no-trunc", "--quiet", context=node.context).out.split()
        yield of_images(node.name, wanted, ids)
    for node in nodes:
        yield of_clock(node.name, *_clock(node))
    copy_tools(root, nodes)
    closed = [finding for findings in together(partial(closed_ports, swarm), nodes) for finding in findings]
    yield from closed or [Finding("ok", f"ports: {MANAGERS}/tcp, {NETWORKS}/tcp reached between all nodes with a role")]
    yield from _links(swarm, seconds)


def of_roles(swarm: Swarm) -> Iterator[Finding]:
    """Roles without a usable node, and labels that are not roles."""
    for role in ROLES:
        those = swarm.with_role(role)
        if usable := [node for node in those if node.usable]:
            yield Finding("ok", f"{role}: {_names(usable)}")
        elif those:
            yield Finding("stop", f"{role}: no node with this role can be used now ({_names(those)})")
        else:
            yield Finding("stop", f"{role}: no node has this role: scripts/swarm.sh label NODE {role}")
    for node in swarm.nodes:
        if any(word and word not in ROLES for word in node.label.split(SEPARATOR)):
            yield Finding("stop", f"{node.name}: {LABEL}={node.label} has no meaning; roles are {', '.join(ROLES)}")
        if "server" in node.roles and len(node.roles) > 1:
            yield Finding("stop", f"{node.name}: a server under test shares its node with no other role")


def of_engines(swarm: Swarm) -> Iterator[Finding]:
    """Nodes that cannot be used, and differences between nodes."""
    ours = [node for node in swarm.nodes if node.roles]
    for node in ours:
        if not node.ready:
            yield Finding("warn", f"{node.name}: is down, according to the swarm")
        elif not node.active:
            yield Finding("warn", f"{node.name}: is drained or paused: docker node update --availability active")
        if node.context is None:
            how = f"docker context create {node.name} --docker host=ssh://{node.address}"
            kind = "stop" if node.ready and node.active else "warn"
            yield Finding(kind, f"{node.name}: no Docker context reaches its engine: {how}")
    versions = sorted({node.engine for node in ours})
    if len(versions) > 1:
        yield Finding("warn", f"engines of {len(versions)} versions: {', '.join(versions)}")
    kinds: dict[str, list[SwarmNode]] = {}
    for node in swarm.with_role("server"):
        kinds.setdefault(node.kind, []).append(node)
    if len(kinds) > 1:
        apart = "; ".join(f"{_names(those)}: {kind}" for kind, those in kinds.items())
        yield Finding("warn", f"server nodes of {len(kinds)} kinds, whose figures are not compared ({apart})")


def of_images(node: str, wanted: Mapping[str, str], there: Sequence[str]) -> Finding:
    """`wanted`: names and ids of this machine's images; `there`: ids of the node's images."""
    lacks = sorted(name for name, image in wanted.items() if image not in there)
    will_be_sent = f"images that are not there yet and will be sent: {', '.join(lacks)}"
    return Finding("ok", f"{node}: {will_be_sent if lacks else 'has all images of the harness'}")


def of_clock(node: str, ahead: float, within: float) -> Finding:
    """How far a node's clock is `ahead` of this machine's, and the error of that (`within`), in seconds."""
    # The difference is at least this large.
    least = abs(ahead) - within
    kind = "stop" if least > SKEW_STOPS else "warn" if least > SKEW_WARNS else "ok"
    help_ = "; set it by NTP (chrony, systemd-timesyncd)" if kind != "ok" else ""
    return Finding(kind, f"{node}: clock {ahead * 1e3:+.0f} ms from this machine's (within {within * 1e3:.0f}){help_}")


def of_link(of: str, to: str, ping: Done | None, iperf: Done | None) -> Finding:
    """From the outputs of ping and iperf3 over an overlay network; None if they were not run."""
    match, bits_per_second = PING.search(ping.out) if ping else None, _speed(iperf.out if iperf else "")
    if match is None:
        return Finding("stop", f"{of} to {to}: the overlay network is blocked: open 4789/udp and 7946/udp on both")
    if bits_per_second is None:
        return Finding("stop", f"{of} to {to}: iperf3 fails, although ping works: is the network's MTU too large?")
    round_trip = float(match["mean"]) / 1000
    slow = bits_per_second < SLOW_LINK or round_trip > FAR
    figures = f"{bits_per_second / 1e9:.2f} Gbit/s, {round_trip * 1e3:.2f} ms (iperf3 and ping, overlay)"
    limits = "; the network may limit what is measured" if slow else ""
    return Finding("warn" if slow else "ok", f"{of} to {to}: {figures}{limits}")


def clock_of(before: float, told: str, after: float) -> tuple[float, float]:
    """How far a node's clock is ahead, and the error, from its time and this machine's before and after asking."""
    return (time_ns(told) or 0) / 1e9 - (before + after) / 2, (after - before) / 2


def _names(nodes: Iterable[SwarmNode]) -> str:
    return ", ".join(node.name for node in nodes)


def _clock(node: Node) -> tuple[float, float]:
    """Asks three times; the fastest answer is the most exact."""
    clocks = []
    for _ in range(3):
        before = time.time()
        told = docker("info", "--format", "{{.SystemTime}}", context=node.context).out
        clocks.append(clock_of(before, told, time.time()))
    return min(clocks, key=lambda clock: clock[1])


def _node_tool(node: Node, *words: str, stdin: bytes = b"", check: bool = True) -> Done:
    """Runs a container with network tools on a node."""
    return docker("run", "--rm", *CONFINED, "--init", *words, context=node.context, stdin=stdin, check=check)


def closed_ports(swarm: Swarm, node: Node) -> list[Finding]:
    """The swarm's ports that a node does not reach: of all others, and of the managers among them."""
    manages = {one.name for one in swarm.nodes if one.manager}
    others = [other for other in swarm.machines() if other.name != node.name]
    asked = [(other, NETWORKS) for other in others] + [(other, MANAGERS) for other in others if other.name in manages]
    lines = "".join(f"{other.address} {number}\n" for other, number in asked).encode()
    done = _node_tool(node, "--interactive", "--network", "host", IMAGE, "bash", "-c", TRY_PORTS, stdin=lines)
    closed = [port for port, state in zip(asked, done.out.split()) if state != "open"]
    words = "{}: cannot reach {} at {}/tcp ({}): open it there"
    return [Finding("stop", words.format(node.name, other.name, port, PORTS[port])) for other, port in closed]


def _links(swarm: Swarm, seconds: int) -> Iterator[Finding]:
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
        # The swarm may still count containers in it.
        if not in_time(lambda: answer("network", "rm", network, context=swarm.manager) is not None, 30, 0.3):
            warn(f"network {network} is not removed")


def _link(seconds: int, network: str, loadgen: Node, server: Node) -> Finding:
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
    return of_link(loadgen.name, server.name, ping, iperf)


def _speed(text: str) -> float | None:
    """Received bits/s in iperf3's JSON; None if it reports an error."""
    with suppress(ValueError, KeyError, TypeError):
        return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) or None
    return None
