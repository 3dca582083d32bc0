"""Latency of a table's services at their common rates: merged percentiles and verdicts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from bench.analysis.causes import HARMLESS_TO_LATENCY, causes_beside
from bench.analysis.cells.latency import Distribution, merge, read_distribution, read_distributions
from bench.analysis.tables.ranking import PERCENTILES, Figure, Metric, Percentile, TableLatency, contrasts_of
from bench.core.files import as_object, read_bytes
from bench.records.record import MEASURED, Record
from bench.run.common_rates import CommonRates, common_rates, path_of
from bench.run.facts import PlannedTable, RunFacts
from bench.stats.table_quantiles import LEAST_ROUNDS, differences_of, family_level, merged_interval
from bench.tools.levels import Level, LoadKey
from bench.tools.parsed import Timed
from bench.tools.send_lag import SHARES, quantile_of

CONFIDENCE = 0.95
"""For the interval of a single service's percentile."""


@dataclass(frozen=True, slots=True)
class AtCommonRates:
    """A run's loads at common rates: distributions by the record's id, and the rates of each table.

    `paced`: the same of streams with a pace of their own, whose tables are at such a rate themselves, by what is timed.
    """

    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    rates: Mapping[LoadKey, CommonRates] = field(default_factory=dict)
    paced: Mapping[Timed, Mapping[str, Distribution]] = field(default_factory=dict)


NOTHING_LOADED = AtCommonRates()


def read_at_common_rates(path: str, facts: RunFacts, records: Iterable[Record]) -> AtCommonRates:
    """The loads at common rates of a run's tables, from the run's folder."""
    records, tables = [*records], [table for table in facts.tables if table.shares]
    decided = {one.key: common_rates(as_object(read_bytes(f"{path}/{path_of(one.key)}") or b"")) for one in tables}
    found = {one.id: read_distribution(path, one) for one in records if one.mode == "rate" and tables}
    distributions = {name: one for name, one in found.items() if one}
    paced: dict[Timed, dict[str, Distribution]] = defaultdict(dict)
    for record in records:
        # What took turns has no latencies.
        if record.mode == "turns" and record.latency_s["max"] is not None:
            for timed, one in read_distributions(path, record).items():
                paced[timed][record.id] = one
    return AtCommonRates(distributions, {key: rates for key, rates in decided.items() if rates}, paced)


def latencies_of(table: PlannedTable, records: Iterable[Record], loaded: AtCommonRates) -> tuple[TableLatency, ...]:
    """Latency at each common rate of a table, or of its own load if that is at one; pure.

    Empty before a rate is decided.
    """
    of_table = [one for one in records if one.scenario == table.scenario and one.service in table.services]
    if (rates := loaded.rates.get(table.key)) is None:
        own = [one for one in of_table if one.mode == "turns" and one.level == table.level]
        timed = [(what, found) for what, found in loaded.paced.items() if any(one.id in found for one in own)]
        return tuple(_paced(table, what, own, found) for what, found in timed)
    at_rate = [one for one in of_table if one.mode == "rate"]
    by_level = {level: [record for record in at_rate if record.level == level] for level in table.shares}
    return tuple(_at(table, level, rates, own, loaded.distributions) for level, own in by_level.items())


def _at(
    table: PlannedTable,
    level: Level,
    rates: CommonRates,
    records: Iterable[Record],
    distributions: Mapping[str, Distribution],
) -> TableLatency:
    # Common rates that are not ranked as tables of their own share the 5 % of this one.
    levels = 1 if any(table.at_rates) else len(table.shares)
    latency = TableLatency(
        tool=rates.client,
        level=level,
        share=level.share or level.knee_share or math.nan,
        rate=rates.rates.get(level.text),
        rounds={},
        slowest=rates.knees.get(level.text, rates.slowest),
        by_client=level.text in rates.capped,
        left_out=rates.left_out,
        reason=rates.reason or "",
    )
    return _measured(latency, table.services, records, distributions, levels)


def _paced(
    table: PlannedTable, timed: Timed, records: Iterable[Record], distributions: Mapping[str, Distribution]
) -> TableLatency:
    latency = TableLatency(tool=table.tool, level=table.level, share=math.nan, rate=None, rounds={}, timed=timed)
    return _measured(latency, table.services, records, distributions, len(Timed) - 1)


def _measured(
    latency: TableLatency,
    services: Sequence[str],
    records: Iterable[Record],
    distributions: Mapping[str, Distribution],
    families: int,
) -> TableLatency:
    """With its percentiles; `families` of them share the 5 % of a table."""
    rounds: dict[str, dict[int, Distribution]] = defaultdict(dict)
    why: dict[str, str] = {}
    needs: list[float] = []
    for record in records:
        needs += [] if record.client_core_ratio is None else [record.client_core_ratio]
        distribution = distributions.get(record.id)
        against = causes_beside(record, HARMLESS_TO_LATENCY)
        if distribution and distribution.requests and not against:
            rounds[record.service][record.round] = distribution
        elif record.outcome == MEASURED:
            cause = f"{against[0].cause}: {against[0].detail}" if against else "no latencies were saved"
            why.setdefault(record.service, f"round {record.round}: {cause}")
    missing = {**why, **latency.left_out}
    # Half of a stream's events may be on time or, if its first one was late, even before it: only the tail tells.
    metrics = PERCENTILES[1:] if latency.timed is Timed.EVENT else PERCENTILES
    percentiles = [_percentile(metric, services, rounds, missing) for metric in metrics]
    known = [one for one in percentiles if one.figures or one.at_most]
    confidence = family_level(families * sum(bool(one.figures) for one in known))
    return replace(
        latency,
        rounds={name: len(rounds.get(name, ())) for name in services if name not in latency.left_out},
        confidence=confidence,
        client_core_ratio=fmean(needs) if needs else None,
        percentiles=tuple(_judged(one, rounds, services, confidence) for one in known),
    )


def _percentile(
    metric: Metric, services: Iterable[str], rounds: Mapping[str, Mapping[int, Distribution]], why: Mapping[str, str]
) -> Percentile:
    """The merged figures and bounds, without verdicts. They have every round in which the load ran; or `why` not."""
    figures, missing, at_most = dict[str, Figure](), dict[str, str](), dict[str, float]()
    for service in services:
        distributions = rounds.get(service, {})
        if service in why or len(distributions) < LEAST_ROUNDS:
            missing[service] = why.get(service, f"{len(distributions)} of at least {LEAST_ROUNDS} rounds")
            continue
        merged = merge(distributions.values())
        if (seconds := merged.percentiles_s[metric]) is None:
            missing[service] = merged.missing[metric]
            at_most |= {service: merged.bounds_s[metric]} if metric in merged.bounds_s else {}
            continue
        interval = merged_interval(seconds, _values(metric, distributions).values(), CONFIDENCE)
        low, high = (interval.low, interval.high) if interval else (seconds, seconds)
        figures[service] = Figure(seconds, low, high)
    return Percentile(metric=metric, figures=figures, missing=missing, contrasts=(), at_most=at_most)


def _values(metric: Metric, rounds: Mapping[int, Distribution]) -> dict[int, float]:
    return {turn: quantile_of(one.counts, SHARES[metric]) / 1e9 for turn, one in rounds.items()}


def _judged(
    percentile: Percentile, rounds: Mapping[str, Mapping[int, Distribution]], services: Iterable[str], confidence: float
) -> Percentile:
    values = {name: _values(percentile.metric, rounds[name]) for name in percentile.figures}
    differences = differences_of(values, {name: figure.mean for name, figure in percentile.figures.items()}, confidence)
    return replace(percentile, contrasts=contrasts_of(services, differences))
