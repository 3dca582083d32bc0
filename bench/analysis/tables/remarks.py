"""Remarks on the services of a table in turns, beside their figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from bench.analysis.tables.observations import TableRecords, bound_by_loadgen, causes_against, left_out, value_of
from bench.analysis.tables.ranking import (
    ByLoadgen,
    Idles,
    LeftOut,
    Metric,
    NoFigure,
    Remark,
    Spread,
    Throttled,
    Unranked,
)
from bench.matrix.knobs import CPU_QUOTA
from bench.plan.cpus import server_cpus
from bench.records.counters import whole
from bench.records.record import MEASURED, Record
from bench.run.facts import RunFacts
from bench.stats.table_verdicts import RankedService
from bench.validity.run_rules import BOUND, BUSY, workers_of


def remarks_on(
    measured: TableRecords, service: str, ranked: RankedService | None, *, absent: str, facts: RunFacts
) -> Iterator[Remark]:
    """The remarks on a service, starting with what keeps it from a rank; `absent`: why it has no record."""
    records, metric = measured.of(service), measured.metric
    unused = left_out(records, metric)
    has_rank = ranked is not None and ranked.rank is not None
    if len(records) == unused.total():
        causes = (cause for record in records for cause in causes_against(record, metric))
        yield NoFigure(next(causes, None) if records else absent)
    else:
        if not has_rank:
            yield Unranked.ALONE if ranked is None else Unranked.THIN if ranked.thin else Unranked.APART
        yield from (LeftOut(count, len(records), cause) for cause, count in unused.most_common())
    if bounds := [cause.detail for record in records for cause in record.causes if cause.cause == BOUND]:
        yield ByLoadgen(len(bounds), len(records), bounds[0])
    if metric is Metric.SPEED and not measured.table.waits:
        yield from _idles(records, facts)
    if has_rank:
        spread = spread_of(records, facts.knobs)
        if spread is not None and spread.uneven:
            yield spread
        yield from throttled(records)


def throttled(records: Iterable[Record]) -> Iterator[Throttled]:
    """How long the kernel throttled a service with a CPU quota, on average over its windows; none without a quota."""
    with_quota = [record for record in records if CPU_QUOTA in record.settings]
    if spans := [record.throttled_s for record in with_quota if record.throttled_s is not None]:
        yield Throttled(fmean(spans))
    elif with_quota:
        yield Throttled(None, with_quota[0].nulls["throttled_s"])


def _idles(records: Sequence[Record], facts: RunFacts) -> Iterator[Idles]:
    """A remark if a service idles under load and the load generator does not explain it.

    Whether it waited for its CPU is only estimated, so where other programs may have had all that it did not use, they
    are named instead.
    """
    seen = [record for record in records if value_of(record, Metric.SPEED) is not None]
    if not seen or any(map(bound_by_loadgen, seen)):
        return
    busy = fmean(record.server_busy_ratio or 0.0 for record in seen)
    if busy < BUSY:
        each = [record.connections / record.goodput for record in seen if record.connections and record.goodput]
        cpus = whole(facts.host.get("cpus")) or 1
        of_host = (server_cpus(facts.knobs) or cpus) / cpus
        others = fmean((record.foreign_ratio or 0.0) + (record.steal_ratio or 0.0) for record in seen) / of_host
        used = busy * fmean((record.goodput or 0.0) / (record.speed or math.inf) for record in seen)
        if used + others >= BUSY:
            yield Idles(used, None, min(others, 1 - used))
        else:
            yield Idles(busy, fmean(each) if each else None)


LEAST_S = 0.1
"""Ten clock ticks: shares of less CPU time would mean nothing."""


def spread_of(records: Iterable[Record], knobs: Mapping[str, Any]) -> Spread | None:
    """The spread in the records of one service; None if it has one worker, or too little CPU time was counted.

    A service has other processes too (a parent, an init): as many as it was asked to have workers are taken for
    workers, those that used most CPU time. A worker that did nothing counts as 0.
    """
    windows: list[list[float]] = []
    for record in records:
        workers = workers_of(record, knobs)
        used = [*(record.process_cpu_s or ())][:workers]
        if record.outcome == MEASURED and workers > 1 and sum(used) >= LEAST_S:
            used += [0.0] * (workers - len(used))
            windows.append([one / sum(used) for one in used])
    if not windows or len({len(shares) for shares in windows}) > 1:
        return None
    return Spread(tuple(fmean(shares) for shares in zip(*windows, strict=True)))
