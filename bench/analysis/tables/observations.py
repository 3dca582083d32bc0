"""The windows of a table in turns: which ones count, by which metric, and the figures of each service.

Validity is judged for each figure: noise of the host is in the intervals, and a load generator at its limit makes
requests/s a lower bound. A figure is the mean of all windows of a service, or there is none: no window is left out of a
mean because of how it came out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from statistics import fmean, stdev

from bench.analysis.causes import ASKED, HARMLESS_TO_MEANS, causes_beside
from bench.analysis.tables.ranking import Figure, Metric
from bench.core.groups import grouped
from bench.plan.measurement import IN_BLOCKS
from bench.records.outcome import NOT_RUN
from bench.records.record import Cause, Record
from bench.run.facts import PlannedTable
from bench.stats.estimates import t_quantile
from bench.stats.table_fit import Observation
from bench.tools import TOOLS
from bench.validity.run_rules import BOUND, BUSY, LEAST_SUCCESSES

LEAST_PER_CONNECTION = 2
"""A window with fewer successes for each connection does not count, nor one with fewer than LEAST_SUCCESSES."""
LEAST_SENT = 0.9
"""From this share of a common rate on, a request costs about as much as at the whole rate."""
CONFIDENCE = 0.95
"""For the interval of a single service's figure."""
FIELDS = {Metric.SPEED: "speed", Metric.CPU: "cpu_per_success_s", Metric.GOODPUT: "goodput"}
"""The field of a record with this metric; `steady_` before it gives that of the steady part of its window."""


@dataclass(frozen=True, slots=True)
class TableRecords:
    """What was measured of a table."""

    table: PlannedTable
    records: tuple[Record, ...]

    @property
    def metric(self) -> Metric:
        """Speed if all windows have it; else CPU per request or goodput.

        Runs made before speed was saved use CPU per request if the servers do not wait and all their CPU counters are
        known. At a rate, requests/s are those of the rate, so only CPU per request can differ.
        """
        whole = [record for record in self.records if not causes_against(record, Metric.CPU)]
        if whole and all(record.speed for record in whole if record.successes):
            return Metric.SPEED
        if any(record.rate for record in self.records):
            return Metric.CPU
        known = bool(whole) and all(record.cpu_per_success_s for record in whole if record.successes)
        return Metric.CPU if known and not self.table.waits else Metric.GOODPUT

    @property
    def unknown_cpu(self) -> str:
        """Why goodput is the metric although servers do not wait; empty otherwise."""
        if self.table.waits or self.metric is not Metric.GOODPUT:
            return ""
        whole = (record for record in self.records if record.successes and not causes_against(record, Metric.CPU))
        return next((r.nulls["cpu_per_success_s"] for r in whole if not r.cpu_per_success_s), "")

    @property
    def rounds(self) -> tuple[int, ...]:
        """The complete rounds: the last one only if it has every service of the round before."""
        rounds = grouped(self.records, lambda record: record.round)
        by_round = {number: {record.service for record in of_round} for number, of_round in rounds.items()}
        numbers = sorted(by_round)
        if len(numbers) > 1 and not by_round[numbers[-1]] >= by_round[numbers[-2]]:
            numbers.pop()
        return tuple(numbers)

    def of(self, service: str) -> list[Record]:
        """The records of one service."""
        return [record for record in self.records if record.service == service]


def by_table(tables: Sequence[PlannedTable], records: Iterable[Record]) -> list[TableRecords]:
    """The records of each table, except those of windows that never began."""
    began = (record for record in records if record.mode in IN_BLOCKS and record.outcome != NOT_RUN)
    by_load = grouped(began, lambda record: record.load)
    return [TableRecords(t, tuple(r for r in by_load.get(t.key, ()) if r.service in t.services)) for t in tables]


def causes_against(record: Record, metric: Metric) -> list[Cause]:
    """The causes that affect this figure of a record."""
    harmless = HARMLESS_TO_MEANS
    means = metric in (Metric.CPU, Metric.GOODPUT)
    if means and record.mode == "rate" and (record.sent_rate or 0) >= LEAST_SENT * (record.rate or 0):
        # Requests that were sent late change latencies, but hardly the cost of a request.
        harmless |= {ASKED}
    return causes_beside(record, harmless)


def is_thin(record: Record) -> bool:
    """Whether a window has too few successes to count."""
    successes = record.successes or 0
    return successes < LEAST_SUCCESSES or successes < LEAST_PER_CONNECTION * (record.connections or 0)


def value_of(record: Record, metric: Metric) -> float | None:
    """The figure as the logarithm of a speed; None if the window does not count or has no such figure."""
    counts = not causes_against(record, metric) and not is_thin(record)
    return _as_speed(getattr(record, FIELDS[metric]), metric) if counts else None


def _as_speed(read: float | None, metric: Metric) -> float | None:
    if not read or not math.isfinite(read):
        return None
    return -math.log(read) if metric is Metric.CPU else math.log(read)


def observations(records: Iterable[Record], metric: Metric) -> list[Observation]:
    """The values of each service in the windows that count."""
    numbers: dict[tuple[int, int | None, int | None], int] = {}
    by_window: dict[tuple[int, str], Observation] = {}
    for record in records:
        if (value := value_of(record, metric)) is not None:
            window = numbers.setdefault((record.round, record.block, record.window), len(numbers))
            steady = _as_speed(getattr(record, f"steady_{FIELDS[metric]}"), metric)
            by_window[window, record.service] = Observation(record.round, window, record.service, value, steady=steady)
    return list(by_window.values())


def limited_services(records: Iterable[Record]) -> frozenset[str]:
    """Services that the load generator limited in any window: their requests/s are a lower bound."""
    return frozenset(record.service for record in records if bound_by_loadgen(record))


@dataclass(frozen=True, slots=True)
class Credits:
    """By how much the logarithm of each service's speed exceeds that of its requests/s, averaged over its windows.

    The difference is time in which it was ready to run while other programs had the CPU. A busy server lost that time;
    one that idles may have caught up, for instance if its responses take a fixed time.
    """

    by_service: Mapping[str, float] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()

    def of_pair(self, a: str, b: str) -> tuple[float, float]:
        """The credits of two services that are in doubt: none if both were always busy."""
        return (self.by_service.get(a, 0.0), self.by_service.get(b, 0.0)) if self.idle & {a, b} else (0.0, 0.0)

    @property
    def largest(self) -> float:
        """The largest credit of an idle service."""
        return max((self.by_service[name] for name in self.idle), default=0.0)

    def in_order(self, speeds: Mapping[str, float]) -> list[str]:
        """The services, the fastest first, from the logarithms of their speeds.

        Two that are always busy are in the order of their speeds, all others in that of the requests that they served.
        """
        ordered = sorted(speeds, key=lambda name: (-speeds[name], name))
        served = {name: speeds[name] - self.by_service.get(name, 0.0) for name in speeds}
        busy = [name for name in ordered if name not in self.idle]
        idle = sorted((name for name in ordered if name in self.idle), key=lambda name: (-served[name], name))
        return [*merge(busy, idle, key=lambda name: -served[name])]


def credits_of(records: Iterable[Record]) -> Credits:
    """The credits for CPU time that other programs took, in a table ranked by speed."""
    gained: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        speed = value_of(record, Metric.SPEED)
        if speed is not None and record.goodput:
            gained[record.service].append((speed - math.log(record.goodput), record.server_busy_ratio or 0.0))
    means = {service: (fmean(by for by, _ in own), fmean(busy for _, busy in own)) for service, own in gained.items()}
    idle = frozenset(service for service, (_, busy) in means.items() if busy < BUSY)
    return Credits({service: max(0.0, by) for service, (by, _) in means.items()}, idle)


def bound_by_loadgen(record: Record) -> bool:
    """Whether the load generator was the limit of a window."""
    return any(cause.cause == BOUND for cause in record.causes)


def connections_kept(records: Iterable[Record]) -> bool | None:
    """Whether the load tool asks for persistent connections; None if unknown or not the same for all."""
    kept = {TOOLS[record.tool].keeps_alive(record.command) for record in records if record.command}
    return kept.pop() if len(kept) == 1 else None


def left_out(records: Iterable[Record], metric: Metric) -> Counter[str]:
    """How many windows do not count, by reason."""
    reasons: Counter[str] = Counter()
    for record in records:
        if value_of(record, metric) is None:
            causes = causes_against(record, metric)
            reasons[causes[0].cause if causes else "too few responses" if is_thin(record) else f"no {metric}"] += 1
    return reasons


def figure(records: Iterable[Record], metric: Metric, scale: float = 1.0) -> Figure | None:
    """A metric of a service averaged over rounds, in seconds or 1/s times `scale`; None unless all its windows have it.

    Windows with few responses count here: without them the mean would be that of the fast windows.
    """
    rounds: dict[int, list[float]] = defaultdict(list)
    records = [*records]
    for record in records:
        value: float | None = getattr(record, FIELDS[metric])
        if value is None or causes_against(record, metric):
            return None
        rounds[record.round].append(value * scale)
    if all(map(is_thin, records)):
        return None
    means = [fmean(values) for values in rounds.values()]
    if len(means) < 3:
        return Figure(fmean(means), min(means), max(means))
    half = t_quantile(CONFIDENCE, len(means) - 1) * stdev(means) / math.sqrt(len(means))
    return Figure(fmean(means), max(0.0, fmean(means) - half), fmean(means) + half)
