"""Findings of `swarm.sh check`: what prevents a run on these nodes, and what affects its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from driver.machines.node import ROLES
from driver.swarm.members import LABEL, SEPARATOR, Swarm, SwarmNode

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
        *_roles(facts.swarm),
        *_engines(facts.swarm),
        *_images(facts),
        *_clocks(facts),
        *_ports(facts),
        *(_link(link) for link in facts.links),
    )


def _roles(swarm: Swarm) -> Iterator[Finding]:
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


def _engines(swarm: Swarm) -> Iterator[Finding]:
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


def _images(facts: Facts) -> Iterator[Finding]:
    for node in facts.swarm.nodes:
        if not node.roles or not node.usable or not facts.wanted:
            continue
        there = facts.images.get(node.name, frozenset())
        lacks = sorted(name for name, image in facts.wanted.items() if image not in there)
        if lacks:
            yield Finding("ok", f"{node.name}: images that are not there yet and will be sent: {', '.join(lacks)}")
        else:
            yield Finding("ok", f"{node.name}: has all images of the harness")


def _clocks(facts: Facts) -> Iterator[Finding]:
    for name, clock in sorted(facts.clocks.items()):
        # The difference that is certain.
        least = abs(clock.ahead) - clock.within
        kind = "stop" if least > SKEW_STOPS else "warn" if least > SKEW_WARNS else "ok"
        help_ = "; set it by NTP (chrony, systemd-timesyncd)" if kind != "ok" else ""
        yield Finding(
            kind,
            f"{name}: clock {clock.ahead * 1e3:+.0f} ms from this machine's (within {clock.within * 1e3:.0f}){help_}",
        )


def _ports(facts: Facts) -> Iterator[Finding]:
    closed = [port for port in facts.ports if not port.open]
    for port in closed:
        what = PORTS.get(port.number, "")
        yield Finding("stop", f"{port.of}: does not reach {port.to} at {port.number}/tcp ({what}): open it there")
    if facts.ports and not closed:
        numbers = ", ".join(f"{number}/tcp" for number in sorted({port.number for port in facts.ports}))
        yield Finding("ok", f"ports: {numbers} reached between all nodes with a role")


def _link(link: Link) -> Finding:
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
