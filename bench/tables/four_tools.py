"""The same cell by several tools: what each says, and where they disagree by more than their own noise.

A tool's interval is the t interval of its mean over the rounds; of rates and times on the scale of logarithms, where
noise is a factor, so that the mean is the geometric one. Two tools disagree on a figure where their intervals do
not meet and their means are at least `LEAST` apart: both are printed, so that a reader can check it by eye.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev

from bench.record import Record
from bench.tables.cells import Cell, Context, Figure, cells_of, goodput, without_empty
from bench.tables.model import NOTHING, Table, milliseconds, number, percent, share

CONFIDENCE = 0.95
LEAST = 0.01
"""Relative difference of two means that is worth a word; less is rounding of times and counts."""
HALF_DIGIT_S = {"ab": 0.0005, "hey": 0.00005}
"""Half a unit of the last digit of a tool's mean latency, by which it may be wrong in every round alike."""
NO_CAUSE = "none is known"
NOTE = (
    f"With each (geometric) mean its {CONFIDENCE:.0%} interval over the rounds. Tools disagree where their intervals do"
    f" not meet and the means are {LEAST:.0%} apart or more. ab prints whole milliseconds and hey tenths: half of that"
    " is in the intervals of their latencies."
)
RATE_NOTE = (
    "vegeta sends at its rate whatever comes back, so that its good answers per second are what was asked and no peak:"
    " its success share is the figure, beside hey's, the one closed loop that can be held to a rate."
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean of a figure over the rounds; `low` and `high` are None where one round says nothing of noise."""

    mean: float
    low: float | None
    high: float | None

    def meets(self, other: Interval) -> bool | None:
        """Whether the two have a value in common; None where one of them is not known."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return None
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of the tables with its name and how it is written."""

    name: str
    figure: Figure
    write: Callable[[float], str]
    share: bool = False


def success(record: Record) -> float | None:
    """Share of the attempts that got the expected answer."""
    return record.successes / record.attempts if record.successes is not None and record.attempts else None


def _mean_latency(record: Record) -> float | None:
    return record.latency_s["mean"]


def _server_cpu(record: Record) -> float | None:
    return record.cpu_per_success_s


def _client_cpu(record: Record) -> float | None:
    return record.loadgen_cpu_s / record.successes if record.loadgen_cpu_s is not None and record.successes else None


LATENCY = Compared("mean latency", _mean_latency, milliseconds)
SERVER = Compared("server CPU/request", _server_cpu, milliseconds)
CLIENT = Compared("client CPU/request", _client_cpu, milliseconds)
PEAK = (Compared("requests/s", goodput, number), LATENCY, SERVER)
HELD = (Compared("success", success, share, share=True), Compared("requests/s", goodput, number), SERVER)


@dataclass(frozen=True, slots=True)
class Known:
    """Why a tool's figure may be another: `holds` looks for its sign in a record; `figures` empty: any."""

    tool: str
    words: str
    figures: tuple[str, ...]
    holds: Callable[[Record], bool] = lambda record: True


def _bad_answers(record: Record) -> bool:
    return bool(record.errors.get("non2xx"))


def _late(record: Record) -> bool:
    return bool(record.errors.get("timeout"))


def _bad_or_late(record: Record) -> bool:
    return _bad_answers(record) or _late(record)


def _fewer_than_asked(record: Record) -> bool:
    return bool(record.count and record.attempts is not None and record.attempts < record.count)


def _held(record: Record) -> bool:
    return record.rate is not None


KNOWN = (
    Known("ab", "ab is one thread and speaks HTTP/1.0", ()),
    Known("ab", "ab counts one reset up to three times", (), lambda r: bool(r.errors.get("read"))),
    Known("wrk", "wrk adds the samples that a stall kept it from taking", (LATENCY.name,)),
    Known("wrk", "wrk's own rate counts 4xx and 5xx", (), _bad_answers),
    Known("wrk", "to wrk a timeout is an answer that came late, and one that never comes is nothing", (), _late),
    Known("hey", "hey's own rate counts what was refused, timed out or a 5xx", (), _bad_or_late),
    Known("hey", "hey sends each connection the same whole number of requests", (), _fewer_than_asked),
    Known("hey", "hey keeps 1,000,000 results at most", (), lambda r: (r.requests or 0) >= 1_000_000),
    Known("hey", "hey's rate is a ceiling of each connection, which catches up with nothing", ("requests/s",), _held),
    Known("hey", "hey's connections keep time together, so that its requests come in bursts", (SERVER.name,), _held),
    Known("vegeta", "vegeta spaces its requests evenly, fast answers or slow", ("requests/s", SERVER.name)),
)
"""From what is known of the tools' own texts; a cause that leaves a sign in the record is told only with it."""


def four_tools(records: Sequence[Record], context: Context) -> list[Table]:
    """A table for each cell and way of loading it, and one of all disagreements."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells_of(records, context):
        groups.setdefault((cell.service, cell.first.scenario, _load(cell.first)), []).append(cell)
    tables = [_table(key, cells) for key, cells in groups.items()]
    rows = tuple(row for key, cells in groups.items() for row in _disagreements(key, cells))
    columns = ("service", "scenario", "load", "figure", "tools", "known cause")
    told = (NOTE,) if rows else (NOTE, "They disagree nowhere.")
    return [*tables, Table("Where the tools disagree", columns, rows, labels=len(columns), notes=told)]


def interval(values: Sequence[float], *, logarithms: bool = False) -> Interval:
    """Mean and t interval of at least one value; rounds that are all the same are a point."""
    if logarithms and min(values) > 0:
        found = interval([math.log(value) for value in values])
        ends = (None if end is None else math.exp(min(end, 700)) for end in (found.low, found.high))
        return Interval(math.exp(found.mean), *ends)
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean, None, None)
    spread = stdev(values)
    if spread == 0:
        return Interval(mean, mean, mean)
    from scipy.stats import t  # takes most of a second to load

    low, high = t.interval(CONFIDENCE, len(values) - 1, mean, spread / len(values) ** 0.5)
    return Interval(mean, float(low), float(high))


def _load(record: Record) -> str:
    """The same words for tools that were asked for the same."""
    if record.rate is not None:
        return f"{number(record.rate)}/s asked"
    asked = f", {number(record.count)} requests" if record.count else ""
    return f"{record.connections} connections{asked}"


def _figures(cells: Sequence[Cell]) -> tuple[Compared, ...]:
    return HELD if cells[0].first.rate is not None else PEAK


def _table(key: tuple[str, str, str], cells: Sequence[Cell]) -> Table:
    figures = (*_figures(cells), CLIENT)
    columns = ("tool", "valid rounds", *(compared.name for compared in figures), "not valid because")
    rows = [
        (
            cell.first.tool,
            f"{len(cell.valid)} of {len(cell.records)}",
            *(_words(cell, compared) for compared in figures),
            NOTHING if len(cell.valid) == len(cell.records) else cell.details,
        )
        for cell in cells
    ]
    kept, kept_rows = without_empty(columns, rows, (columns[-1], SERVER.name, CLIENT.name))
    notes = (RATE_NOTE,) if cells[0].first.rate is not None else ()
    return Table(" ".join(key[:2]) + f", {key[2]}", kept, kept_rows, notes=notes, prose=(columns[-1],))


def _of(cell: Cell, compared: Compared) -> Interval | None:
    values = [value for record in cell.valid if (value := compared.figure(record)) is not None]
    if not values:
        return None
    found = interval(values, logarithms=not compared.share)
    digit = HALF_DIGIT_S.get(cell.first.tool, 0.0) if compared is LATENCY else 0.0
    if not digit or found.low is None or found.high is None:
        return found
    return Interval(found.mean, max(0.0, found.low - digit), found.high + digit)


def _words(cell: Cell, compared: Compared) -> str:
    found = _of(cell, compared)
    if found is None:
        return NOTHING
    if found.low is None or found.high is None:
        return compared.write(found.mean)
    return f"{compared.write(found.mean)} ({compared.write(found.low)} to {compared.write(found.high)})"


def _disagreements(key: tuple[str, str, str], cells: Sequence[Cell]) -> Iterator[tuple[str, ...]]:
    for compared in _figures(cells):
        for one, other in combinations(cells, 2):
            first, second = _of(one, compared), _of(other, compared)
            if first is None or second is None or first.meets(second) is not False or not first.mean:
                continue
            ratio = second.mean / first.mean
            if abs(ratio - 1) < LEAST:
                continue
            words = f"{other.first.tool} {percent(ratio)} to {one.first.tool}"
            yield (*key, compared.name, words, "; ".join(_causes((one, other), compared)) or NO_CAUSE)


def _causes(cells: Iterable[Cell], compared: Compared) -> Iterator[str]:
    for cell in cells:
        for known in KNOWN:
            about = known.tool == cell.first.tool and (not known.figures or compared.name in known.figures)
            if about and any(known.holds(record) for record in cell.valid):
                yield known.words
