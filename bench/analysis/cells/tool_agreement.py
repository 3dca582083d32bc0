"""The same cell measured by several tools: disagreements beyond noise, and their known causes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev

from bench.analysis.cells.cell import Cell, FigureOf, goodput
from bench.core.formats import milliseconds, number, share
from bench.records.record import Record
from bench.stats.estimates import t_quantile
from bench.tools import TOOLS

CONFIDENCE = 0.95
LEAST = 0.01
"""Smallest relative difference of two means that is reported; less may be rounding of times and counts."""


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """Mean of a figure over the rounds; `low` and `high` are None if there is only one round."""

    mean: float
    low: float | None
    high: float | None

    def meets(self, other: MeanInterval) -> bool | None:
        """Whether the intervals overlap; None if one of them is unknown."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return None
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of the tables: its name and how it is formatted."""

    name: str
    figure: FigureOf
    write: Callable[[float], str]
    share: bool = False


def success(record: Record) -> float | None:
    """Share of the attempts that got the expected response."""
    return record.successes / record.attempts if record.successes is not None and record.attempts else None


def _client_cpu(record: Record) -> float | None:
    return record.loadgen_cpu_s / record.successes if record.loadgen_cpu_s is not None and record.successes else None


RATE = Compared("requests/s", goodput, number)
LATENCY = Compared("mean latency", lambda record: record.latency_s["mean"], milliseconds)
SERVER = Compared("server CPU/request", lambda record: record.cpu_per_success_s, milliseconds)
CLIENT = Compared("client CPU/request", _client_cpu, milliseconds)
PEAK = (RATE, LATENCY, SERVER)
HELD = (Compared("success", success, share, share=True), RATE, SERVER)


@dataclass(frozen=True, slots=True)
class Known:
    """Why a tool's figure may differ: `holds` checks a record for it; empty `figures` means any figure."""

    tool: str
    words: str
    figures: tuple[str, ...] = ()
    holds: Callable[[Record], object] = lambda record: True


def _fewer_than_requested(record: Record) -> bool:
    return bool(record.count and record.attempts is not None and record.attempts < record.count)


def _held(record: Record) -> bool:
    return record.rate is not None


KNOWN = (
    Known("ab", "ab is single-threaded and uses HTTP/1.0"),
    Known("ab", "ab counts one reset up to three times", holds=lambda r: r.errors.get("read")),
    Known("wrk", "wrk adds samples for requests that a stall delayed", (LATENCY.name,)),
    Known("wrk", "wrk's own rate includes 4xx and 5xx", holds=lambda r: r.errors.get("non2xx")),
    Known(
        "wrk",
        "wrk counts late responses as timeouts, and ignores those that never come",
        holds=lambda r: r.errors.get("timeout"),
    ),
    Known(
        "hey",
        "hey's own rate includes refused connections, timeouts and 5xx",
        holds=lambda r: r.errors.get("non2xx") or r.errors.get("timeout"),
    ),
    Known("hey", "hey sends each connection the same whole number of requests", holds=_fewer_than_requested),
    Known("hey", "hey keeps at most 1,000,000 results", holds=lambda r: (r.requests or 0) >= 1_000_000),
    Known("hey", "hey limits the rate per connection and does not catch up after a delay", (RATE.name,), _held),
    Known("hey", "hey's connections send in step, so requests come in bursts", (SERVER.name,), _held),
    Known("vegeta", "vegeta spaces its requests evenly, however fast the responses are", (RATE.name, SERVER.name)),
)
"""Known behaviour of the tools; an entry with `holds` is only reported if a record shows it."""


def mean_interval(values: Sequence[float], *, logarithms: bool = False) -> MeanInterval:
    """Mean and t interval of at least one value; a single point if all rounds are the same."""
    if logarithms and min(values) > 0:
        found = mean_interval([math.log(value) for value in values])
        ends = (None if end is None else math.exp(min(end, 700)) for end in (found.low, found.high))
        return MeanInterval(math.exp(found.mean), *ends)
    mean = fmean(values)
    if len(values) < 2:
        return MeanInterval(mean, None, None)
    spread = stdev(values)
    if spread == 0:
        return MeanInterval(mean, mean, mean)
    half = t_quantile(CONFIDENCE, len(values)) * spread / math.sqrt(len(values))
    return MeanInterval(mean, mean - half, mean + half)


def figures_of(cells: Sequence[Cell]) -> tuple[Compared, ...]:
    """What is compared: the peak of closed loops, or how well a target rate was kept."""
    return HELD if cells[0].first.rate is not None else PEAK


def interval_of(cell: Cell, compared: Compared) -> MeanInterval | None:
    """The figure of a cell; None if no valid round has it."""
    values = [value for record in cell.valid if (value := compared.figure(record)) is not None]
    if not values:
        return None
    found = mean_interval(values, logarithms=not compared.share)
    # Rounds do not show the tool's rounding error, which is the same in each of them.
    digit = TOOLS[cell.first.tool].latency_digit_s if compared is LATENCY else 0.0
    if not digit or found.low is None or found.high is None:
        return found
    return MeanInterval(found.mean, max(0.0, found.low - digit), found.high + digit)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A figure in which two tools differ beyond their noise: the ratio of `other` to `one`, and the known causes."""

    figure: str
    one: str
    other: str
    ratio: float
    causes: tuple[Known, ...]


def disagreements(cells: Sequence[Cell]) -> Iterator[Disagreement]:
    """All disagreements between cells of one load that differ only in their tool."""
    for compared in figures_of(cells):
        for one, other in combinations(cells, 2):
            first, second = interval_of(one, compared), interval_of(other, compared)
            if first is None or second is None or first.meets(second) is not False or not first.mean:
                continue
            ratio = second.mean / first.mean
            if abs(ratio - 1) >= LEAST:
                causes = (*_causes((one, other), compared),)
                yield Disagreement(compared.name, one.first.tool, other.first.tool, ratio, causes)


def _causes(cells: Iterable[Cell], compared: Compared) -> Iterator[Known]:
    for cell in cells:
        for known in KNOWN:
            about = known.tool == cell.first.tool and (not known.figures or compared.name in known.figures)
            if about and any(known.holds(record) for record in cell.valid):
                yield known
