"""The services of a run, in each variant, and which of them are compared with each other.

A variant is the project itself or one of two refs of it. Within a variant, a stack may come with several versions of a
package (--package) and several combinations of knob values (--vary, --flags). A user's own app is a framework of its
matrix.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.core.errors import EqualSides, UserError, unknown
from bench.core.files import text_of
from bench.core.service_settings import Settings
from bench.matrix.compose import environment_of
from bench.matrix.flags import FLAGS, NONE, Flags, flag_groups, flag_words, flags_refusal
from bench.matrix.knobs import (
    MOST_VALUES,
    REF,
    THREADS,
    Knob,
    Reads,
    host_name,
    only_start_reads,
    parse_knob,
    reader,
    varied,
    with_threads,
)
from bench.matrix.model import BARE, Matrix, Preset, Service, python_label, select
from bench.matrix.packages import Locked, Wheel, Wheels, locked, name_with, with_package
from bench.matrix.settings import allowed
from bench.matrix.start_script import start_words
from bench.plan.cells import PlannedCell
from bench.plan.measurement import Pair, SkippedCell
from bench.plan.selection import ONLY_NAMED, Selection, any_match, left_out, select_services, with_settings

CLASS = "WORKER_CLASS"
TAKEN = ("WORKERS", "BACKLOG", "DB_POOL_TOTAL", "PYTHON_JIT", "MEMORY")
"""Settings that a ref takes from its own .env, besides `CLASS`; all others are the run's."""
_VARIABLE = f"${CLASS}"
_AXES = ("stacks", "pythons", "bases", "frameworks", "servers")
"""The lists of names in a selection; a preset has some of them."""

USUAL = ("gunicorn-$WORKER_CLASS", "uvicorn")
"""Servers on which a framework's package is measured unless the command line names others."""
DEBIAN = "debian"
ALONE = "there is no other version of the package to compare it with on this Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What services are built from: the project with the run's settings, or a ref of it with some settings of its own.

    For a ref: `label` is its name on the command line, `name` its part of service names, `mark` the suffix of image
    names. `context` is the folder that images are built from; empty: this project's services/.
    """

    matrix: Matrix
    settings: Mapping[str, str]
    reachable: Callable[[Service], bool] = lambda service: True
    """Whether the base image of a service is available on this machine."""
    reads: Reads = field(default_factory=reader)
    """Which knobs a service reads."""
    pins: Locked = field(default_factory=locked)
    """Which packages a service has, as its lock pins them."""
    label: str = ""
    name: str = ""
    mark: str = ""
    context: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    """The settings of `TAKEN` that differ from the run's."""

    def services(self, preset: Preset, wanted: Selection, others: Iterable[Variant]) -> Iterator[Service]:
        """The selected services, with package versions and knob values; names that only `others` know select nothing.

        A service that cannot run has the cause in `skip`. UserError for a package or a knob that no service has.
        """
        knobs = knobs_of(preset, wanted)
        known_preset, known_wanted = (self._known(one, others) for one in (preset, wanted))
        if known_preset is None or known_wanted is None:
            return
        # A server counts as one that must be named if either ref says so.
        unnamed = left_out((self.matrix, *(other.matrix for other in others)), known_preset, known_wanted)
        services = [
            replace(service, skip=ONLY_NAMED) if service.server.name in unnamed else service
            for service in select_services(self.matrix, known_preset, known_wanted, self.settings)
        ]
        if wanted.wheels is not None:
            services = self._with_versions(services, wanted.wheels)
        services = [
            service if service.skip or self.reachable(service) else replace(service, skip="base image not reachable")
            for service in services
        ]
        for service in self._with_values(services, knobs, wanted.flags, compared=not preset.events):
            pool = service.framework.own and not service.skip and THREADS not in service.settings
            equal = pool and self.reads(service, THREADS) is None
            workers = self.own.get("WORKERS", self.settings.get("WORKERS", "1"))
            yield with_threads(service, workers) if equal else service

    def _known(self, choice: Any, others: Iterable[Variant]) -> Any:
        """A preset or selection without the names that only `others` know; None if that empties one of its lists."""
        known = choice
        for axis in (axis for axis in _AXES if getattr(choice, axis, ())):
            kept = [
                with_settings(name, self.settings)
                for name in getattr(choice, axis)
                if self._has(axis, name) or not any(other._has(axis, name) for other in others)
            ]
            if not kept:
                return None
            known = replace(known, **{axis: tuple(kept)})
        return known

    def _has(self, axis: str, name: str) -> bool:
        return bool(fnmatch.filter(getattr(self.matrix, axis), with_settings(name, self.settings)))

    def _with_versions(self, services: Sequence[Service], wheels: Wheels) -> list[Service]:
        """Each service that has one of the packages, once per version; other services unchanged."""
        for name in wheels.names:
            if not any(name in self.pins(service) for service in services if not service.skip):
                others = sorted({s.server.name for s in self.matrix.usual if name in self.pins(s)})
                by = f"servers that have it: {', '.join(others)}" if others else "nor does any other have it"
                raise UserError(f"--package {name}: no service of the selection has it; {by}")
        return [found for service in services for found in self._versions(service, wheels)]

    def _versions(self, service: Service, wheels: Wheels) -> Iterator[Service]:
        pins, label = self.pins(service), python_label(service.python)
        together = wheels.together(label)
        candidates = [wheel for name in wheels.names if name in pins for wheel in wheels.of(label, name)]
        working = [wheel for wheel in candidates if not wheel.cause]
        if not candidates or (len(candidates) == len(working) == 1):
            # A single version is compared with the one that the lock pins.
            yield service
        elif len(working) == 1:
            candidates = [wheel if wheel.cause else replace(wheel, cause=ALONE) for wheel in candidates]
        if len(candidates) == 1 and all(
            wheels.asked[one.asked].is_release and one.version == pins.get(one.name) for one in (*candidates, *together)
        ):
            raise EqualSides(f"--package {candidates[0].package}: equal sides: it is the version that the lock pins")
        for wheel in candidates:
            yield self._with_version(service, (wheel, *together), wheels)

    def _with_version(self, service: Service, changed: Sequence[Wheel], wheels: Wheels) -> Service:
        """The service with the wheel of `--package`, and those of `--with`."""
        if cause := next((wheel.cause for wheel in changed if wheel.cause), ""):
            versions = [(wheel.name, wheel.version) for wheel in changed]
            return replace(service, name=name_with(service, *versions), skip=cause)
        versioned = with_package(self.matrix, service, " ".join(wheel.package for wheel in changed), changed[0].folder)
        if service.base == DEBIAN or all(wheels.asked[wheel.asked].is_release for wheel in changed):
            return versioned
        return replace(versioned, skip="a package from source is built only for Debian images")

    def _with_values(
        self, services: Sequence[Service], knobs: Sequence[Knob], flags: Sequence[Flags], *, compared: bool
    ) -> Iterator[Service]:
        """The services with every combination of values of the knobs that they read, and of their server's flags.

        `compared`: whether their command lines tell whether they are different; events set further variables.
        """
        running = [service for service in services if not service.skip]
        for option in flags:
            here = {*select([option.servers], self.matrix.servers, "server")} & {s.server.name for s in running}
            if running and not here:
                raise UserError(
                    f"--flags {option.servers}: no service of the selection runs on it; select one (--server)"
                )
        for knob in (knob.name for knob in knobs if running and not knob.optional):
            if all(refusals := [self.reads(service, knob) for service in running]):
                others = sorted({s.server.name for s in self.matrix.services if not self.reads(s, knob)})
                known = any(any_match(knob, service.server.reads) for service in running)
                if not (others or known):
                    raise unknown("knob", knob, allowed("knobs"))
                cause = refusals[0] if len({*refusals}) == 1 else "no server of the selection reads it"
                by = f"; it takes effect on: {', '.join(others)}" if others else ""
                raise UserError(f"--vary {knob}: {cause}{by}")
        for service in services:
            causes = {knob.name: self.reads(service, knob.name) for knob in knobs}
            missing = [cause for knob in knobs if not knob.optional and (cause := causes[knob.name])]
            if missing or service.skip:
                yield replace(service, skip=service.skip or missing[0])
                continue
            own = [*(knob for knob in knobs if not causes[knob.name]), *self._flags(service, flags)]
            axes = [[(knob.name, value) for value in knob.values] for knob in own]
            made = [varied(service, values) if values else service for values in itertools.product(*axes)]
            if compared:
                self._check_sides(made)
            yield from made

    def _flags(self, service: Service, wanted: Sequence[Flags]) -> Iterator[Knob]:
        """The knob of its server's flags, if there are any; UserError for flags that it cannot take."""
        server = service.server.name
        values = [*dict.fromkeys(one.value for one in wanted if any_match(server, [one.servers]))]
        if not values:
            return
        for value in values:
            if cause := flags_refusal(self._start(service), shlex.split(value)):
                raise UserError(f"--flags {server}: {cause}")
        yield Knob(FLAGS, (NONE, *values))

    def _start(self, service: Service) -> str:
        """The text of its start script; empty if there is none."""
        return text_of(Path(self._services, "servers", service.server.name, "start"))

    @property
    def _services(self) -> Path:
        return Path(self.context or "services")

    def _check_sides(self, services: Sequence[Service]) -> None:
        """EqualSides if two values of a service's knobs start the same process."""
        seen: dict[object, Service] = {}
        for service in services:
            known, server = environment_of(service, self.settings), service.server.name
            try:
                words = start_words(self._start(service), known, flag_words(service.settings))
            except (UserError, ValueError, ZeroDivisionError):
                # That of a ref may be anybody's.
                continue
            others = [
                (name, value)
                for name, value in service.settings.items()
                if name != FLAGS and not only_start_reads(service, name, self._services)
            ]
            other = seen.setdefault((flag_groups(words), *others), service)
            if other is not service:
                pairs = ((service, other), (other, service))
                this, that = (
                    Settings(one for one in a.settings.items() if one not in b.settings.items()) for a, b in pairs
                )
                raise EqualSides(f"equal sides: {server} with {this} has the same command line as with {that}")

    def named(self, service: Service) -> Service:
        """A service of this ref, with the ref's name and those of its settings that the service reads."""
        if not self.label:
            return service
        own = {name: value for name, value in self.own.items() if self.reads(service, name) is None}
        settings = Settings({REF: self.label} | own | dict(service.settings))
        name = host_name(f"{service.name}-{self.name}", f"{service.name} {self.mark}")
        built_as = f"{service.built_as}-{self.mark}"
        return replace(service, name=name, settings=settings, plain=built_as, context=self.context)

    def place_of(self, service: Service, patterns: Sequence[str]) -> tuple[object, ...]:
        """The key that services compared with each other share; $WORKER_CLASS may stand for two servers."""
        chosen = [p for p in patterns if _VARIABLE in p and any_match(service.stack, [with_settings(p, self.settings)])]
        stack = service.stack.replace(self.settings[CLASS], _VARIABLE, 1) if chosen else service.stack
        # Versions of a package are compared with each other; if there are two refs, each version with itself.
        return stack, service.python, service.base, service.settings, self.label and service.package


@dataclass(frozen=True, slots=True)
class Chosen:
    """The services, each base before its heads; the pairs; and what is skipped."""

    services: list[Service]
    pairs: list[Pair]
    skips: list[SkippedCell]


def choose(variants: Sequence[Variant], preset: Preset, wanted: Selection) -> Chosen:
    """The selected services that every variant has; UserError for a name that none has."""
    selftests = [*preset.stacks, *wanted.stacks, *wanted.frameworks]
    variants = [replace(one, matrix=one.matrix.with_selftests(selftests)) for one in variants]
    places: dict[tuple[object, ...], dict[tuple[str, str], Service]] = {}
    skips = []
    for variant in variants:
        others = [one for one in variants if one is not variant]
        for service in variant.services(preset, wanted, others):
            here = variant.named(service)
            if here.skip:
                # A development server is skipped with every app: one entry for the server.
                skips.append(SkippedCell(here.server.name if here.skip == ONLY_NAMED else here.name, here.skip))
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
    """The cells without those whose counterparts have no such cell, which are added to `skips`."""
    partners: dict[str, list[str]] = {}
    for base, head in pairs:
        partners.setdefault(base, []).append(head)
        partners.setdefault(head, []).append(base)
    there = {cell.key for cell in cells}
    kept = []
    for cell in cells:
        others = partners.get(cell.service.name, [])
        if not others or any((other, *cell.key[1:]) in there for other in others):
            kept.append(cell)
        else:
            cause = f"{others[0]} is not measured under this load"
            skips.append(SkippedCell(cell.service.name, cause, cell.scenario, cell.tool))
    return kept


def knobs_of(preset: Preset, wanted: Selection) -> Sequence[Knob]:
    """The knobs of the command line, else the preset's; UserError for a duplicate or too many combinations."""
    preset_knobs = [parse_knob(text) for text in preset.vary]
    preset_knobs += [replace(parse_knob(text), optional=True) for text in preset.vary_if_read]
    knobs = wanted.vary or preset_knobs
    names = [knob.name for knob in knobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"--vary {twice} is given twice; give one list of its values")
    combinations = math.prod(len(knob.values) for knob in knobs) * (1 + len(wanted.flags))
    if combinations > MOST_VALUES:
        make = "--vary and --flags make" if wanted.flags else "--vary makes"
        raise UserError(f"{make} {combinations} combinations of each service; the limit is {MOST_VALUES}")
    return knobs


def with_default_stacks(variant: Variant, wanted: Selection) -> Selection:
    """The selection; if --package is given without any services, with one stack for each package."""
    if wanted.wheels is None or wanted.preset or wanted.stacks or wanted.frameworks or wanted.servers:
        return wanted
    stacks = [_stack_with(variant, name) for name in wanted.wheels.names]
    return replace(wanted, stacks=tuple(dict.fromkeys(stacks)))


def _stack_with(variant: Variant, name: str) -> str:
    """A stack that has the package: preferably the server of that name with a bare app, or the framework on `USUAL`."""
    pinned = [s for s in variant.matrix.usual if name in variant.pins(s)]
    if not pinned:
        raise UserError(f"--package {name}: no service has it")
    usual = [with_settings(server, variant.settings) for server in USUAL]

    def order(service: Service) -> tuple[bool, ...]:
        server, framework = service.server.name, service.framework.name
        own_framework = framework == name
        return (
            not (server.partition("-")[0] == name or own_framework),
            server != name,
            own_framework and server not in (*usual, name),
            name not in server.split("-"),
            not (own_framework or framework in BARE),
            server not in usual,
        )

    return min(pinned, key=order).stack
