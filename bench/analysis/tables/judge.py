"""The answers of a run's tables in turns: their windows -> effects of services -> ranking and verdicts.

A table is only judged after the rounds in `PlannedTable.looks`; later rounds do not enter a look. Its figures
(requests/s, CPU time, memory) are of all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from statistics import fmean

from bench.analysis.tables.latency import NOTHING_LOADED, AtCommonRates, latencies_of
from bench.analysis.tables.observations import (
    Credits,
    TableRecords,
    by_table,
    causes_against,
    connections_kept,
    credits_of,
    figure,
    left_out,
    limited_services,
    observations,
)
from bench.analysis.tables.ranking import (
    Ceiling,
    Cheapest,
    Figure,
    Metric,
    RankedRow,
    Ranking,
    TableLatency,
    contrasts_of,
    finite,
    smallest_visible,
)
from bench.analysis.tables.remarks import remarks_on
from bench.core.groups import grouped
from bench.records.counters import whole
from bench.records.record import Record
from bench.run.facts import PlannedTable, RunFacts
from bench.stats.drift import drift_of
from bench.stats.estimates import Interval
from bench.stats.table_family import look_level
from bench.stats.table_fit import TableFit, fit_table
from bench.stats.table_verdicts import (
    EQUAL,
    FASTER,
    LEAST,
    MARGIN,
    NO_WINNER,
    SLOWER,
    Difference,
    RankedService,
    differences,
    rank,
    ratio,
    settled,
)
from bench.tools.levels import LoadKey
from bench.validity.run_rules import BUSY, least_wait_s

MICROSECONDS = 1e6
CONTRADICTED = 1.05
"""Requests/s that differ by more than this, with separate intervals, contradict a verdict by CPU time."""
NEAR_CEILING = 0.8
"""From this share on of what connections and wait allow, requests/s say little about the server."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at a table; `rounds` is None before the first planned look, when nothing gets a verdict."""

    rounds: int | None
    level: float
    fit: TableFit | None
    found: Mapping[tuple[str, str], Difference]
    credits: Credits = field(default_factory=Credits)
    order: Sequence[str] = ()
    """Of all services, the fastest first; by the fit's effects if empty."""


def judge_tables(
    facts: RunFacts,
    records: Iterable[Record],
    absent: Mapping[str, str] | None = None,
    loaded: AtCommonRates = NOTHING_LOADED,
) -> tuple[Ranking, ...]:
    """The answer of every table that run.json lists, given the records of a run; pure.

    `absent`: why a service without any record was not measured. `loaded`: the loads at common rates.
    """
    records, tables = [*records], facts.tables
    keys = {table.key for table in tables}
    at = grouped(
        ((table.scenario, one) for table in tables for one in latencies_of(table, records, loaded)),
        lambda found: (found[0], found[1].level),
    )

    def beside(table: PlannedTable) -> Iterable[TableLatency]:
        """Latency at its common rates, except rates that have a table of their own."""
        of_table = (one for level in (*table.shares, table.level) for _, one in at.get((table.scenario, level), ()))
        return (one for one in of_table if not table.shares or (table.scenario, one.tool, one.level) not in keys)

    measured = by_table(tables, records)
    return tuple(replace(_ranking(one, absent or {}, facts), latencies=(*beside(one.table),)) for one in measured)


def looks_reached(facts: RunFacts, records: Iterable[Record]) -> dict[LoadKey, int]:
    """Rounds of the last planned look that each table has reached, without judging it; no entry before the first."""
    found = ((one.table.key, _reached(one)) for one in by_table(facts.tables, records))
    return {key: look for key, look in found if look is not None}


def settled_tables(facts: RunFacts, records: Iterable[Record]) -> set[LoadKey]:
    """The tables that need no more rounds: their last planned look settled them."""
    return {one.table.key for one in by_table(facts.tables, records) if _is_settled(one, _look(one))}


def _look(measured: TableRecords, metric: Metric | None = None) -> _Look:
    """The last look reached, by the table's metric or another one."""
    table, rounds, metric = measured.table, measured.rounds, metric or measured.metric
    reached = _reached(measured)
    level = look_level(table.looks)
    kept = set(rounds[:reached])
    counted = [record for record in measured.records if record.round in kept]
    seen = observations(counted, metric)
    if len({one.service for one in seen}) < 2:
        return _Look(reached, level, None, {})
    fit = fit_table(seen)
    by_pair = differences(fit, level)
    if metric is not Metric.CPU:
        given = credits_of(counted) if metric is Metric.SPEED else Credits()
        limited = limited_services(counted)
        by_pair = {
            pair: as_lower_bound(without_credit(one, *given.of_pair(*pair)), limited) for pair, one in by_pair.items()
        }
        return _Look(reached, level, fit, by_pair, given, given.in_order(fit.effects))
    if metric is measured.metric:
        figures = {name: figure(measured.of(name), Metric.GOODPUT) for name in fit.services}
        served = {name: rate for name, rate in figures.items() if rate}
        by_pair = {pair: uncontradicted(one, served) for pair, one in by_pair.items()}
    return _Look(reached, level, fit, by_pair)


def uncontradicted(difference: Difference, served: Mapping[str, Figure]) -> Difference:
    """Drop a verdict by CPU time if requests/s (`served`) clearly show the opposite.

    A service that waits for something needs little CPU time, but that does not make it fast.
    """
    faster, slower = (difference.i, difference.j) if difference.word == FASTER else (difference.j, difference.i)
    less, more = served.get(faster), served.get(slower)
    if difference.word not in (FASTER, SLOWER) or less is None or more is None:
        return difference
    opposite = more.mean > CONTRADICTED * less.mean and more.low > less.high
    return replace(difference, word=NO_WINNER, more_rounds=math.inf) if opposite else difference


def without_credit(difference: Difference, less: float, more: float) -> Difference:
    """The difference of what two services served, with an interval that holds if they lost the time of others, too.

    `less`, `more`: the credits for that time of `i` and `j`, as logarithms.
    """
    if not less and not more:
        return difference
    estimate = difference.estimate - less + more
    wide = Interval(difference.interval.low - less, difference.interval.high + more, difference.interval.confidence)
    called = bool(wide.sign) and abs(estimate) >= LEAST
    kept = wide.within(MARGIN) if difference.word == EQUAL else called or difference.word == NO_WINNER
    wider = replace(difference, estimate=estimate, interval=wide, detectable=difference.detectable + max(less, more))
    if kept:
        return wider
    # Without a verdict, its interval is the simultaneous one, as for any other pair.
    low, high = difference.estimate - difference.half_width - less, difference.estimate + difference.half_width + more
    interval = Interval(low, high, difference.interval.confidence)
    return replace(wider, word=NO_WINNER, interval=interval, more_rounds=math.inf)


def as_lower_bound(difference: Difference, limited: Collection[str]) -> Difference:
    """Drop a verdict that does not hold if the speeds of `limited` services are lower bounds.

    Such a service may be shown to be faster than another one, but neither slower nor the same; how much faster it could
    be is open.
    """
    bounds = [name for name in (difference.i, difference.j) if name in limited]
    if not bounds or (len(bounds) == 1 and difference.word == (FASTER if difference.i in limited else SLOWER)):
        return difference
    low = -math.inf if difference.j in limited else difference.interval.low
    high = math.inf if difference.i in limited else difference.interval.high
    return replace(difference, word=NO_WINNER, interval=Interval(low, high, difference.interval.confidence))


def _reached(measured: TableRecords) -> int | None:
    return max((look for look in measured.table.looks if look <= len(measured.rounds)), default=None)


def _is_settled(measured: TableRecords, look: _Look) -> bool:
    """Whether it is the last look, or every pair is decided.

    Without a fit it is not settled: noise may be the only reason why a service is missing from it.
    """
    if look.rounds is None:
        return False
    if look.rounds >= measured.table.looks[-1]:
        return True
    return look.fit is not None and settled(look.found, look.fit)


def _ranking(measured: TableRecords, absent: Mapping[str, str], facts: RunFacts) -> Ranking:
    table, look = measured.table, _look(measured)
    cost = look if measured.metric is Metric.CPU else _look(measured, Metric.CPU)
    drift = None if measured.metric.less_is_better else drift_of(observations(measured.records, measured.metric))
    judged, biases = look.rounds is not None, [*look.fit.bias.values()] if look.fit else []
    ranked = {one.service: one for one in rank(look.fit, look.found, look.order)} if look.fit else {}
    best = next((one.service for one in ranked.values() if one.rank == 1), "")
    rows = [
        _row(measured, service, ranked.get(service), absent.get(service, ""), facts, look=look, cost=cost, best=best)
        for service in table.services
    ]
    rows.sort(key=lambda row: math.inf if row.rank is None else row.rank)
    return Ranking(
        scenario=table.scenario,
        tool=table.tool,
        level=table.level,
        metric=measured.metric,
        rounds=len(measured.rounds),
        looks=table.looks,
        look=look.rounds,
        confidence=look.level,
        settled=_is_settled(measured, look),
        rows=tuple(rows),
        contrasts=contrasts_of(table.services, look.found, judged),
        unknown_cpu=measured.unknown_cpu,
        cheapest=_cheapest(measured, cost),
        rate=next((record.rate for record in measured.records if record.rate), None),
        wait=table.wait,
        unit=facts.kind_of(table.scenario).rated,
        bias=math.expm1(max(biases) - min(biases)) if biases else None,
        credit=math.expm1(look.credits.largest),
        drift=None if drift is None else math.expm1(drift),
        connections_kept=connections_kept(measured.records),
        workers=whole(facts.workers),
        ceiling=_ceiling(measured, rows, least_wait_s(table.wait, facts.knobs)),
    )


def _unbiased(look: _Look, service: str) -> float:
    """The factor that frees a service's speed, as it was in turns, from their bias; 1 if that is unknown."""
    return math.exp(-look.fit.bias.get(service, 0.0)) if look.fit else 1.0


def _ceiling(measured: TableRecords, rows: Iterable[RankedRow], wait_s: float) -> Ceiling | None:
    """The first services, as far as connections and wait limit them; None if these do not limit several."""
    connections = measured.records[0].connections if measured.records else None
    shares, busy = list[float](), list[float]()
    for row in rows if wait_s and connections else ():
        used = fmean(record.server_busy_ratio or 0.0 for record in measured.of(row.service)) if row.rank else 0.0
        share = row.goodput.mean * wait_s / (connections or 1) if row.goodput else 0.0
        if share < NEAR_CEILING or not 0 < used < BUSY:
            break
        shares.append(share)
        busy.append(used)
    if len(shares) < 2 or not connections:
        return None
    enough = math.ceil(connections / min(busy))
    return Ceiling(len(shares), connections / wait_s, connections, min(shares), max(busy), enough)


def _row(
    measured: TableRecords,
    service: str,
    ranked: RankedService | None,
    absent: str,
    facts: RunFacts,
    *,
    look: _Look,
    cost: _Look,
    best: str,
) -> RankedRow:
    records = measured.of(service)
    unused = left_out(records, measured.metric).total()
    memory = [r.memory_loaded_bytes for r in records if r.memory_loaded_bytes and not causes_against(r, Metric.CPU)]
    place, judged = ranked if ranked and ranked.rank is not None else None, look.rounds is not None
    against = look.found.get((service, best))
    # The best of the ranking does not differ from itself.
    estimate, ends = (against.estimate, against.interval) if against else (0.0, Interval(0.0, 0.0, look.level))
    # Turns bias the speed that ranks a table and the requests/s alike, unless CPU time ranks it.
    goodput = figure(records, Metric.GOODPUT, 1.0 if measured.metric is Metric.CPU else _unbiased(look, service))
    return RankedRow(
        service=service,
        rank=place.rank if place else None,
        tier=place.tier if place and judged else None,
        difference=ratio(estimate) if place else None,
        interval=finite((ratio(ends.low), ratio(ends.high))) if place and judged else None,
        goodput=goodput,
        cpu_us=figure(records, Metric.CPU, MICROSECONDS / _unbiased(cost, service)),
        memory_loaded_bytes=max(memory, default=None),
        windows=len(records) - unused,
        left_out=unused,
        remarks=(*remarks_on(measured, service, ranked, absent=absent, facts=facts),),
        smallest_visible=smallest_visible(against, judged),
    )


def _cheapest(measured: TableRecords, look: _Look) -> Cheapest | None:
    """Which services need the least CPU per request, at a look by it: a separate question with its own intervals.

    As in a tier, a service behind one that needs more is not among them, however wide its interval.
    """
    if measured.metric is not Metric.SPEED or measured.table.waits or look.rounds is None or look.fit is None:
        return None
    ranked = [one.service for one in rank(look.fit, look.found) if one.rank is not None]
    best = [*takewhile(lambda name: name == ranked[0] or look.found[name, ranked[0]].word != SLOWER, ranked)]
    costs = [figure(measured.of(name), Metric.CPU, MICROSECONDS / _unbiased(look, name)) for name in best]
    means = [cost.mean for cost in costs if cost]
    if not best or len(means) < len(costs):
        return None
    return Cheapest(tuple(best), min(means), max(means))
