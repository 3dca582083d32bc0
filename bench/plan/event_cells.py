"""The cells of a run's events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bench.core.exchange import Exchange
from bench.matrix.knobs import THREADS, Reads
from bench.matrix.model import Matrix, Preset, Route, Service
from bench.plan.cells import NULL, NULL_ROUTES, NULL_WORKER, PlannedCell
from bench.plan.event import MOST_EASY, NO_CASE, OF_POOL, ONE_AT_A_TIME, WORKERS, Event, Kind
from bench.plan.events import kinds_of, lasting, of_app, with_signal
from bench.plan.measurement import SkippedCell
from bench.tools import SOCKETS
from bench.tools.levels import Level


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
        route, exchange, scenario = _asked(matrix, service, preset, kind)
        if lacking := service.lacking(route):
            skips.append(SkippedCell(service.name, lacking, scenario, event=name))
            continue
        asked_for = (lasting(case, seconds) for case in kind.cases)
        why_not = kind.own_app if service.framework.own else ""
        on = ((case.case, why_not or kind.on(case, service, reads)) for case in asked_for)
        by_case = [(case, _possible(matrix, service, route, event)) for case, event in on]
        causes = {case: cause for case, cause in by_case if isinstance(cause, str)}
        # If all cases share a cause, one entry without a case covers them.
        if len(causes) == len(by_case) > 1 and len({*causes.values()}) == 1:
            causes = {NO_CASE: next(iter(causes.values()))}
        skips += [SkippedCell(service.name, cause, scenario, event=name, case=case) for case, cause in causes.items()]
        for _, event in by_case:
            if isinstance(event, Event):
                asked = replace(exchange, path=event.path or exchange.path)
                yield PlannedCell(
                    service, route, scenario, asked, SOCKETS.name, Level(event.level), alone=True, event=event
                )


def _possible(matrix: Matrix, service: Service, route: Route, event: Event | str) -> Event | str:
    """The event as this service's app can have it, or why it cannot."""
    if isinstance(event, str):
        return event
    if service.framework.own:
        return of_app(event, route)
    named = matrix.routes.get(event.slow_route)
    beside = named or next((one for one in matrix.routes.values() if one.exchange.path == event.slow_path), None)
    if event.needs and event.needs.scenario:
        beside, exchange = matrix.route_of(event.needs.scenario)
        event = replace(event, needs=replace(event.needs, path=exchange.path))
    return (service.lacking(beside) if beside else None) or event


def _asked(matrix: Matrix, service: Service, preset: Preset, kind: Kind) -> tuple[Route, Exchange, str]:
    """Route, exchange and scenario of the load under an event; for a user's own app, its first request."""
    scenario = preset.loads[0].scenarios[0] if service.framework.own and preset.loads else kind.scenario
    return *matrix.route_of(scenario), scenario


def easy_rate(services: Iterable[Service], reads: Reads, workers: int) -> float:
    """The requests/s that all of these services sustain easily while each response waits."""
    rates = [MOST_EASY]
    for service in services:
        if not service.concurrent:
            rates.append(ONE_AT_A_TIME * int(service.settings.get("WORKERS", workers)))
        elif not reads(service, THREADS):
            rates.append(OF_POOL)
    return min(rates)


def at_rate(cell: PlannedCell, rate: float) -> PlannedCell:
    """The cell with this rate, if its event has an easy load."""
    event = cell.event
    return replace(cell, event=replace(event, most_rate=rate)) if event and event.most_rate == MOST_EASY else cell


def null_events(matrix: Matrix, names: Iterable[str], seconds: float | None = None) -> tuple[PlannedCell, ...]:
    """Each event once on the null server, whose losses are the floor."""
    route, _ = matrix.route_of(NULL_ROUTES[0])
    cases = (kind.cases[0] for kind in kinds_of(names) if kind.floor)
    workers, asked = {"WORKERS": str(WORKERS)}, replace(route.exchange, path=NULL_WORKER)
    events = (replace(lasting(case, seconds), long_path="", environment=workers) for case in cases)
    return tuple(
        PlannedCell(NULL, route, route.scenario, asked, SOCKETS.name, Level(event.level), event=with_signal(event))
        for event in events
    )
