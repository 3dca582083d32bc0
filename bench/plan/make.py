"""Makes the plan for a selection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.core.errors import UserError, unknown
from bench.core.formats import joined
from bench.matrix.knobs import Reads
from bench.matrix.model import Framework, Load, Matrix, Preset, Route, Service
from bench.plan.cells import (
    NULL,
    NULL_ROUTES,
    NULL_WORKER,
    RATE_SECONDS,
    ROOM,
    Plan,
    PlannedCell,
    SkippedCell,
    TurnsTable,
    null_cells,
    turn_tables,
)
from bench.plan.cpus import parse_list
from bench.plan.events import EVENTS, kind_of, kinds_of, lasting, of_app, with_signal
from bench.plan.events.event import BAD_DAY, WORKERS, Event, Kind
from bench.plan.interim_looks import LOOKS
from bench.plan.levels import Level, parse_level, refusal
from bench.plan.running import check_running, with_running
from bench.plan.selection import Selection, any_match, narrows, override, select_loads, with_settings
from bench.plan.variants import Chosen, Variant, choose, in_pairs, with_default_stacks
from bench.tools import OPEN_LOOP, SOCKETS, tool_of

MOST_LOADGENS = 32
"""The most load generators on one cell (`--loadgens N`)."""


def make_plan(here: Variant, wanted: Selection, refs: Sequence[Variant] = ()) -> Plan:
    """The plan for a selection; UserError if a name is unknown or nothing is left to run.

    `refs`: take the services from two refs of the project, the base first.
    """
    variants, matrix, settings = refs or (here,), here.matrix, here.settings
    wanted = with_default_stacks(here, wanted)
    name = wanted.preset or (BAD_DAY if wanted.events and not matrix.own_app else "all" if narrows(wanted) else "quick")
    if name not in matrix.presets:
        raise unknown("preset", name, matrix.presets)
    alone, scenarios = wanted.only_running, bool(wanted.scenarios)
    check_running(wanted.running, alone=alone and not scenarios)
    matrix, preset = with_running(matrix, matrix.presets[name], wanted.running, alone=alone, scenarios=scenarios)
    preset = override(preset, wanted, here.matrix.presets[BAD_DAY].events if BAD_DAY in here.matrix.presets else ())
    if preset.events:
        check_events(preset, wanted)
    chosen = Chosen([], [], []) if alone else choose(variants, preset, wanted)
    services, skips = [*chosen.services, *(one.service() for one in wanted.running)], chosen.skips
    if any(service.settings for service in services):
        # A published comparison has no variants of a stack.
        preset = replace(preset, published=None)
    shares: dict[str, dict[Level, None]] = {}
    # Common rates need the null server: loading it shows what the client can send.
    latency = wanted.latency and wanted.controls != "none"
    cells: dict[tuple[str, str, str, str], PlannedCell] = {}
    for load in () if preset.events else select_loads(matrix, preset, wanted):
        patterns = [with_settings(stack, one.settings) for one in variants for stack in load.stacks]
        for scenario in load.scenarios if latency and not load.alone else ():
            shares.setdefault(scenario, {}).update(dict.fromkeys(_common_rates(matrix, load, scenario)))
        for service in services:
            if patterns and not any_match(service.stack, patterns):
                continue
            for cell in _cells(matrix, service, load, skips):
                cells.setdefault(cell.key, cell)
    for service in services if preset.events else ():
        of_service = event_cells(matrix, service, preset, here.reads, skips, seconds=wanted.duration)
        cells.update((cell.key, cell) for cell in of_service)
    _check_knees(cells.values())
    every = in_pairs([*cells.values()], chosen.pairs, skips)
    if not every:
        causes = "; ".join(sorted({s.cause for s in skips})[:3]) or "no stack, scenario, tool and level can be combined"
        raise UserError(f"nothing matches the selection ({causes}); try --list with fewer filters")
    # A tool that can run another load of the preset is not skipped.
    run = {(cell.service.name, cell.scenario, cell.tool) for cell in every}
    skips = [s for s in dict.fromkeys(skips) if (s.service, s.scenario, s.tool) not in run]
    kept = tuple(every)
    if len(variants) > 1 or narrows(replace(wanted, preset=None)) or wanted.vary:
        preset = replace(preset, title=title_of(kept, [one.label for one in variants]))
    tables = tuple(turn_tables(preset, kept, settings, {name: tuple(own) for name, own in shares.items()}))
    rated = {(table.first.scenario, level.name) for table in tables for level in table.shares}
    kept = tuple(cell for cell in kept if (cell.scenario, cell.level.name) not in rated)
    _check_holds(preset, kept)
    if any(parse_level(text).share for text in wanted.levels) and not any(table.shares for table in tables):
        raise UserError(
            "share50 needs a table in turns: select two services or more, without --mode solo or --controls none"
        )
    turn_rounds = (wanted.rounds or preset.turn_rounds or LOOKS[-1]) if tables else 0
    return Plan(
        preset,
        kept,
        tuple(skips),
        loadgen_cpus=len(parse_list(settings.get("LOADGEN_CPUS") or "0")),
        nulls=null_controls(matrix, preset, kept, tables, wanted.duration) if wanted.controls != "none" else (),
        tables=tables,
        turn_rounds=turn_rounds,
        turn_seconds=preset.turn_seconds or float(settings.get("TURN_SECONDS", "1")),
        rate_seconds=preset.rate_seconds or RATE_SECONDS,
        pairs=tuple(pair for pair in chosen.pairs if {cell.service.name for cell in kept}.issuperset(pair)),
        room=0.0 if wanted.mode == "solo" else room_of(settings),
    )


_NOT_OF_EVENTS = ("scenarios", "tools", "levels", "duration", "running")


def check_events(preset: Preset, wanted: Selection) -> None:
    """UserError for an unknown event, and for options that the event itself decides."""
    for name in preset.events:
        if kind_of(name) is None:
            raise unknown("event", name, EVENTS)
    lasts = any(event.most_requests for kind in kinds_of(preset.events) for event in kind.cases)
    for option in _NOT_OF_EVENTS:
        if getattr(wanted, option) and not (option == "duration" and lasts):
            given = "target" if option == "running" else option.removesuffix("s")
            raise UserError(f"--{given} does not go with --event: an event has a load and services of its own")


def event_cells(
    matrix: Matrix,
    service: Service,
    preset: Preset,
    reads: Reads,
    skips: list[SkippedCell],
    *,
    seconds: float | None = None,
) -> Iterable[PlannedCell]:
    """A cell for each case of each event. A case that this service cannot do is added to `skips`, with the cause.

    `seconds`: --duration.
    """
    for kind in kinds_of(preset.events):
        name = kind.cases[0].name
        route, path, scenario = _asked(matrix, service, preset, kind)
        if lacking := service.lacking(route):
            skips.append(SkippedCell(service.name, f"{service.framework.name}: {lacking}", scenario, event=name))
            continue
        asked_for = (lasting(case, seconds) for case in kind.cases)
        found = [(case.case, _possible(matrix, service, route, kind.on(case, service, reads))) for case in asked_for]
        causes = {case: cause for case, cause in found if isinstance(cause, str)}
        # If all cases share a cause, one entry without a case covers them.
        if len(causes) == len(found) > 1 and len({*causes.values()}) == 1:
            causes = {"": next(iter(causes.values()))}
        skips += [SkippedCell(service.name, cause, scenario, event=name, case=case) for case, cause in causes.items()]
        for _, event in found:
            if isinstance(event, Event):
                asked = event.path or path
                yield PlannedCell(
                    service, route, scenario, asked, SOCKETS.name, Level(event.level), alone=True, event=event
                )


def _possible(matrix: Matrix, service: Service, route: Route, event: Event | str) -> Event | str:
    """The event as this service's app can have it, or why it cannot."""
    if isinstance(event, str):
        return event
    if service.framework.own:
        return of_app(event, route)
    beside = next((one for one in matrix.routes.values() if one.path == event.slow_path), None)
    if event.needs and event.needs.scenario:
        beside, path = matrix.route_of(event.needs.scenario)
        event = replace(event, needs=replace(event.needs, path=path))
    lacking = service.lacking(beside) if beside else None
    return f"{service.framework.name}: {lacking}" if lacking else event


def _asked(matrix: Matrix, service: Service, preset: Preset, kind: Kind) -> tuple[Route, str, str]:
    """Route, path and scenario of the load under an event; for a user's own app, its first request."""
    scenario = preset.loads[0].scenarios[0] if service.framework.own and preset.loads else kind.scenario
    return *matrix.route_of(scenario), scenario


def room_of(settings: Mapping[str, str]) -> float:
    """The requests/s that the CPUs of servers and load generator allow to services under events at once."""
    cpus = (len(parse_list(settings.get(name) or "0")) for name in ("SERVER_CPUS", "LOADGEN_CPUS"))
    return ROOM * min(cpus)


def null_controls(
    matrix: Matrix,
    preset: Preset,
    cells: Sequence[PlannedCell],
    tables: Sequence[TurnsTable],
    seconds: float | None = None,
) -> tuple[PlannedCell, ...]:
    """The null server's cells, for the run's loads or for its events."""
    return null_events(matrix, preset.events, seconds) if preset.events else null_cells(matrix, cells, tables)


def null_events(matrix: Matrix, names: Iterable[str], seconds: float | None = None) -> tuple[PlannedCell, ...]:
    """Each event once on the null server, whose losses are the floor."""
    route, _ = matrix.route_of(NULL_ROUTES[0])
    cases = (kind.cases[0] for kind in kinds_of(names) if kind.floor)
    workers = {"WORKERS": str(WORKERS)}
    events = (replace(lasting(case, seconds), long_path="", environment=workers) for case in cases)
    return tuple(
        PlannedCell(
            NULL, route, route.scenario, NULL_WORKER, SOCKETS.name, Level(event.level), event=with_signal(event)
        )
        for event in events
    )


def title_of(cells: Sequence[PlannedCell], refs: Sequence[str]) -> str:
    """What was selected, in words: `aiohttp and tornado (Python 3.13): json`. `refs` are labels, the base's first."""
    services = list({cell.service.name: cell.service for cell in cells}.values())
    loads = _listed(list(dict.fromkeys(cell.event.name if cell.event else cell.scenario for cell in cells)))
    if len(refs) > 1:
        # Both services of a pair have the same stack.
        stacks = _listed(list(dict.fromkeys(service.stack for service in services)))
        return f"{' against '.join(reversed(refs))}: {stacks}: {loads}"
    ours = [service for service in services if not service.url]
    if ours and (own := ours[0].framework).own:
        return _question_of(own, services)
    pythons, bases = ({getattr(service, what) for service in ours} for what in ("python", "base"))
    one_of_each = len(pythons) == len(bases) == 1
    names = list(dict.fromkeys(service.stack if one_of_each else service.built_as for service in services))
    where = f" (Python {ours[0].python}, {ours[0].base})" if one_of_each else ""
    settings = list(dict.fromkeys(filter(None, (service.settings_text for service in services))))
    where += f" with {_listed(settings)}" if settings else ""
    return f"{_listed(names)}{where}: {loads}"


def _question_of(app: Framework, services: Sequence[Service]) -> str:
    """The question about a user's own app: `Which server for ./shop (main:app)?`."""
    assert app.own
    name = f"./{Path(app.own.source).name} ({app.environment['APP']})"
    servers = {service.server.name for service in services}
    pythons = {service.python for service in services if not service.url}
    knobs = dict.fromkeys(knob for service in services for knob, _ in service.settings)
    asked = [*["server"] * (len(servers) > 1), *["Python"] * (len(pythons) > 1), *knobs]
    where = f" on {services[0].server.name}" if len(servers) == 1 else ""
    return f"Which {joined(asked)} for {name}{where}?" if asked else f"{name}{where}"


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
            levels = [level for level in map(parse_level, load.levels) if level.share is None]
            for level in levels:
                cause = refusal(tool, level, route.method, route.targets)
                if cause is None:
                    yield PlannedCell(service, route, scenario, path, tool, level, load.alone or service.on_ipv6)
                else:
                    refusals.append(cause)
            if refusals and len(refusals) == len(levels):
                skips.append(SkippedCell(service.name, refusals[0], scenario, tool))


def _common_rates(matrix: Matrix, load: Load, scenario: str) -> list[Level]:
    """The levels of a load that are shares of the slowest speed or knee, if the open-loop tool can generate them."""
    route, _ = matrix.route_of(scenario)
    levels = [level for level in map(parse_level, load.levels) if (level.share or level.knee_share) is not None]
    return [level for level in levels if not refusal(OPEN_LOOP, level, route.method, route.targets)]


def _check_holds(preset: Preset, cells: Iterable[PlannedCell]) -> None:
    """UserError if one service alone would hold connections: it would be measured opening them."""
    if preset.mode == "solo" and any(tool_of(cell.tool).holds for cell in cells):
        raise UserError("hold is measured with services side by side: leave out --mode solo")


def _check_knees(cells: Iterable[PlannedCell]) -> None:
    """UserError for a share of a knee that the plan does not search for."""
    searched = {(cell.service.name, cell.scenario, cell.level.name) for cell in cells}
    for cell in cells:
        level = cell.level
        if level.knee_share is not None:
            whole = re.sub(r"^knee\d+", "knee", level.name)
            if (cell.service.name, cell.scenario, whole) not in searched:
                raise UserError(f"level {level.name} is a share of {whole}, which is not selected: give both")


def with_clients(plan: Plan, clients: int, *, other_options: Iterable[str] = ()) -> Plan:
    """The plan with `clients` load generators on each cell; UserError if they cannot load it together.

    `other_options`: the options given that allow only one load generator.
    """
    if not 1 <= clients <= MOST_LOADGENS:
        raise UserError(f"--loadgens takes a number from 1 to {MOST_LOADGENS}")
    if clients == 1:
        return plan
    if plan.preset.mode != "solo" or plan.tables:
        raise UserError("--loadgens needs --mode solo: services that take turns share one load generator")
    if named := next(iter(other_options), None):
        raise UserError(f"--loadgens does not go with {named}, which takes one load generator: leave one of them out")
    for cell in (*plan.cells, *plan.nulls):
        if cause := cannot_share(cell.level, clients):
            raise UserError(f"--loadgens {clients}: {cause}")
    return replace(plan, clients=clients)


def cannot_share(level: Level, clients: int) -> str | None:
    """Why `clients` load generators cannot share this level; None if they can."""
    if level.knee_p99_s is not None:
        return f"level {level.name} is searched by one load generator: give a rate (r500)"
    if level.count is not None:
        return f"level {level.name}: load generators that send a number of requests end at different times"
    for value, what in ((level.connections, "connections"), (level.rate, "requests/s")):
        if value is not None and value < clients:
            return f"level {level.name} has fewer {what} than load generators"
    return None
