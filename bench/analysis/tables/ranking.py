"""The answer of one table in turns: its services in order, the contrast of every pair, and remarks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations, takewhile

from bench.core.exchange import Wait
from bench.records.record import Cause
from bench.stats.table_verdicts import FASTER, NO_WINNER, SLOWER, TURNED, Difference, ratio
from bench.tools.levels import Level, LoadKey
from bench.tools.parsed import Timed


class Metric(StrEnum):
    """What services are compared by, always as a speed; a metric of which less is better is inverted.

    SPEED ranks tables: successes per second of time that other programs did not take. Tables of runs made before it was
    saved are ranked by CPU, or by GOODPUT if CPU time is unknown. Percentiles of latency do not rank.
    """

    SPEED = "requests/s"
    CPU = "CPU per request"
    GOODPUT = "goodput"
    P50 = "p50"
    P99 = "p99"
    P999 = "p99.9"

    @property
    def less_is_better(self) -> bool:
        """Whether it is the inverse of a speed."""
        return self not in (Metric.SPEED, Metric.GOODPUT)


PERCENTILES = (Metric.P50, Metric.P99, Metric.P999)
"""Of latency, at the same rate for all services of a table; they do not rank services."""

REQUEST = "request"
"""What figures are for, unless the kind of the exchange counts something else."""
Bounds = tuple[float, float]
"""(low, high)."""
HALF = 0.5
UNEVEN = 1.5
"""From this many times the even share on, the busiest worker's share is uneven."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over rounds with its 95 % interval; with fewer than three rounds the lowest and the highest of them."""

    mean: float
    low: float
    high: float


class Unranked(StrEnum):
    """Why a service with figures has no rank."""

    ALONE = "alone"
    """There is nothing to compare it with."""
    APART = "apart"
    """It never shared a window with the others."""
    THIN = "thin"
    """It has figures in one round only."""


@dataclass(frozen=True, slots=True)
class NoFigure:
    """Why a service has no figure.

    `why`: the first cause against its windows; as text, why it was not measured (empty: unknown); None if every window
    had too few responses.
    """

    why: Cause | str | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many of a service's windows do not count for the ranking because of one cause."""

    windows: int
    of: int
    cause: str


@dataclass(frozen=True, slots=True)
class ByLoadgen:
    """The load generator was the limit in `windows` windows (`detail`): requests/s are a lower bound."""

    windows: int
    of: int
    detail: str


@dataclass(frozen=True, slots=True)
class Idles:
    """A service was busy for this share of its turns; `response_s`: how long a response took, None if unknown.

    `others`: the most of its CPUs that other programs had, if they may have had all that it did not use.
    """

    busy: float
    response_s: float | None
    others: float | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """The workers' mean shares of CPU time over the windows, the busiest first."""

    shares: tuple[float, ...]

    @property
    def uneven(self) -> bool:
        """Whether one worker had much more than the even share."""
        return self.shares[0] * len(self.shares) > UNEVEN


@dataclass(frozen=True, slots=True)
class Throttled:
    """How long a CPU quota throttled a service in a window; None if unknown, and `unknown` says why."""

    seconds: float | None
    unknown: str = ""


Remark = Unranked | NoFigure | LeftOut | ByLoadgen | Idles | Spread | Throttled
"""A remark on a service, beside its figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """A service of a table.

    `difference`: from the best, as a ratio - 1 of the metric as a speed (-0.05: 5 % less), with its simultaneous
    `interval`. No service of a `tier` is shown to be slower than the first of it. A service without a rank has none of
    these, and its remarks say why. `smallest_visible`: the smallest difference from the best that is detectable with
    90 % power; None if the difference is called. `windows` counted for the ranking, `left_out` did not.
    """

    service: str
    rank: int | None
    tier: int | None
    difference: float | None
    interval: Bounds | None
    goodput: Figure | None
    cpu_us: Figure | None
    memory_loaded_bytes: int | None
    windows: int
    left_out: int
    remarks: tuple[Remark, ...] = ()
    smallest_visible: float | None = None

    @property
    def lower_bound(self) -> bool:
        """Whether its requests/s are a lower bound."""
        return any(isinstance(one, ByLoadgen) for one in self.remarks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """B relative to A: `difference` is B/A - 1 of the metric as a speed, and `verdict` is about B.

    `smallest_visible`: the smallest difference that is detectable with 90 % power; None if it is called. `more_rounds`
    would probably settle it; None if it is decided, or no number can be given.
    """

    a: str
    b: str
    verdict: str
    difference: float
    interval: Bounds | None
    smallest_visible: float | None
    more_rounds: int | None = None

    @property
    def called(self) -> bool:
        """Whether one of the two is shown to be faster."""
        return self.verdict in (FASTER, SLOWER)

    @property
    def turned(self) -> Contrast:
        """The same contrast, as A relative to B."""
        ends = self.interval and (_inverse(self.interval[1]), _inverse(self.interval[0]))
        a, b, verdict = self.b, self.a, TURNED[self.verdict]
        return replace(self, a=a, b=b, verdict=verdict, difference=_inverse(self.difference), interval=ends)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Services with one contrast for every pair."""

    contrasts: tuple[Contrast, ...]

    @cached_property
    def _by_pair(self) -> dict[tuple[str, str], Contrast]:
        return {(one.a, one.b): one for one in self.contrasts}

    def ahead(self, service: str, base: str) -> Contrast | None:
        """A service relative to another, whichever way round the pair was judged; None if it was not."""
        if (service, base) in self._by_pair:
            return self._by_pair[service, base].turned
        return self._by_pair.get((base, service))

    def apart(self, a: str, b: str) -> bool:
        """Whether the verdict tells two services apart."""
        found = self.ahead(a, b)
        return found is not None and found.called

    def lead(self, service: str, base: str) -> Contrast | None:
        """The contrast, if the service is shown to be faster than the other."""
        gap = self.ahead(service, base)
        return gap if gap and gap.called and gap.difference > 0 else None

    def front(self, services: Sequence[str]) -> list[str]:
        """The first service and those behind it, up to the first that is shown to differ from it."""
        return [*takewhile(lambda name: not self.apart(services[0], name), services)]

    def farthest(self, pairs: Iterable[tuple[str, str]]) -> float | None:
        """The largest difference, either way, within the intervals of these pairs; None if one has no interval."""
        intervals = [found.interval if (found := self.ahead(a, b)) else None for a, b in pairs]
        ends = [max(abs(low), abs(high)) for low, high in filter(None, intervals)]
        return max(ends) if ends and len(ends) == len(intervals) else None


@dataclass(frozen=True, kw_only=True)
class Percentile(Compared):
    """A percentile of latency over all rounds merged, in seconds by service; `missing`: why others have none.

    `at_most`: upper bounds for some of the missing ones, whose requests were sent late; bounds are not compared.
    """

    metric: Metric
    figures: Mapping[str, Figure]
    missing: Mapping[str, str]
    at_most: Mapping[str, float] = field(default_factory=dict)

    @property
    def ordered(self) -> list[str]:
        """The services with a figure, the lowest first."""
        return sorted(self.figures, key=lambda name: (self.figures[name].mean, name))


@dataclass(frozen=True, kw_only=True)
class TableLatency:
    """Latency of a table's services at one rate (open loop, 1/s), each loaded alone while the others were stopped.

    `timed`: what took so long. Streams with a pace of their own have these at the table's own level, and no `rate`.
    The rate is `share` of the speed of `slowest`, or with `by_client` the most that the load tool is asked for. It is
    None if there is none; `reason` says why. `rounds`: of each service, in every figure and bound of it. `left_out`:
    services that would drag the rate down, or have no speed.
    `confidence`: of all intervals of a percentile's differences together. `client_core_ratio`: the share of a core that
    the tool needs for 1,000 requests/s, on average.
    """

    tool: str
    level: Level
    share: float
    rate: float | None
    rounds: Mapping[str, int]
    slowest: str | None = None
    by_client: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    confidence: float = 0.95
    client_core_ratio: float | None = None
    percentiles: tuple[Percentile, ...] = ()
    timed: Timed = Timed.RESPONSE

    @property
    def of_knee(self) -> bool:
        """Whether the rate is a share of the lowest knee instead of a speed."""
        return self.level.knee_share is not None

    def of(self, metric: Metric) -> Percentile | None:
        """A percentile, if any service has it."""
        return next((one for one in self.percentiles if one.metric is metric and one.figures), None)

    @property
    def tail(self) -> Percentile | None:
        """Its p99, or p50 if no service has a p99."""
        return self.of(Metric.P99) or self.of(Metric.P50)


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The service that needs the least CPU per request (µs), and those behind it that are not shown to need more."""

    services: tuple[str, ...]
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The first services of a table, which serve nearly all that connections and wait allow (`rate`, 1/s), and idle.

    `share`: the least that one served of that; `busy`: the most that one used of its CPUs. With `enough` connections,
    the one that needs the least CPU would be busy.
    """

    services: int
    rate: float
    connections: int
    share: float
    busy: float
    enough: int


@dataclass(frozen=True, kw_only=True)
class Ranking(Compared):
    """A table's answer. Rows are in the order of their rank, those without one last.

    `look`: the number of rounds that the verdicts rest on; None before the first of `looks`. `confidence`: of all its
    intervals together. `unknown_cpu`: why requests/s are compared although servers do not wait; empty otherwise.
    `bias`: by how much taking turns shifts the ratio of two of its services at most, as a ratio - 1, as measured in the
    run; figures are corrected by it; None if it was not measured. `credit`: how many more requests/s idle services may
    have served without other programs, at most, as a ratio - 1. `drift`: how requests/s of all services changed from
    the first to the last round, as a ratio - 1; None if no change is shown. `connections_kept`: whether the load tool
    asked for persistent connections; `workers`: how many each service has; None if unknown.
    `latencies`: at each of the common rates of its services.
    """

    scenario: str
    tool: str
    level: Level
    metric: Metric
    rounds: int
    looks: tuple[int, ...]
    look: int | None
    confidence: float
    settled: bool
    rows: tuple[RankedRow, ...]
    unknown_cpu: str = ""
    cheapest: Cheapest | None = None
    rate: float | None = None
    """Requests/s of a table at a common rate."""
    wait: Wait | None = None
    """What every response waits for."""
    unit: str = REQUEST
    """What its figures are for."""
    bias: float | None = None
    credit: float = 0.0
    drift: float | None = None
    connections_kept: bool | None = None
    workers: int | None = None
    ceiling: Ceiling | None = None
    latencies: tuple[TableLatency, ...] = ()

    @property
    def latency(self) -> TableLatency | None:
        """At half of the slowest service's speed if possible, else at the first rate."""
        return next((one for one in self.latencies if one.share == HALF), next(iter(self.latencies), None))

    @property
    def tail(self) -> Percentile | None:
        """The percentile that the table's rows have."""
        return self.latency.tail if self.latency else None

    @property
    def table(self) -> LoadKey:
        """The load of its table."""
        return LoadKey(self.scenario, self.tool, self.level)


def contrasts_of(
    services: Iterable[str], differences: Mapping[tuple[str, str], Difference], judged: bool = True
) -> tuple[Contrast, ...]:
    """Every pair once, in the order of the plan; if they are not `judged` yet, there is not enough data for any."""
    pairs = (differences[b, a] for a, b in combinations(services, 2) if (b, a) in differences)
    return tuple(_contrast(difference, judged) for difference in pairs)


def _contrast(difference: Difference, judged: bool) -> Contrast:
    return Contrast(
        a=difference.j,
        b=difference.i,
        verdict=difference.word if judged else NO_WINNER,
        difference=ratio(difference.estimate),
        interval=finite((ratio(difference.interval.low), ratio(difference.interval.high))) if judged else None,
        smallest_visible=smallest_visible(difference, judged),
        more_rounds=int(difference.more_rounds) if judged and 0 < difference.more_rounds < math.inf else None,
    )


def smallest_visible(difference: Difference | None, judged: bool) -> float | None:
    """The smallest detectable difference, as a ratio - 1; None if the pair is called."""
    if difference is None or (judged and difference.word in (FASTER, SLOWER)):
        return None
    seen = ratio(difference.detectable)
    return seen if math.isfinite(seen) else None


def finite(bounds: Bounds) -> Bounds | None:
    """Bounds of a ratio - 1; None if one of them is unknown."""
    return bounds if all(map(math.isfinite, bounds)) and bounds[0] > -1 else None


def _inverse(difference: float) -> float:
    return 1 / (1 + difference) - 1
