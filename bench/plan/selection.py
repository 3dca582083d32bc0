"""The selection made on the command line, and the services and loads of the matrix that match it."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.core.errors import UserError, unknown
from bench.matrix.knobs import Knob
from bench.matrix.model import Load, Matrix, Preset, Service, select
from bench.matrix.packages import Wheels, with_package
from bench.plan.events import usual_cases
from bench.plan.events.event import WORKERS
from bench.plan.levels import Level, parse_level
from bench.plan.running import RunningServer
from bench.tools import TOOLS

MODES = ("turns", "solo")
"""turns: tables are measured in turns, and alone what cannot be; solo: each service is measured alone."""

DEVELOPMENT = "not meant for production, see docs/catalogue.md; --server NAME measures it"
"""Why a development server is left out."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The options of the command line; if empty or None, the preset decides. `duration` is in seconds."""

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
    levels: tuple[str, ...] = ()
    duration: float | None = None
    rounds: int | None = None
    mode: str | None = None
    controls: str = "null"
    latency: bool = True
    """Whether tables in turns are also loaded at common rates."""
    vary: tuple[Knob, ...] = ()
    running: tuple[RunningServer, ...] = ()
    """Servers that already run (--target)."""
    events: tuple[str, ...] = ()

    @property
    def only_running(self) -> bool:
        """Whether it selects only servers that already run."""
        chosen = (self.stacks, self.frameworks, self.servers, self.pythons, self.bases, self.packages, self.vary)
        return bool(self.running) and self.preset is None and self.wheels is None and not any(chosen)


def narrows(wanted: Selection) -> bool:
    """Whether it selects cells, and not only how or with which settings they are measured."""
    unrelated = {name: getattr(wanted, name) for name in ("duration", "rounds", "mode", "controls", "latency", "vary")}
    return wanted != Selection(**unrelated)


def override(preset: Preset, wanted: Selection, usual_events: Sequence[str] = ()) -> Preset:
    """The preset with duration, rounds, mode, events and packages of the command line; UserError for a bad value.

    `usual_events`: the cases and rounds of an event that is selected as a whole.
    """
    if wanted.duration is not None:
        if not (math.isfinite(wanted.duration) and 1 <= wanted.duration <= 86400 and wanted.duration % 1 == 0):
            raise UserError("--duration takes whole seconds, 1 to 86400 (ab and wrk take no fractions)")
        preset = replace(preset, duration=wanted.duration)
    if wanted.rounds is not None:
        if not 1 <= wanted.rounds <= 99:
            raise UserError("--rounds takes a number from 1 to 99")
        preset = replace(preset, rounds=wanted.rounds)
    if wanted.mode is not None:
        if wanted.mode in ("duet", "both"):
            raise UserError(
                f"--mode {wanted.mode} is gone: two services of a selection (--stack A,B) are compared in turns"
            )
        if wanted.mode not in MODES:
            raise unknown("mode", wanted.mode, MODES)
        preset = replace(preset, mode=wanted.mode)
    if wanted.events:
        events = usual_cases(wanted.events, usual_events, all_rounds=wanted.rounds is not None)
        preset = replace(preset, events=events)
    if preset.events:
        preset = replace(preset, mode="solo", workers=preset.workers or WORKERS)
    if wanted.wheels is not None:
        return replace(preset, packages=(), published=None)
    return replace(preset, packages=wanted.packages or preset.packages)


def select_services(matrix: Matrix, preset: Preset, wanted: Selection, settings: Mapping[str, str]) -> list[Service]:
    """The preset's services that match the filters, in the order of `--stack`.

    A filter that matches none of the preset's services replaces its axis.
    """
    own = select([with_settings(s, settings) for s in preset.stacks], matrix.stacks, "stack")
    stacks = _narrow(wanted.stacks, own, matrix.stacks, "stack")
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
    """The development servers of these matrices that neither the command line nor the preset names."""
    named = (*wanted.servers, *wanted.stacks, *preset.stacks)
    servers = {one.name for matrix in matrices for one in matrix.servers.values() if one.development}
    return {name for name in servers if not any(one.startswith(name) for one in named)}


def select_pythons(matrix: Matrix, preset: Preset, patterns: Sequence[str], *, narrow: bool) -> list[str]:
    """The preset's Pythons that match the patterns; if not `narrow` (the user chose no preset), any Python."""
    return _select(patterns, preset.pythons, matrix.pythons, "Python", narrow=narrow)


def _select(patterns: Sequence[str], own: Sequence[str], every: Iterable[str], what: str, *, narrow: bool) -> list[str]:
    if patterns and not narrow:
        return select(patterns, every, what)
    return _narrow(patterns, select(own, every, what), every, what)


def _narrow(patterns: Sequence[str], own: Sequence[str], every: Iterable[str], what: str) -> list[str]:
    if not patterns:
        return list(own)
    chosen = select(patterns, every, what)
    return [name for name in chosen if name in own or name in patterns] or chosen


def select_loads(matrix: Matrix, preset: Preset, wanted: Selection) -> list[Load]:
    """The preset's loads, with scenarios, tools and levels narrowed or replaced by the command line."""
    for tool in wanted.tools:
        if not fnmatch.filter(TOOLS, tool):
            raise unknown("tool", tool, TOOLS)
    levels = [parse_level(text) for text in wanted.levels]
    apart = [load for load in preset.loads if matrix.own_app and load.alone]
    loads = [load for load in preset.loads if load not in apart]
    if wanted.scenarios:
        loads = _narrow_scenarios(matrix, loads, wanted.scenarios)
    if wanted.tools:
        loads = _narrow_tools(loads, wanted.tools)
    if levels:
        loads = [replace(load, levels=_levels(load, levels)) for load in loads]
    # With an own app, the search that --p99 asks for: it has its own tool and level.
    return [*loads, *apart]


def _levels(load: Load, asked: Sequence[Level]) -> tuple[str, ...]:
    """The levels asked for; a load keeps its common rates unless common rates are asked for, and vice versa."""
    kinds = {level.share is None for level in asked}
    kept = [level for level in map(parse_level, load.levels) if (level.share is None) not in kinds]
    return tuple(level.name for level in (*asked, *kept))


def _narrow_tools(loads: list[Load], patterns: tuple[str, ...]) -> list[Load]:
    """The loads with the matching tools.

    A tool that no load has is added to all loads if it is named exactly or if no pattern matches a load's tool.
    """
    held = {tool for load in loads for tool in load.tools if any_match(tool, patterns)}
    added = tuple(t for t in TOOLS if t not in held and (t in patterns or (not held and any_match(t, patterns))))
    narrowed = [replace(load, tools=_matching(load.tools, patterns) + added) for load in loads]
    return [load for load in narrowed if load.tools]


def _narrow_scenarios(matrix: Matrix, loads: list[Load], patterns: tuple[str, ...]) -> list[Load]:
    narrowed = [replace(load, scenarios=_matching(load.scenarios, patterns)) for load in loads]
    narrowed = [load for load in narrowed if load.scenarios]
    held = {name for load in narrowed for name in load.scenarios}
    # Like their apps, scenarios of self-tests are only selected by exact name.
    fixed = [r.scenario for r in matrix.routes.values() if "{n}" not in r.scenario and not r.selftest]
    missing: list[str] = []
    for pattern in patterns:
        if fnmatch.filter(held, pattern):
            continue
        hits = fnmatch.filter(fixed, pattern)
        if not hits:
            matrix.route_of(pattern)
        missing += hits or [pattern]
    if missing:
        narrowed += [replace(load, scenarios=tuple(missing)) for load in loads]
    return narrowed


def _matching(names: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if any_match(name, patterns))


def any_match(name: str, patterns: Iterable[str]) -> bool:
    """Whether any of the globs matches the name."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def with_settings(stack: str, settings: Mapping[str, str]) -> str:
    """A preset's stack with the settings in its name replaced (`gunicorn-$WORKER_CLASS-flask`)."""
    for name, value in settings.items():
        stack = stack.replace(f"${name}", value)
    return stack
