"""A selection of the matrix -> cells -> rounds in random order: pure, seeded, repeatable."""

from __future__ import annotations

import fnmatch
import itertools
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.errors import UserError, unknown
from bench.estimates import LOOKS
from bench.levels import Level, parse_level, refusal
from bench.matrix import Load, Matrix, Preset, Route, Service

MODES = ("solo", "duet", "both")
TOOLS = ("wrk", "ab", "hey", "vegeta")
# Beside its load and warm-up, a measurement costs about this much (fresh container, first answer, down).
OVERHEAD_S = 2.5
# The same for a round of a pair.
PAIR_OVERHEAD_S = 3.5
# What the null server offers, and its name.
NULL_ROUTES = ("plaintext", "json")
NULL = "null"
# What a load by count is taken to last, for the estimate only.
COUNT_S = 5.0
# The same of the search for a knee: some ten trials of 3 to 10 s, half of which are made twice.
SEARCH_S = 60.0


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command line asked for; empty or None: as the preset says."""

    preset: str | None = None
    stacks: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    duration: float | None = None
    rounds: int | None = None
    mode: str | None = None
    controls: str = "all"
    twin: str = ""
    """The one service that has a second container, where not every one can be given it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Service x scenario x tool x level."""

    service: Service
    route: Route
    scenario: str
    path: str
    tool: str
    level: Level


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells that differ in their service alone, loaded together; a control is a service beside itself."""

    name: str
    a: Cell
    b: Cell

    @property
    def control(self) -> bool:
        """Whether it is an A/A pair."""
        return self.a.service.name == self.b.service.name


@dataclass(frozen=True, slots=True)
class Null:
    """A closed loop of the plan, to be asked of the null server: what its tool can do here."""

    route: Route
    scenario: str
    path: str
    tool: str
    level: Level


@dataclass(frozen=True, slots=True)
class Skip:
    """What was asked for and cannot be run, with its cause."""

    service: str
    cause: str
    scenario: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Cells to run, what is skipped, and the preset with the command line's changes in it."""

    preset: Preset
    cells: tuple[Cell, ...]
    skips: tuple[Skip, ...]
    loadgen_cpus: int = 1
    pairs: tuple[Pair, ...] = ()
    nulls: tuple[Null, ...] = ()
    duet_rounds: int = 0
    duet_seconds: float = 2.0

    @property
    def services(self) -> list[Service]:
        """The services that have cells."""
        return list({cell.service.name: cell.service for cell in self.cells}.values())

    def seconds(self, cell: Cell) -> float:
        """Expected wall time of one measurement, in seconds."""
        load = COUNT_S if cell.level.count else self.preset.duration
        if cell.level.knee_p99_s and not cell.level.knee_share:
            # Searched in one round of them; in all others it is the load alone.
            load += SEARCH_S / self.preset.rounds
        return load + self.preset.warmup + OVERHEAD_S

    @property
    def rounds(self) -> int:
        """All rounds: those of the solo windows and those that a pair may need for its verdict."""
        return max(self.solo_rounds, self.duet_rounds)

    @property
    def solo_rounds(self) -> int:
        """Rounds with solo windows."""
        return 0 if self.preset.mode == "duet" else self.preset.rounds

    def total_seconds(self, duet_rounds: int) -> float:
        """Expected wall time in seconds, where every pair is measured in so many rounds."""
        pair = 2 * self.duet_seconds + self.preset.warmup + PAIR_OVERHEAD_S
        null = self.preset.duration + self.preset.warmup + OVERHEAD_S
        solo = self.solo_rounds * sum(self.seconds(cell) for cell in self.cells)
        rounds = max(self.solo_rounds, min(duet_rounds, self.duet_rounds))
        compared = sum(not p.control for p in self.pairs) * min(duet_rounds, self.duet_rounds)
        controls = rounds * (pair * sum(p.control for p in self.pairs) + null * len(self.nulls))
        return solo + compared * pair + controls


def make_plan(
    matrix: Matrix,
    wanted: Selection,
    knobs: Mapping[str, str],
    reachable: Callable[[Service], bool],
    loadgen_cpus: int = 1,
) -> Plan:
    """The plan of a selection; UserError when a word is unknown or nothing is left to run.

    `reachable` tells whether a service's base image can be had; what cannot is skipped with that cause.
    """
    name = wanted.preset or ("all" if _narrows(wanted) else "quick")
    if name not in matrix.presets:
        raise unknown("preset", name, list(matrix.presets))
    preset = _override(matrix.presets[name], wanted)
    matrix = matrix.with_selftests([*preset.stacks, *wanted.stacks, *wanted.frameworks])
    services = _services(matrix, preset, wanted, knobs)
    skips = [Skip(s.name, s.skip) for s in services if s.skip]
    skips += [Skip(s.name, "base image not reachable") for s in services if not s.skip and not reachable(s)]
    skipped = {s.service for s in skips}
    cells: dict[tuple[str, str, str, str], Cell] = {}
    for load in _loads(matrix, preset, wanted):
        patterns = [_knobbed(s, knobs) for s in load.stacks]
        for service in services:
            if service.name in skipped or (patterns and not _any_match(service.stack, patterns)):
                continue
            for cell in _cells(matrix, service, load, skips):
                cells.setdefault((service.name, cell.scenario, cell.tool, cell.level.name), cell)
    _need_knees(cells.values())
    if not cells:
        causes = "; ".join(sorted({s.cause for s in skips})[:3]) or "no stack, scenario, tool and level fit together"
        raise UserError(f"nothing matches the selection ({causes}); try --list with fewer filters")
    # A tool that one group of levels does not fit and another does is not skipped.
    run = {(service, scenario, tool) for service, scenario, tool, _ in cells}
    skips = [s for s in dict.fromkeys(skips) if (s.service, s.scenario, s.tool) not in run]
    kept = tuple(cells.values())
    duet_rounds = 0 if preset.mode == "solo" else (wanted.rounds or LOOKS[-1])
    return Plan(
        preset,
        kept,
        tuple(skips),
        loadgen_cpus,
        pairs=(*_compared(preset, kept), *_controls(preset, kept, wanted)),
        nulls=_nulls(matrix, kept) if wanted.controls != "none" else (),
        duet_rounds=duet_rounds,
        duet_seconds=float(knobs.get("DUET_SECONDS", "2")),
    )


def _narrows(wanted: Selection) -> bool:
    """Whether it says which cells, and not only how they are measured."""
    how = {name: getattr(wanted, name) for name in ("duration", "rounds", "mode", "controls", "twin")}
    return wanted != Selection(**how)


def _pairable(cell: Cell) -> bool:
    # Two loads by count do not end together, and what one tool does alone at a rate says nothing of speed.
    return not cell.level.count and not cell.level.open_loop


def _compared(preset: Preset, cells: Iterable[Cell]) -> Iterable[Pair]:
    """Each cell with the first of its table (or with all of it), as the preset says."""
    if preset.mode == "solo":
        return
    tables: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in filter(_pairable, cells):
        tables.setdefault((cell.scenario, cell.tool, cell.level.name), []).append(cell)
    both = [
        pair
        for group in tables.values()
        for pair in (itertools.combinations(group, 2) if preset.pairs == "all" else ((group[0], c) for c in group[1:]))
    ]
    for number, (a, b) in enumerate(both, 1):
        yield Pair(f"p{number:03}", a, b)


def _controls(preset: Preset, cells: Sequence[Cell], wanted: Selection) -> Iterable[Pair]:
    """The preset's twin, else the first service, beside itself: where CPU is the judge, and (with duets) goodput."""
    if wanted.controls != "all":
        return
    able = [cell for cell in cells if _pairable(cell) and wanted.twin in ("", cell.service.name)]
    able.sort(key=lambda cell: cell.service.stack != preset.twin)
    chosen = {cell.route.waits: cell for cell in reversed(able)}
    if preset.mode == "solo":
        chosen = {cell.route.waits: cell for cell in able[:1]}
    for number, waits in enumerate(sorted(chosen), 1):
        yield Pair(f"aa{number}", chosen[waits], chosen[waits])


def _nulls(matrix: Matrix, cells: Sequence[Cell]) -> tuple[Null, ...]:
    """For every closed-loop tool its most connections, on a route of the plan that the null server has, else any."""
    found: dict[str, Null] = {}
    loops = [c for c in cells if not c.level.open_loop and not c.level.count and not c.level.rate]
    for cell in sorted(loops, key=lambda c: (c.level.connections or 0, c.route.name in NULL_ROUTES), reverse=True):
        route = cell.route if cell.route.name in NULL_ROUTES else matrix.routes[NULL_ROUTES[0]]
        found.setdefault(cell.tool, Null(route, route.scenario, route.path, cell.tool, cell.level))
    return tuple(found[tool] for tool in TOOLS if tool in found)


def measurements(plan: Plan, seed: int) -> list[dict[str, Any]]:
    """One line of plan.jsonl each: every cell, pair and control once a round, each round in its own random order."""
    rng = random.Random(seed)
    lines: list[dict[str, Any]] = []
    for number in range(1, plan.rounds + 1):
        units: list[Cell | Pair | Null] = [*plan.cells] if number <= plan.solo_rounds else []
        units += [p for p in plan.pairs if p.control or number <= plan.duet_rounds]
        units += plan.nulls
        rng.shuffle(units)
        if number == 1:
            # The shares of a knee need it.
            units.sort(key=lambda unit: isinstance(unit, Cell) and unit.level.knee_share is not None)
        for position, unit in enumerate(units, 1):
            if isinstance(unit, Pair):
                # The side that is started first.
                first = rng.choice("ab")
                sides = _pair_lines(plan, unit, number, position)
                lines += ({**line, "slot": 1 if line["side"] == first else 2} for line in sides)
            elif isinstance(unit, Null):
                lines.append(_null_line(plan, unit, number, position))
            else:
                lines.append(_line(plan, unit, number, position))
    return lines


def _pair_lines(plan: Plan, pair: Pair, number: int, position: int) -> Iterable[dict[str, Any]]:
    """Two windows, each with a line for either side."""
    unit, folder = f"r{number:02}-{position:04}", f"raw/r{number:02}/pairs/{pair.name}"
    for window, (side, cell) in itertools.product((1, 2), (("a", pair.a), ("b", pair.b))):
        yield _line(plan, cell, number, position) | {
            "id": f"{unit}-{window}{side}",
            "mode": "duet",
            "unit": unit,
            "pair": pair.name,
            "side": side,
            "window": window,
            "duration_s": plan.duet_seconds,
            "seconds": 2 * plan.duet_seconds + plan.preset.warmup + PAIR_OVERHEAD_S,
            "dir": f"{folder}/{window}{side}",
        }


def _null_line(plan: Plan, null: Null, number: int, position: int) -> dict[str, Any]:
    level = null.level
    return {
        **dict.fromkeys(("package", "body", "count", "rate")),
        **dict.fromkeys(("service", "server", "framework", "python", "base"), NULL),
        "id": f"r{number:02}-{position:04}",
        "mode": "null",
        "round": number,
        "position": position,
        "scenario": null.scenario,
        "route": null.route.name,
        "method": null.route.method,
        "path": null.path,
        "tool": null.tool,
        "level": level.name,
        "connections": level.connections,
        "duration_s": plan.preset.duration,
        "timeout_s": plan.preset.timeout,
        "threads": _threads(level, plan.loadgen_cpus),
        "keepalive": plan.preset.keepalive,
        "warmup_s": plan.preset.warmup,
        "seconds": plan.preset.duration + plan.preset.warmup + OVERHEAD_S,
        "dir": f"raw/r{number:02}/{NULL}/{null.scenario}/{null.tool}-{level.name}",
    }


def _line(plan: Plan, cell: Cell, number: int, position: int) -> dict[str, Any]:
    service, level = cell.service, cell.level
    return {
        "id": f"r{number:02}-{position:04}",
        "round": number,
        "position": position,
        "service": service.name,
        "server": service.server.name,
        "framework": service.framework.name,
        "python": service.python,
        "base": service.base,
        "package": service.package,
        "scenario": cell.scenario,
        "route": cell.route.name,
        "database": cell.route.database,
        "method": cell.route.method,
        "path": cell.path,
        "body": cell.route.body,
        "tool": cell.tool,
        "level": level.name,
        "connections": level.connections,
        "count": level.count,
        "rate": level.rate,
        "knee_p99_s": level.knee_p99_s,
        "knee_share": level.knee_share,
        "duration_s": None if level.count else plan.preset.duration,
        "timeout_s": plan.preset.timeout,
        "threads": _threads(level, plan.loadgen_cpus),
        "keepalive": plan.preset.keepalive,
        "warmup_s": plan.preset.warmup,
        "seconds": plan.seconds(cell),
        "dir": f"raw/r{number:02}/{service.name}/{cell.scenario}/{cell.tool}-{level.name}",
    }


def _threads(level: Level, cpus: int) -> int:
    """Wrk drops the connections that do not divide by its threads: take a number that does."""
    connections = level.connections or 1
    return max(t for t in range(1, cpus + 1) if connections % t == 0)


def _override(preset: Preset, wanted: Selection) -> Preset:
    if wanted.duration is not None:
        if not (math.isfinite(wanted.duration) and 1 <= wanted.duration <= 86400 and wanted.duration % 1 == 0):
            raise UserError("--duration is whole seconds, 1 to 86400 (ab and wrk know no others)")
        preset = replace(preset, duration=wanted.duration)
    if wanted.rounds is not None:
        if not 1 <= wanted.rounds <= 99:
            raise UserError("--rounds is a number from 1 to 99")
        preset = replace(preset, rounds=wanted.rounds)
    if wanted.mode is not None:
        if wanted.mode not in MODES:
            raise unknown("mode", wanted.mode, MODES)
        preset = replace(preset, mode=wanted.mode)
    return replace(preset, packages=wanted.packages or preset.packages)


def _services(matrix: Matrix, preset: Preset, wanted: Selection, knobs: Mapping[str, str]) -> list[Service]:
    """The services of the preset, narrowed or (where it does not hold them) replaced by the filters."""
    own = matrix.select([_knobbed(s, knobs) for s in preset.stacks], matrix.stacks, "stack")
    stacks = _narrow(wanted.stacks, own, matrix.stacks, "stack", matrix)
    pythons = _narrow(
        wanted.pythons,
        matrix.select(preset.pythons, matrix.pythons, "Python"),
        matrix.pythons,
        "Python",
        matrix,
    )
    bases = _narrow(wanted.bases, matrix.select(preset.bases, matrix.bases, "base"), matrix.bases, "base", matrix)
    frameworks = matrix.select(wanted.frameworks or ["*"], matrix.frameworks, "framework")
    servers = matrix.select(wanted.servers or ["*"], matrix.servers, "server")
    if (wanted.frameworks or wanted.servers) and not wanted.stacks:
        stacks = stacks if _meet(matrix, stacks, servers, frameworks) else matrix.stacks
    services = [
        s
        for s in matrix.services
        if s.stack in stacks
        and s.python in pythons
        and s.base in bases
        and s.framework.name in frameworks
        and s.server.name in servers
    ]
    if preset.packages:
        return [matrix.with_package(s, package) for s in services for package in preset.packages]
    return services


def _meet(matrix: Matrix, stacks: Sequence[str], servers: Sequence[str], frameworks: Sequence[str]) -> bool:
    return any(
        s.stack in stacks and s.server.name in servers and s.framework.name in frameworks for s in matrix.services
    )


def _narrow(patterns: Sequence[str], own: Sequence[str], every: Iterable[str], what: str, matrix: Matrix) -> list[str]:
    if not patterns:
        return list(own)
    chosen = matrix.select(patterns, every, what)
    return [name for name in chosen if name in own or name in patterns] or chosen


def _loads(matrix: Matrix, preset: Preset, wanted: Selection) -> list[Load]:
    """The preset's loads with the axes that the command line names narrowed or replaced."""
    for tool in wanted.tools:
        if not fnmatch.filter(TOOLS, tool):
            raise unknown("tool", tool, TOOLS)
    levels = tuple(parse_level(text).name for text in wanted.levels)
    loads = list(preset.loads)
    if wanted.scenarios:
        loads = _narrow_scenarios(matrix, loads, wanted.scenarios)
    if wanted.tools:
        loads = _narrow_tools(loads, wanted.tools)
    if levels:
        loads = [replace(load, levels=levels) for load in loads]
    return loads


def _narrow_tools(loads: list[Load], patterns: tuple[str, ...]) -> list[Load]:
    """The loads with the tools that match; a tool that no load has is added to all, when named or alone."""
    held = {tool for load in loads for tool in load.tools if _any_match(tool, patterns)}
    added = tuple(t for t in TOOLS if t not in held and (t in patterns or (not held and _any_match(t, patterns))))
    narrowed = [replace(load, tools=_kept(load.tools, patterns) + added) for load in loads]
    return [load for load in narrowed if load.tools]


def _narrow_scenarios(matrix: Matrix, loads: list[Load], patterns: tuple[str, ...]) -> list[Load]:
    narrowed = [replace(load, scenarios=_kept(load.scenarios, patterns)) for load in loads]
    narrowed = [load for load in narrowed if load.scenarios]
    held = {name for load in narrowed for name in load.scenarios}
    # What self-tests ask for has to be named, as their apps have.
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


def _cells(matrix: Matrix, service: Service, load: Load, skips: list[Skip]) -> Iterable[Cell]:
    for scenario in load.scenarios:
        route, path = matrix.route_of(scenario)
        lacking = service.lacking(route)
        if lacking:
            skips.append(Skip(service.name, f"{service.framework.name}: {lacking}", scenario))
            continue
        for tool in load.tools:
            refusals = []
            for level in map(parse_level, load.levels):
                cause = refusal(tool, level, route.method)
                if cause is None:
                    yield Cell(service, route, scenario, path, tool, level)
                else:
                    refusals.append(cause)
            if len(refusals) == len(load.levels):
                skips.append(Skip(service.name, refusals[0], scenario, tool))


def _need_knees(cells: Iterable[Cell]) -> None:
    """UserError for a share of a knee that the same run does not search."""
    searched = {(cell.service.name, cell.scenario, cell.level.name) for cell in cells}
    for cell in cells:
        level = cell.level
        if level.knee_share is not None:
            whole = re.sub(r"^knee\d+", "knee", level.name)
            if (cell.service.name, cell.scenario, whole) not in searched:
                raise UserError(f"level {level.name} is a share of {whole}, which is not asked: give both")


def _kept(names: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if _any_match(name, patterns))


def _any_match(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _knobbed(stack: str, knobs: Mapping[str, str]) -> str:
    for knob, value in knobs.items():
        stack = stack.replace(f"${knob}", value)
    return stack
