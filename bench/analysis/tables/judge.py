"""The answers of a run's tables in turns: the windows of each -> effects of its services -> ranking and verdicts.

A table is looked at after the rounds of `PlannedTable.looks` and at no other time: later rounds do not enter a look.
Its figures (requests/s, CPU time, memory) are of all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.analysis.reference_results import ReferenceComparison, reference_results
from bench.analysis.tables.metric import Metric
from bench.analysis.tables.observations import (
    TableRecords,
    by_table,
    causes_against,
    connections_kept,
    figure,
    idle_words,
    left_out,
    limited_services,
    observations,
    tables_of,
)
from bench.analysis.tables.published_ratios import along_axes, published_beside
from bench.analysis.tables.ranking import Bounds, Contrast, Figure, Ranking, Row
from bench.analysis.tables.worker_spread import spread_of
from bench.analysis.words.tables.answers import Places, labels, places_of, sentences, table_question
from bench.analysis.words.tables.order import listed
from bench.analysis.words.tables.quotas import limits_words, throttled_words
from bench.analysis.words.tables.refs import Pair, pairs_of, ref_question, ref_sentences
from bench.analysis.words.tables.undecided import beside_words
from bench.core.files import mapping
from bench.core.formats import number as digits
from bench.records.record import MEASURED, Record
from bench.records.resource_usage import whole
from bench.stats.estimates import Interval
from bench.stats.table_family import look_levels
from bench.stats.table_fit import TableFit, fit_table
from bench.stats.table_verdicts import FASTER, NOT_ENOUGH, SLOWER, Difference, RankedService, differences, rank, settled

MICROSECONDS = 1e6
LATE = (
    "This run was made by a version that counted responses from after the services' turns: requests/s are 1.5 to 9 %"
    " too high, and not equally. Measure it again before you rely on a difference of that size."
)
CONTRADICTED = 1.05
"""Requests/s that differ by more than this, with separate intervals, contradict a verdict by CPU time."""
ALONE = "there is nothing to compare it with"
APART = "it was never in one window with the others"


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at a table: `rounds` is None before the first planned one, where nothing gets a verdict."""

    rounds: int | None
    level: float
    fit: TableFit | None
    found: Mapping[tuple[str, str], Difference]


def judge_tables(
    facts: Mapping[str, Any], records: Iterable[Record], absent: Mapping[str, str] | None = None
) -> tuple[Ranking, ...]:
    """The answer of every table that run.json lists, given the records of a run; pure.

    `absent` says of a service without any record why it was not measured.
    """
    every = list(records)
    places = places_of(facts, every)
    reference, knobs = reference_results().get(str(facts.get("published"))), mapping(facts.get("knobs"))
    return tuple(
        _with_words(
            _ranking(measured, labels(measured.table.services, places), absent or {}, knobs),
            places,
            reference,
            knobs,
            pairs_of(facts),
        )
        for measured in by_table(tables_of(facts), every)
    )


def looks_reached(facts: Mapping[str, Any], records: Iterable[Record]) -> dict[tuple[str, str, str], int]:
    """Rounds of the last planned look that each table has reached, without judging it; no entry before the first."""
    found = ((one.table.key, _reached(one)) for one in by_table(tables_of(facts), records))
    return {key: look for key, look in found if look is not None}


def settled_tables(facts: Mapping[str, Any], records: Iterable[Record]) -> set[tuple[str, str, str]]:
    """The tables, as (scenario, tool, level), that need no more rounds: their last planned look settled them."""
    return {one.table.key for one in by_table(tables_of(facts), records) if _is_settled(one, _look(one))}


def _with_words(
    ranking: Ranking,
    places: Places,
    reference: ReferenceComparison | None,
    knobs: Mapping[str, Any],
    pairs: Sequence[Pair],
) -> Ranking:
    asked = ref_question(pairs, places) or table_question([row.service for row in ranking.rows], places)
    told = [*(ref_sentences(ranking, pairs, places) or sentences(ranking, places))]
    told[1:1] = [ranking.cheapest] if ranking.cheapest else []
    if ranking.unknown_cpu:
        told.append(f"CPU per request is not known ({ranking.unknown_cpu}): requests/s are compared.")
    told += [LATE] if ranking.late else []
    beside = published_beside(ranking, reference, {name: place.stack for name, place in places.items()})
    told += [beside.sentence] if beside else []
    # What the machine cannot show comes before what it does.
    told[1:1] = limits_words(places, [row.service for row in ranking.rows], knobs)
    told += along_axes(ranking, reference, {name: (place.python, place.package) for name, place in places.items()})
    short = {row.service: row.service if "," in row.label else row.label for row in ranking.rows}
    return replace(ranking, question=asked, sentences=tuple(told), beside=tuple(beside_words(ranking, short)))


def _look(measured: TableRecords, metric: Metric | None = None) -> _Look:
    """The last look that was reached, by the table's metric or another one."""
    table, rounds, metric = measured.table, measured.rounds, metric or measured.metric
    reached = _reached(measured)
    level = look_levels(table.looks)[reached or table.looks[0]]
    kept = set(rounds[:reached])
    counted = [record for record in measured.records if record.round in kept]
    seen = observations(counted, metric)
    if len({one.service for one in seen}) < 2:
        return _Look(reached, level, None, {})
    fit = fit_table(seen)
    found = differences(fit, level, systematic=table.systematic)
    if metric is Metric.SPEED:
        found = at_least(found, limited_services(counted))
    if metric is Metric.CPU and metric is measured.metric:
        served = {one: figure(measured.of(one), Metric.GOODPUT, lambda record: record.goodput) for one in fit.services}
        found = uncontradicted(found, {one: seen for one, seen in served.items() if seen})
    return _Look(reached, level, fit, found)


def uncontradicted(
    found: Mapping[tuple[str, str], Difference], served: Mapping[str, Figure]
) -> Mapping[tuple[str, str], Difference]:
    """Without verdicts by CPU time whose opposite `served`, the services' requests/s, show beyond doubt.

    Who waits for something needs little CPU time, and is not fast for that.
    """

    def told(one: Difference) -> Difference:
        faster, slower = (one.i, one.j) if one.word == FASTER else (one.j, one.i)
        less, more = served.get(faster), served.get(slower)
        if one.word not in (FASTER, SLOWER) or less is None or more is None:
            return one
        opposite = more.mean > CONTRADICTED * less.mean and more.low > less.high
        return replace(one, word=NOT_ENOUGH, more_rounds=math.inf) if opposite else one

    return {pair: told(one) for pair, one in found.items()}


def at_least(
    found: Mapping[tuple[str, str], Difference], limited: Collection[str]
) -> Mapping[tuple[str, str], Difference]:
    """Without the verdicts that do not hold where the speeds of `limited` services are lower bounds.

    Such a service may be shown to be faster than another one, but neither slower nor the same.
    """

    def told(one: Difference) -> Difference:
        allowed = {NOT_ENOUGH} if {one.i, one.j} <= {*limited} else {NOT_ENOUGH, FASTER if one.i in limited else SLOWER}
        return one if not {one.i, one.j} & {*limited} or one.word in allowed else replace(one, word=NOT_ENOUGH)

    return {pair: told(one) for pair, one in found.items()}


def _reached(measured: TableRecords) -> int | None:
    return max((look for look in measured.table.looks if look <= len(measured.rounds)), default=None)


def _is_settled(measured: TableRecords, look: _Look) -> bool:
    """At the last look, or if every difference has its verdict; noise alone may have kept a service out of the fit."""
    if look.rounds is None:
        return False
    if look.rounds >= measured.table.looks[-1]:
        return True
    return look.fit is not None and settled(look.found, look.fit)


def _ranking(
    measured: TableRecords, names: Mapping[str, str], absent: Mapping[str, str], knobs: Mapping[str, Any]
) -> Ranking:
    table, look = measured.table, _look(measured)
    ranked = {one.service: one for one in rank(look.fit, look.level, look.found)} if look.fit else {}
    rows = [
        _row(measured, service, names[service], ranked.get(service), absent=absent, judged=look.rounds is not None)
        for service in table.services
    ]
    rows = [
        replace(row, note="; ".join([*([row.note] * bool(row.note)), *_remarks(measured, row, knobs)])) for row in rows
    ]
    best = next((row.service for row in rows if row.rank == 1), "")
    cheapest = _cheapest(measured, names)
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
        question="",
        rows=tuple(
            replace(row, smallest_visible=_visible(look.found.get((row.service, best)), look))
            for row in sorted(rows, key=lambda row: math.inf if row.rank is None else row.rank)
        ),
        contrasts=tuple(_contrasts(table.services, look)),
        unknown_cpu=measured.unknown_cpu,
        cheapest=cheapest,
        bias=table.bias_words,
        connections_kept=connections_kept(measured.records),
        workers=whole(knobs.get("WORKERS")),
        late=any(record.outcome == MEASURED and not record.window_end for record in measured.records),
    )


def _row(
    measured: TableRecords,
    service: str,
    label: str,
    ranked: RankedService | None,
    *,
    absent: Mapping[str, str],
    judged: bool,
) -> Row:
    own = measured.of(service)
    unused = left_out(own, measured.metric)
    memory = [r.memory_peak_bytes for r in own if r.memory_peak_bytes is not None and not causes_against(r, Metric.CPU)]
    place = ranked if ranked and ranked.rank is not None else None
    notes = [f"{count} of {len(own)} windows left out: {cause}" for cause, count in unused.most_common()]
    if len(own) == sum(unused.values()):
        notes = [_why_none(own, measured.metric, absent.get(service, "not measured"))]
    elif ranked is None:
        notes.insert(0, ALONE)
    elif place is None:
        notes.insert(0, APART)
    bound = next((c.detail for r in own for c in r.causes if c.cause == "loadgen-bound"), None)
    goodput = figure(own, Metric.GOODPUT, lambda record: record.goodput)
    if measured.metric is Metric.SPEED and service in limited_services(own):
        notes.append(f"at least as fast as shown: the load generator is the limit ({bound})")
    elif goodput is None and bound and measured.metric is not Metric.GOODPUT:
        notes.append(f"no requests/s: the load generator is the limit ({bound})")
    notes += idle_words(own) if measured.metric is Metric.SPEED and not measured.table.waits else []
    return Row(
        service=service,
        label=label,
        rank=place.rank if place else None,
        tier=place.tier if place and judged else None,
        difference=place.difference if place else None,
        interval=_finite((place.low, place.high)) if place and judged else None,
        goodput=goodput,
        cpu_us=figure(own, Metric.CPU, lambda record: record.cpu_per_success_s, MICROSECONDS),
        memory_peak_bytes=max(memory, default=None),
        windows=len(own) - sum(unused.values()),
        left_out=sum(unused.values()),
        note="; ".join(notes),
    )


def _remarks(measured: TableRecords, row: Row, knobs: Mapping[str, Any]) -> Iterable[str]:
    """What its processes and its quota say of a ranked service."""
    own = measured.of(row.service)
    if row.rank is None:
        return
    spread = spread_of(own, knobs)
    if spread is not None and spread.uneven:
        yield f"CPU time spread unevenly over its {len(spread.shares)} workers: {spread.words()}"
    yield from throttled_words(own)


def _why_none(own: Sequence[Record], metric: Metric, missing: str) -> str:
    """Why a service has no figure: its first cause with the facts."""
    if not own:
        return missing
    causes = [cause for record in own for cause in causes_against(record, metric)]
    if not causes:
        return "too few responses in every window"
    return f"{causes[0].cause}: {causes[0].detail}"


def _cheapest(measured: TableRecords, names: Mapping[str, str]) -> str:
    """Which services need the least CPU per request: a question of its own, with intervals of its own."""
    if measured.metric is not Metric.SPEED or measured.table.waits:
        return ""
    look = _look(measured, Metric.CPU)
    if look.rounds is None or look.fit is None:
        return ""
    best = [one.service for one in rank(look.fit, look.level, look.found) if one.tier == 1]
    costs = [figure(measured.of(name), Metric.CPU, lambda record: record.cpu_per_success_s) for name in best]
    if not best or any(cost is None for cost in costs):
        return ""
    least, most = (MICROSECONDS * pick(cost.mean for cost in costs if cost) for pick in (min, max))
    needs = f"{digits(least)} µs" if len(best) == 1 else f"{digits(least)} to {digits(most)} µs"
    who = listed([names[name] for name in best])
    tied = f"{who} need{'s' if len(best) == 1 else ''} the least CPU per request ({needs})"
    return f"Cheapest: {tied}{', and are tied' if len(best) > 1 else ''}."


def _contrasts(services: Sequence[str], look: _Look) -> Iterable[Contrast]:
    """Every two services once, in the order of the plan; without a look there is not enough data for any."""
    for number, a in enumerate(services):
        for b in services[number + 1 :]:
            found = look.found.get((b, a))
            if found is None:
                continue
            judged = look.rounds is not None
            yield Contrast(
                a=a,
                b=b,
                verdict=found.word if judged else NOT_ENOUGH,
                difference=_ratio(found.estimate),
                interval=_bounds(found.interval) if judged else None,
                smallest_visible=_visible(found, look),
                more_rounds=int(found.more_rounds) if judged and 0 < found.more_rounds < math.inf else None,
                systematic=_ratio(found.systematic),
            )


def _visible(found: Difference | None, look: _Look) -> float | None:
    """The smallest difference that would have been called, as a ratio - 1; None if this one is."""
    if found is None or not math.isfinite(found.detectable):
        return None
    return None if look.rounds is not None and found.word in (FASTER, SLOWER) else _ratio(found.detectable)


def _bounds(interval: Interval) -> Bounds | None:
    return _finite((_ratio(interval.low), _ratio(interval.high)))


def _finite(bounds: Bounds) -> Bounds | None:
    return bounds if all(map(math.isfinite, bounds)) and bounds[0] > -1 else None


def _ratio(logarithm: float) -> float:
    """The difference as a ratio - 1."""
    return math.expm1(logarithm) if logarithm < 700 else math.inf
