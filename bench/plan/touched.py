"""What the difference of two refs touches, and the few stacks that show it where none are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.core.errors import UserError
from bench.matrix.model import Matrix
from bench.matrix.service import Service, python_label
from bench.plan.cells import PlannedCell
from bench.plan.selection import Selection, with_settings
from bench.plan.sides import CLASS, TAKEN, Sides, pairs_of

DEFAULT = f"gunicorn-${CLASS}-flask"
"""Measured where the difference touches every service."""
SCENARIOS = ("json", "delay-20")
"""Nothing to wait for, and 20 ms."""
LEVELS, TOOLS = ("c16",), ("wrk",)
MOST = 3
"""Stacks that a default selection has."""
MINUTES = 4.0
"""That it is measured at most."""
EVERY = re.compile(r"services/(common/|(debian|alpine)\.Dockerfile$)")
FOLDER = re.compile(r"services/(framework|server)s/([^/]+)/")
LOCK = re.compile(r"services/locks/([^/]+)/(framework|server|common|package)-(.+)\.txt$")


@dataclass(frozen=True, slots=True)
class Touched:
    """What differs: `every` service, or some by `frameworks` (folders), `servers`, `locks` (Python, what, name)."""

    every: bool
    worker_class: bool
    frameworks: frozenset[str]
    servers: frozenset[str]
    locks: frozenset[tuple[str, str, str]]

    def concerns(self, service: Service) -> bool:
        """Whether a service may be another one on the other side."""
        server, folder, label = service.server.name, service.framework.folder, python_label(service.python)
        own = {("framework", folder), ("server", server), ("common", service.server.style)}
        return (
            self.every
            or folder in self.frameworks
            or server in self.servers
            or any((label, *name) in self.locks for name in own)
        )


def touched(sides: Sides) -> Touched:
    """From the paths that differ, the entries of both matrices, and the settings that services read."""
    folders = {found.groups() for path in sides.changed if (found := FOLDER.match(path))}
    base, head = (side.matrix for side in sides.both)
    settings = any(sides.base.settings[name] != sides.head.settings[name] for name in TAKEN)
    return Touched(
        every=settings or any(EVERY.match(path) for path in sides.changed),
        worker_class=sides.base.settings[CLASS] != sides.head.settings[CLASS],
        frameworks=frozenset(name for kind, name in folders if kind == "framework")
        | {f.folder for n, f in base.frameworks.items() if head.frameworks.get(n, f) != f},
        servers=frozenset(name for kind, name in folders if kind == "server")
        | {name for name, server in base.servers.items() if head.servers.get(name, server) != server},
        locks=frozenset((f[1], f[2], f[3]) for path in sides.changed if (f := LOCK.match(path))),
    )


def default_selection(sides: Sides, wanted: Selection) -> Selection:
    """`wanted` with the stacks that show the difference; UserError where no service is touched."""
    found = touched(sides)
    stacks = tuple(_stacks(sides, found))
    if not stacks:
        few = ", ".join(sides.changed[:3])
        raise UserError(
            f"no service that both {sides.base.label} and {sides.head.label} have is made of what differs ({few}):"
            " there is nothing to compare"
        )
    return replace(
        wanted,
        stacks=stacks[:MOST],
        scenarios=wanted.scenarios or SCENARIOS,
        tools=wanted.tools or TOOLS,
        levels=wanted.levels or LEVELS,
    )


def default_server(sides: Sides, interface: str) -> str:
    """The server that an app of one's own is compared on, where none is named."""
    matrix = sides.base.matrix
    serving = [s for s in _services(matrix, sides) if interface in s.server.serves]
    return next((service.server.name for service in serving), "*")


def refs_facts(sides: Sides, services: Sequence[Service], cells: Iterable[PlannedCell]) -> dict[str, Any]:
    """run.json's entry: the sides, the paths that differ, the pairs that have cells, and what is to be said of them."""
    there = {cell.service.name for cell in cells}
    pairs = [pair for pair in pairs_of(services) if there.issuperset(service.name for service in pair)]
    return {
        "base": sides.base.facts(),
        "head": sides.head.facts(),
        "changed": list(sides.changed),
        "pairs": [[service.name for service in pair] for pair in pairs],
        "notes": [*sides.notes(), *_unconcerned(sides, pairs)],
    }


def _unconcerned(sides: Sides, pairs: Iterable[tuple[Service, Service]]) -> Iterator[str]:
    """A line for each pair that the difference does not touch."""
    found = touched(sides)
    for base, head in pairs:
        if base.stack == head.stack and not base.framework.own and not found.concerns(base):
            yield f"{base.stack} is made of the same files on both sides: a difference there is noise"


def _stacks(sides: Sides, found: Touched) -> Iterator[str]:
    """A stack for each framework and server that differs, of both sides, those of the quick preset first."""
    if found.every or found.worker_class:
        yield DEFAULT
        return
    matrix = sides.base.matrix
    theirs = set(sides.head.matrix.stacks)
    chosen = [s for s in _services(matrix, sides) if s.stack in theirs and found.concerns(s)]
    seen: set[str] = set()
    for what in ("framework", "server"):
        for service in chosen:
            name = service.framework.folder if what == "framework" else service.server.name
            concerned = found.frameworks if what == "framework" else found.servers
            own = name in concerned or any(lock[1:] == (what, name) for lock in found.locks)
            if own and name not in seen:
                seen.add(name)
                yield service.stack
    if not seen and chosen:
        yield chosen[0].stack


def _services(matrix: Matrix, sides: Sides) -> list[Service]:
    """Those of the default Python and base that run, in the order in which they speak for others."""
    quick = [with_settings(stack, sides.run) for stack in matrix.presets["quick"].stacks]
    found = [
        s for s in matrix.services if (s.python, s.base) == (matrix.default_python, matrix.default_base) and not s.skip
    ]
    bare = ("wsgi", "asgi", "rsgi")
    return sorted(found, key=lambda s: (s.stack not in quick, s.framework.name not in bare))
