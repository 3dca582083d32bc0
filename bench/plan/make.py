"""Makes the plan of a selection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bench.core.errors import UserError, unknown
from bench.core.formats import joined
from bench.matrix.knobs import Reads, reader
from bench.matrix.model import Matrix
from bench.matrix.packages import Locked, locked
from bench.matrix.preset import Load
from bench.matrix.service import Service
from bench.plan.cells import Plan, PlannedCell, SkippedCell
from bench.plan.controls import null_cells, turn_tables
from bench.plan.interim_looks import LOOKS
from bench.plan.levels import parse_level, refusal
from bench.plan.packages import narrowed, with_sides
from bench.plan.running import check_running, with_running
from bench.plan.selection import Selection, any_match, narrows, override, select_loads, select_services, with_settings
from bench.plan.sides import Sides, choose, paired
from bench.plan.touched import refs_facts
from bench.plan.vary import knobs_of, several_cpus, vary


def make_plan(
    matrix: Matrix,
    wanted: Selection,
    settings: Mapping[str, str],
    reachable: Callable[[Service], bool],
    loadgen_cpus: int = 1,
    *,
    reads: Reads | None = None,
    sides: Sides | None = None,
    pins: Locked | None = None,
) -> Plan:
    """The plan of a selection; UserError where a name is unknown or nothing is left to run.

    `reachable` says whether a service's base image is available; services without are skipped, with that cause. `reads`
    says which knobs a service reads (None: what its files in the project name), `pins` which packages it has (None:
    what its locks pin). With `sides`, each service is measured twice, as it is on either.
    """
    pins = pins or locked()
    wanted = narrowed(matrix, wanted, settings, pins)
    name = wanted.preset or ("all" if narrows(wanted) else "quick")
    if name not in matrix.presets:
        raise unknown("preset", name, list(matrix.presets))
    alone, scenarios = wanted.only_running, bool(wanted.scenarios)
    check_running(wanted.running, alone=alone and not scenarios)
    matrix, preset = with_running(matrix, matrix.presets[name], wanted.running, alone=alone, scenarios=scenarios)
    preset = override(preset, wanted)
    knobs = knobs_of(preset, wanted)
    if sides:
        services, skips = choose(sides, preset, wanted, knobs, reachable)
    else:
        matrix = matrix.with_selftests([*preset.stacks, *wanted.stacks, *wanted.frameworks])
        services = [] if alone else select_services(matrix, preset, wanted, settings)
        if wanted.wheels is not None and not alone:
            services = with_sides(matrix, services, wanted.wheels, pins)
        skips = [SkippedCell(s.name, s.skip) for s in services if s.skip]
        skips += [SkippedCell(s.name, "base image not reachable") for s in services if not s.skip and not reachable(s)]
        skipped = {s.service for s in skips}
        services = [service for service in services if service.name not in skipped]
        services, left_out = vary(matrix, services, knobs, reads or reader())
        skips += left_out
    services += [one.service() for one in wanted.running]
    if knobs or sides:
        # A published comparison has one service of each stack.
        preset = replace(preset, published=None)
    cells: dict[tuple[str, str, str, str], PlannedCell] = {}
    for load in select_loads(matrix, preset, wanted):
        for service in services:
            own = sides.settings_for(service) if sides else settings
            patterns = [with_settings(s, own) for s in load.stacks]
            if patterns and not any_match(service.stack, patterns):
                continue
            for cell in _cells(matrix, service, load, skips):
                cells.setdefault((service.name, cell.scenario, cell.tool, cell.level.name), cell)
    _check_knees(cells.values())
    every = paired([*cells.values()], services, skips) if sides else [*cells.values()]
    if not every:
        causes = "; ".join(sorted({s.cause for s in skips})[:3]) or "no stack, scenario, tool and level go together"
        raise UserError(f"nothing matches the selection ({causes}); try --list with fewer filters")
    # A tool that cannot run one group of levels, but can run another, is not skipped.
    run = {(cell.service.name, cell.scenario, cell.tool) for cell in every}
    skips = [s for s in dict.fromkeys(skips) if (s.service, s.scenario, s.tool) not in run]
    kept = tuple(every)
    if sides or narrows(replace(wanted, preset=None)) or wanted.vary:
        preset = replace(preset, title=title_of(kept, sides))
    tables = tuple(turn_tables(preset, kept, several_cpus=several_cpus(settings)))
    turn_rounds = (wanted.rounds or preset.turn_rounds or LOOKS[-1]) if tables else 0
    return Plan(
        preset,
        kept,
        tuple(skips),
        loadgen_cpus,
        nulls=null_cells(matrix, kept) if wanted.controls != "none" else (),
        tables=tables,
        turn_rounds=turn_rounds,
        turn_seconds=preset.turn_seconds or float(settings.get("TURN_SECONDS", "1")),
        refs=refs_facts(sides, services, kept) if sides else None,
        turn_lengths=tuple(int(ms) / 1000 for ms in filter(None, settings.get("TURN_MS", "").split(","))),
    )


def title_of(cells: Sequence[PlannedCell], sides: Sides | None = None) -> str:
    """What was selected, in words: `aiohttp and tornado (Python 3.13): json`."""
    services = list({cell.service.name: cell.service for cell in cells}.values())
    if sides:
        # Of a pair, what both are without their refs.
        stacks = _listed(list(dict.fromkeys(service.stack for service in services)))
        scenarios = _listed(list(dict.fromkeys(cell.scenario for cell in cells)))
        return f"{sides.head.label} against {sides.base.label}: {stacks}: {scenarios}"
    ours = [service for service in services if not service.url]
    pythons, bases = ({getattr(service, what) for service in ours} for what in ("python", "base"))
    one_of_each = len(pythons) == len(bases) == 1
    names = list(dict.fromkeys(service.stack if one_of_each else service.built_as for service in services))
    where = f" (Python {ours[0].python}, {ours[0].base})" if one_of_each else ""
    settings = list(dict.fromkeys(filter(None, (service.settings_text for service in services))))
    where += f" with {_listed(settings)}" if settings else ""
    return f"{_listed(names)}{where}: {_listed(list(dict.fromkeys(cell.scenario for cell in cells)))}"


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = [*names] if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return joined(shown)


def _cells(matrix: Matrix, service: Service, load: Load, skips: list[SkippedCell]) -> Iterable[PlannedCell]:
    for scenario in load.scenarios:
        route, path = matrix.route_of(scenario)
        lacking = service.lacking(route)
        if lacking:
            skips.append(SkippedCell(service.name, f"{service.framework.name}: {lacking}", scenario))
            continue
        for tool in load.tools:
            refusals = []
            for level in map(parse_level, load.levels):
                cause = refusal(tool, level, route.method, route.targets)
                if cause is None:
                    yield PlannedCell(service, route, scenario, path, tool, level, load.alone or service.on_ipv6)
                else:
                    refusals.append(cause)
            if len(refusals) == len(load.levels):
                skips.append(SkippedCell(service.name, refusals[0], scenario, tool))


def _check_knees(cells: Iterable[PlannedCell]) -> None:
    """UserError for a share of a knee that the plan does not search."""
    searched = {(cell.service.name, cell.scenario, cell.level.name) for cell in cells}
    for cell in cells:
        level = cell.level
        if level.knee_share is not None:
            whole = re.sub(r"^knee\d+", "knee", level.name)
            if (cell.service.name, cell.scenario, whole) not in searched:
                raise UserError(f"level {level.name} is a share of {whole}, which is not selected: give both")
