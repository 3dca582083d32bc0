"""What scripts/swarm.sh check found out, as files in one folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.swarm.nodes import Node, read_nodes

PING = re.compile(r"^rtt min/avg/max/mdev = [\d.]+/(?P<mean>[\d.]+)/", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a node's clock is ahead of this machine's, in seconds, and how far that may be off."""

    ahead: float
    within: float


@dataclass(frozen=True, slots=True)
class Port:
    """Whether a node reaches another one's TCP port."""

    of: str
    to: str
    number: int
    open: bool


@dataclass(frozen=True, slots=True)
class Link:
    """From a load generator's node to a server's over an overlay network: bits/s, mean round trip in seconds.

    None: it could not be measured.
    """

    of: str
    to: str
    bits_per_second: float | None
    round_trip: float | None


@dataclass(frozen=True, slots=True)
class Facts:
    """`images`: for each node's name, the ids of the images there; `wanted`: names and ids of the images here."""

    nodes: tuple[Node, ...]
    clocks: Mapping[str, Clock]
    images: Mapping[str, frozenset[str]]
    wanted: Mapping[str, str]
    ports: tuple[Port, ...]
    links: tuple[Link, ...]


def read_facts(folder: Path) -> Facts:
    """The facts in a folder; UserError where a file is not as scripts/lib/nodes.sh writes it.

    nodes.json is the array of `docker node inspect`; the others have a line each: contexts `ID CONTEXT`, clocks `NODE
    BEFORE_S TIME AFTER_S` (TIME as RFC 3339), images `NODE ID`, wanted `NAME ID`, ports `FROM TO PORT open|closed`,
    links `FROM TO`, whose measurements are ping-FROM-TO.txt and iperf-FROM-TO.json.
    """
    try:
        contexts = {words[0]: words[1] for words in _lines(folder / "contexts")}
        clocks = _clocks(_lines(folder / "clocks"))
        images: dict[str, set[str]] = {}
        for node, image in _lines(folder / "images"):
            images.setdefault(node, set()).add(image)
        ports = tuple(Port(of, to, int(port), state == "open") for of, to, port, state in _lines(folder / "ports"))
        links = tuple(_link(folder, of, to) for of, to in _lines(folder / "links"))
        return Facts(
            nodes=read_nodes(_nodes(folder / "nodes.json"), contexts),
            clocks=clocks,
            images={node: frozenset(ids) for node, ids in images.items()},
            wanted=dict(_lines(folder / "wanted")),
            ports=ports,
            links=links,
        )
    except (ValueError, IndexError, OSError) as error:
        raise UserError(f"{folder}: not what scripts/swarm.sh check has found out: {error}") from error


def _nodes(path: Path) -> list[Mapping[str, Any]]:
    nodes = json.loads(path.read_text())
    if not isinstance(nodes, list):
        raise UserError(f"{path}: not what docker node inspect prints: no list")
    return nodes


def _lines(path: Path) -> Iterator[list[str]]:
    return (line.split() for line in path.read_text().splitlines()) if path.exists() else iter(())


def _clocks(lines: Iterator[list[str]]) -> dict[str, Clock]:
    """Of a node that was asked several times, what it said most quickly."""
    clocks: dict[str, Clock] = {}
    for node, before, time, after in lines:
        clock = _clock(float(before), time, float(after))
        if node not in clocks or clock.within < clocks[node].within:
            clocks[node] = clock
    return clocks


def _clock(before: float, time: str, after: float) -> Clock:
    """What a node said its time is, between two readings of this machine's clock."""
    # Nanoseconds, which Python does not read.
    there = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", time)).timestamp()
    return Clock(ahead=there - (before + after) / 2, within=(after - before) / 2)


def _link(folder: Path, of: str, to: str) -> Link:
    ping, iperf = folder / f"ping-{of}-{to}.txt", folder / f"iperf-{of}-{to}.json"
    found = PING.search(ping.read_text()) if ping.exists() else None
    return Link(of, to, _speed(iperf), float(found["mean"]) / 1000 if found else None)


def _speed(path: Path) -> float | None:
    """What arrived; None where iperf3 has failed, which it says in the same form."""
    try:
        speed = json.loads(path.read_text())["end"]["sum_received"]["bits_per_second"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(speed) or None
