"""The services of a run: stacks, each as every variant makes them; and which of them are compared with which.

A run is of the project as it is, or of two refs of it. On each, stacks have versions of a package and values of knobs.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.matrix.knobs import REF, Reads, host_name, reader
from bench.matrix.model import Matrix, Preset, Service
from bench.matrix.packages import Locked, locked
from bench.plan.cells import PlannedCell, SkippedCell
from bench.plan.measurement import Pair
from bench.plan.packages import with_versions
from bench.plan.selection import Selection, any_match, select_services, with_settings
from bench.plan.vary import knobs_of, vary

CLASS = "WORKER_CLASS"
TAKEN = ("WORKERS", "BACKLOG", "DB_POOL_TOTAL", "PYTHON_JIT", "MEMORY")
"""Settings that a ref has of its own, besides `CLASS`; all others are of the run."""
_VARIABLE = f"${CLASS}"
_AXES = ("stacks", "pythons", "bases", "frameworks", "servers")
"""Names that a selection chooses by; a preset has some of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What stacks are made of: the project as it is, with the run's settings; or a ref of it, with some of its own.

    A ref's `label` is that of the command line, `name` is in the names of services, `mark` ends those of images.
    `context` is the folder that images are built from, where that is not this project's services/.
    """

    matrix: Matrix
    settings: Mapping[str, str]
    reads: Reads = field(default_factory=reader)
    """Which knobs a service reads."""
    pins: Locked = field(default_factory=locked)
    """Which packages it has."""
    label: str = ""
    name: str = ""
    mark: str = ""
    context: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    """Those of `TAKEN` that are not the run's."""

    def services(self, preset: Preset, wanted: Selection, others: Iterable[Variant]) -> list[Service]:
        """Those that are selected, with their versions and settings; a name that only `others` have chooses none."""
        own, found = (self._known(one, others) for one in (preset, wanted))
        if own is None or found is None:
            return []
        services = select_services(self.matrix, own, found, self.settings)
        if wanted.wheels is not None:
            services = with_versions(self.matrix, services, wanted.wheels, self.pins)
        return services

    def _known(self, one: Any, others: Iterable[Variant]) -> Any:
        """A preset or a selection without the names that only others have; None where that leaves none of a list."""
        known = one
        for axis in (axis for axis in _AXES if getattr(one, axis, ())):
            kept = [
                with_settings(name, self.settings)
                for name in getattr(one, axis)
                if self._has(axis, name) or not any(other._has(axis, name) for other in others)
            ]
            if not kept:
                return None
            known = replace(known, **{axis: tuple(kept)})
        return known

    def _has(self, axis: str, name: str) -> bool:
        return bool(fnmatch.filter(getattr(self.matrix, axis), with_settings(name, self.settings)))

    def named(self, service: Service) -> Service:
        """A service as it is here, with those settings of this ref that it reads."""
        if not self.label:
            return service
        own = {name: value for name, value in self.own.items() if self.reads(service, name) is None}
        settings = tuple(({REF: self.label} | own | dict(service.settings)).items())
        name = host_name(f"{service.name}-{self.name}", f"{service.name} {self.mark}")
        built_as = f"{service.built_as}-{self.mark}"
        return replace(service, name=name, settings=settings, plain=built_as, context=self.context)

    def place_of(self, service: Service, patterns: Sequence[str]) -> tuple[object, ...]:
        """What a service has in common with those that it is compared with; WORKER_CLASS may stand for two servers."""
        chosen = [p for p in patterns if _VARIABLE in p and any_match(service.stack, [with_settings(p, self.settings)])]
        stack = service.stack.replace(self.settings[CLASS], _VARIABLE, 1) if chosen else service.stack
        # The versions of a package are compared with each other, but those of two refs each with its own.
        return stack, service.python, service.base, service.settings, self.label and service.package


@dataclass(frozen=True, slots=True)
class Chosen:
    """Services, each base before what is compared with it; these pairs; and what is left out."""

    services: list[Service]
    pairs: list[Pair]
    skips: list[SkippedCell]


def choose(
    variants: Sequence[Variant], preset: Preset, wanted: Selection, reachable: Callable[[Service], bool]
) -> Chosen:
    """The services that every variant has; UserError for a name that none has."""
    selftests = [*preset.stacks, *wanted.stacks, *wanted.frameworks]
    variants = [replace(one, matrix=one.matrix.with_selftests(selftests)) for one in variants]
    knobs = knobs_of(preset, wanted)
    places: dict[tuple[object, ...], dict[tuple[str, str], Service]] = {}
    skips = []
    for variant in variants:
        others = [one for one in variants if one is not variant]
        services = [
            one if one.skip or reachable(one) else replace(one, skip="base image not reachable")
            for one in variant.services(preset, wanted, others)
        ]
        for service in vary(variant.matrix, services, knobs, variant.reads):
            here = variant.named(service)
            if here.skip:
                skips.append(SkippedCell(here.name, here.skip))
            else:
                place = variant.place_of(service, wanted.stacks or preset.stacks)
                places.setdefault(place, {})[variant.label, here.name] = here
    whole = []
    for group in places.values():
        lost = {one.label for one in variants} - {label for label, _ in group}
        skips += [SkippedCell(name, f"{label} has no such service") for label in lost for _, name in group]
        whole += [] if lost else [[*group.values()]]
    pairs = [(base.name, head.name) for base, *heads in whole for head in heads]
    return Chosen([service for group in whole for service in group], pairs, skips)


def in_pairs(cells: Sequence[PlannedCell], pairs: Sequence[Pair], skips: list[SkippedCell]) -> list[PlannedCell]:
    """The cells of which what they are compared with has one, too; what is left out is added to `skips`."""
    partners: dict[str, list[str]] = {}
    for base, head in pairs:
        partners.setdefault(base, []).append(head)
        partners.setdefault(head, []).append(base)
    there = {(cell.service.name, cell.scenario, cell.tool, cell.level.name) for cell in cells}
    kept = []
    for cell in cells:
        others = partners.get(cell.service.name, [])
        if not others or any((other, cell.scenario, cell.tool, cell.level.name) in there for other in others):
            kept.append(cell)
        else:
            cause = f"{others[0]} is not measured under this load"
            skips.append(SkippedCell(cell.service.name, cause, cell.scenario, cell.tool))
    return kept
