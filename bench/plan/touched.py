"""What the difference of two refs touches, and the few stacks that show it where none are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from bench.core.errors import UserError
from bench.matrix.model import BARE, Service, python_label
from bench.plan.cells import Plan
from bench.plan.refs import Refs
from bench.plan.selection import Selection, with_settings
from bench.plan.variants import CLASS

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


def touched(refs: Refs) -> Touched:
    """From the paths that differ, the entries of both matrices, and the settings that services read."""
    folders = {found.groups() for path in refs.changed if (found := FOLDER.match(path))}
    one, other = refs.variants
    base, head = one.matrix, other.matrix
    return Touched(
        every=one.own != other.own or any(EVERY.match(path) for path in refs.changed),
        worker_class=one.settings[CLASS] != other.settings[CLASS],
        frameworks=frozenset(name for kind, name in folders if kind == "framework")
        | {f.folder for n, f in base.frameworks.items() if head.frameworks.get(n, f) != f},
        servers=frozenset(name for kind, name in folders if kind == "server")
        | {name for name, server in base.servers.items() if head.servers.get(name, server) != server},
        locks=frozenset((f[1], f[2], f[3]) for path in refs.changed if (f := LOCK.match(path))),
    )


def default_selection(refs: Refs, wanted: Selection) -> Selection:
    """`wanted` with the stacks that show the difference; UserError where no service is touched."""
    stacks = tuple(_stacks(refs, touched(refs)))
    if not stacks:
        few, both = ", ".join(refs.changed[:3]), " and ".join(one.label for one in refs.variants)
        raise UserError(
            f"no service that both {both} have is made of what differs ({few}): there is nothing to compare"
        )
    return replace(
        wanted,
        stacks=stacks[:MOST],
        scenarios=wanted.scenarios or SCENARIOS,
        tools=wanted.tools or TOOLS,
        levels=wanted.levels or LEVELS,
    )


def default_server(refs: Refs, interface: str) -> str:
    """The server that an app of one's own is compared on, where none is named."""
    serving = [s for s in _services(refs) if interface in s.server.serves]
    return next((service.server.name for service in serving), "*")


def refs_facts(refs: Refs, plan: Plan) -> dict[str, Any]:
    """run.json's entry: the refs, the paths that differ, and what is to be said of them."""
    return {
        "base": refs.base.facts(),
        "head": refs.head.facts(),
        "changed": list(refs.changed),
        "notes": [*refs.notes(), *_unconcerned(refs, plan)],
    }


def _unconcerned(refs: Refs, plan: Plan) -> Iterator[str]:
    """A line for each pair that the difference does not touch."""
    found, services = touched(refs), {service.name: service for service in plan.services}
    for base, head in ((services[name] for name in pair) for pair in plan.pairs):
        if base.stack == head.stack and not base.framework.own and not found.concerns(base):
            yield f"{base.stack} is made of the same files on both sides: a difference there is noise"


def _stacks(refs: Refs, found: Touched) -> Iterator[str]:
    """A stack for each framework and server that differs, of both sides, those of the quick preset first."""
    if found.every or found.worker_class:
        yield DEFAULT
        return
    theirs = set(refs.head.variant.matrix.stacks)
    chosen = [s for s in _services(refs) if s.stack in theirs and found.concerns(s)]
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


def _services(refs: Refs) -> list[Service]:
    """The base's of the default Python and base that run, in the order in which they speak for others."""
    matrix = refs.base.variant.matrix
    quick = [with_settings(stack, refs.run) for stack in matrix.presets["quick"].stacks]
    return sorted(matrix.usual, key=lambda s: (s.stack not in quick, s.framework.name not in BARE))
