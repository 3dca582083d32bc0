"""The loads of a run, and their cells."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bench.core.errors import UserError
from bench.core.exchange import Exchange
from bench.exchange import kind_of
from bench.matrix.model import Load, Matrix, Preset, Route, Service, select
from bench.plan.cells import PlannedCell
from bench.plan.measurement import SkippedCell
from bench.plan.selection import Selection, any_match, with_settings
from bench.tools import OPEN_LOOP, TOOLS
from bench.tools.levels import Level, LoadKey, knee_level, refusal

Shares = dict[str, dict[Level, None]]
"""By scenario, the levels of its common rates: shares of the slowest speed or knee; the keys are in order."""


def load_cells(
    matrix: Matrix,
    preset: Preset,
    wanted: Selection,
    services: Sequence[Service],
    skips: list[SkippedCell],
    *,
    settings: Sequence[Mapping[str, str]],
) -> tuple[list[PlannedCell], Shares]:
    """The cells of all loads, and the common rates. A cell that cannot be is added to `skips`, with the cause.

    `settings`: those of each variant.
    """
    # Common rates need the null server: loading it shows what the client can send.
    with_rates = wanted.latency and wanted.controls != "none"
    cells: dict[tuple[str, LoadKey], PlannedCell] = {}
    shares: Shares = {}
    for load in select_loads(matrix, preset, wanted):
        routes = {scenario: matrix.route_of(scenario) for scenario in load.scenarios}
        levels: Sequence[Level] = load.levels
        if with_rates and not load.alone:
            for scenario, (_, exchange) in routes.items():
                shares.setdefault(scenario, {}).update(dict.fromkeys(_common_rates(exchange, levels)))
        levels = [level for level in levels if level.share is None]
        patterns = [with_settings(stack, one) for one in settings for stack in load.stacks]
        for service in services:
            if not patterns or any_match(service.stack, patterns):
                for cell in _cells(service, load, routes, levels, skips, others=() if wanted.tools else tuple(TOOLS)):
                    cells.setdefault(cell.key, cell)
    _check_knees(cells.values())
    return [*cells.values()], shares


def _cells(
    service: Service,
    load: Load,
    routes: Mapping[str, tuple[Route, Exchange]],
    levels: Sequence[Level],
    skips: list[SkippedCell],
    *,
    others: Sequence[str],
) -> Iterable[PlannedCell]:
    """The cells of a service. If none of the load's tools speaks an exchange, those of the `others` that do load it."""
    for scenario, (route, sent) in routes.items():
        if lacking := service.lacking(route):
            skips.append(SkippedCell(service.name, lacking, scenario))
            continue
        exchange = service.reached_by(sent)
        spoken = [tool for tool in (*load.tools, *others) if not TOOLS[tool].unspoken(exchange)]
        for tool in load.tools if {*spoken} & {*load.tools} else spoken or load.tools:
            refusals = []
            for level in levels:
                cause = refusal(tool, level, exchange)
                if cause is None:
                    turns = service.takes_turns(exchange, quiet=kind_of(exchange).quiet)
                    yield PlannedCell(service, route, scenario, exchange, tool, level, load.alone or not turns)
                else:
                    refusals.append(cause)
            if refusals and len(refusals) == len(levels):
                skips.append(SkippedCell(service.name, refusals[0], scenario, tool))


def _common_rates(exchange: Exchange, levels: Iterable[Level]) -> list[Level]:
    """The levels that are shares of the slowest speed or knee, if the open-loop tool can generate them."""
    shares = [level for level in levels if (level.share or level.knee_share) is not None]
    return [level for level in shares if not refusal(OPEN_LOOP, level, exchange)]


def _check_knees(cells: Iterable[PlannedCell]) -> None:
    """UserError for a share of a knee that the plan does not search for."""
    searched = {(cell.service.name, cell.scenario, cell.level) for cell in cells}
    for cell in cells:
        level = cell.level
        if level.knee_share is not None:
            whole = knee_level(level.knee_p99_s or 0)
            if (cell.service.name, cell.scenario, whole) not in searched:
                raise UserError(f"level {level} is a share of {whole}, which is not selected: give both")


def select_loads(matrix: Matrix, preset: Preset, wanted: Selection) -> list[Load]:
    """The preset's loads, with scenarios, tools and levels narrowed or replaced by the command line."""
    select(wanted.tools, TOOLS, "tool")
    apart = [load for load in preset.loads if matrix.own_app and load.alone]
    loads = [load for load in preset.loads if load not in apart]
    if wanted.scenarios:
        loads = _narrow_scenarios(matrix, loads, wanted.scenarios)
    if wanted.tools:
        loads = _narrow_tools(loads, wanted.tools)
    if wanted.levels:
        loads = [replace(load, levels=_levels(load, wanted.levels)) for load in loads]
    # With an own app, the search that --p99 asks for: it has its own tool and level.
    return [*loads, *apart]


def _levels(load: Load, asked: Sequence[Level]) -> tuple[Level, ...]:
    """The levels asked for; a load keeps its common rates unless common rates are asked for, and vice versa."""
    kinds = {level.share is None for level in asked}
    return (*asked, *(level for level in load.levels if (level.share is None) not in kinds))


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
    offered = (name for route in matrix.routes.values() if not route.selftest for name in route.scenarios)
    fixed = [name for name in offered if "{n}" not in name]
    missing: list[str] = []
    for pattern in patterns:
        if fnmatch.filter(held, pattern):
            continue
        missing += fnmatch.filter(fixed, pattern) or [pattern]
    if missing:
        narrowed += [replace(load, scenarios=tuple(missing)) for load in loads]
    return narrowed


def _matching(names: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if any_match(name, patterns))
