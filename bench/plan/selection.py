"""The selection made on the command line, and the services and loads of the matrix that match it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.core.errors import UserError, unknown
from bench.matrix.flags import Flags
from bench.matrix.knobs import Knob
from bench.matrix.model import Matrix, Preset, Service, select
from bench.matrix.packages import Wheels, with_package
from bench.plan.event import WORKERS
from bench.plan.events import kinds_of, usual_cases
from bench.plan.running import RunningServer
from bench.tools.levels import Level

MODES = ("turns", "solo")
"""turns: tables are measured in turns, and alone what cannot be; solo: each service is measured alone."""

ONLY_NAMED = "not meant for production, or a variant, see docs/catalogue.md; --server NAME measures it"
"""Why a development server, or a variant of another server, is left out."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The options of the command line; if empty or None, the preset decides. UserError for a bad value.

    `duration` is in seconds.
    """

    preset: str | None = None
    stacks: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    wheels: Wheels | None = None
    """The wheels for --package, made before the plan; without them, `packages` has releases by name."""
    scenarios: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    duration: float | None = None
    rounds: int | None = None
    mode: str | None = None
    controls: str = "null"
    latency: bool = True
    """Whether tables in turns are also loaded at common rates."""
    vary: tuple[Knob, ...] = ()
    flags: tuple[Flags, ...] = ()
    running: tuple[RunningServer, ...] = ()
    """Servers that already run (--target)."""
    events: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.duration is not None and not (1 <= self.duration <= 86400 and self.duration % 1 == 0):
            raise UserError("--duration takes whole seconds, 1 to 86400 (ab and wrk take no fractions)")
        if self.rounds is not None and not 1 <= self.rounds <= 99:
            raise UserError("--rounds takes a number from 1 to 99")
        if self.mode is not None and self.mode not in MODES:
            raise unknown("mode", self.mode, MODES)

    @property
    def only_running(self) -> bool:
        """Whether it selects only servers that already run."""
        names = (self.stacks, self.frameworks, self.servers, self.pythons, self.bases, self.packages)
        chosen = (*names, self.vary, self.flags)
        return bool(self.running) and self.preset is None and self.wheels is None and not any(chosen)


def narrows(wanted: Selection) -> bool:
    """Whether it selects cells besides a preset, and not only how or with which settings they are measured."""
    others = ("preset", "duration", "rounds", "mode", "controls", "latency", "vary", "flags")
    unrelated = {name: getattr(wanted, name) for name in others}
    return wanted != Selection(**unrelated)


def override(preset: Preset, wanted: Selection, usual_events: Sequence[str] = ()) -> Preset:
    """The preset with duration, rounds, mode, events and packages of the command line.

    `usual_events`: the cases and rounds of an event that is selected as a whole. UserError for an unknown event, and
    for options that the event itself decides.
    """
    given = {name: getattr(wanted, name) for name in ("duration", "rounds", "mode", "packages")}
    preset = replace(preset, **{name: value for name, value in given.items() if value})
    if wanted.events:
        events = usual_cases(wanted.events, usual_events, all_rounds=wanted.rounds is not None)
        preset = replace(preset, events=events)
    if preset.events:
        lasts = any(event.most_requests for kind in kinds_of(preset.events) for event in kind.cases)
        for option in ("scenarios", "tools", "levels", "duration", "running"):
            if getattr(wanted, option) and not (option == "duration" and lasts):
                named = "target" if option == "running" else option.removesuffix("s")
                raise UserError(f"--{named} does not go with --event: an event has a load and services of its own")
        preset = replace(preset, mode="solo", workers=preset.workers or WORKERS)
    return preset if wanted.wheels is None else replace(preset, packages=(), published=None)


def select_services(matrix: Matrix, preset: Preset, wanted: Selection, settings: Mapping[str, str]) -> list[Service]:
    """The preset's services that match the filters, in the order of `--stack`.

    A filter that matches none of the preset's services replaces its axis.
    """
    preset_stacks = select([with_settings(s, settings) for s in preset.stacks], matrix.stacks, "stack")
    stacks = _narrow(wanted.stacks, preset_stacks, matrix.stacks, "stack")
    narrow = wanted.preset is not None
    pythons = select_pythons(matrix, preset, wanted.pythons, narrow=narrow)
    bases = _select(wanted.bases, preset.bases, matrix.bases, "base", narrow=narrow)
    frameworks = select(wanted.frameworks or ["*"], matrix.frameworks, "framework")
    servers = select(wanted.servers or ["*"], matrix.servers, "server")
    services = [s for s in matrix.services if s.framework.name in frameworks and s.server.name in servers]
    of_preset = [s for s in services if s.stack in stacks]
    if of_preset or wanted.stacks or not (wanted.frameworks or wanted.servers):
        services = of_preset
    services = [s for s in services if s.python in pythons and s.base in bases]
    if wanted.stacks:
        # The comment on a pull request compares with the first one.
        services.sort(key=lambda s: next(n for n, glob in enumerate(wanted.stacks) if any_match(s.stack, [glob])))
    if preset.packages:
        return [with_package(matrix, s, package) for s in services for package in preset.packages]
    return services


def left_out(matrices: Iterable[Matrix], preset: Preset, wanted: Selection) -> set[str]:
    """The development servers and variants of these matrices that neither the command line nor the preset names."""
    named = (*wanted.servers, *wanted.stacks, *preset.stacks)
    servers = {s.name for one in matrices for s in one.servers.values() if s.development or s.variant_of}
    return {name for name in servers if not any(one.startswith(name) for one in named)}


def select_pythons(matrix: Matrix, preset: Preset, patterns: Sequence[str], *, narrow: bool) -> list[str]:
    """The preset's Pythons that match the patterns; if not `narrow` (the user chose no preset), any Python."""
    return _select(patterns, preset.pythons, matrix.pythons, "Python", narrow=narrow)


def _select(
    patterns: Sequence[str], defaults: Sequence[str], names: Iterable[str], what: str, *, narrow: bool
) -> list[str]:
    if patterns and not narrow:
        return select(patterns, names, what)
    return _narrow(patterns, select(defaults, names, what), names, what)


def _narrow(patterns: Sequence[str], defaults: Sequence[str], names: Iterable[str], what: str) -> list[str]:
    if not patterns:
        return list(defaults)
    chosen = select(patterns, names, what)
    return [name for name in chosen if name in defaults or name in patterns] or chosen


def any_match(name: str, patterns: Iterable[str]) -> bool:
    """Whether any of the globs matches the name."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def with_settings(stack: str, settings: Mapping[str, str]) -> str:
    """A preset's stack with the settings in its name replaced (`gunicorn-$WORKER_CLASS-flask`)."""
    for name, value in settings.items():
        stack = stack.replace(f"${name}", value)
    return stack
