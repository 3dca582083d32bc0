"""The records of one cell over the rounds, and the difference between two cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from bench.analysis.cells.latency import Key, Latencies
from bench.analysis.reference_results import ReferenceComparison
from bench.core.formats import NOTHING, number, percent
from bench.matrix.service import stack_name
from bench.records.record import MEASURED, Record

FigureOf = Callable[[Record], float | None]
"""Reads one figure of a record."""


NOT_AGAINST_CPU = frozenset({"host", "loadgen-bound"})
"""Causes against a measurement that leave its CPU time per request as it is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Service x scenario x tool x level with its records, one per round in order; at least one."""

    records: tuple[Record, ...]

    @property
    def first(self) -> Record:
        """Any record, for the cell's coordinates."""
        return self.records[0]

    @property
    def service(self) -> str:
        """The service's name."""
        return self.first.service

    @property
    def stack(self) -> str:
        """Server x framework, as matrix.toml names it."""
        return stack_name(self.first.server, self.first.framework)

    @property
    def valid(self) -> tuple[Record, ...]:
        """The valid records."""
        return tuple(record for record in self.records if record.valid)

    @property
    def noisy(self) -> tuple[Record, ...]:
        """The records that only noise of the host speaks against."""
        return tuple(r for r in self.records if r.causes and {c.cause for c in r.causes} == {"host"})

    @property
    def of_known_cpu(self) -> tuple[Record, ...]:
        """The records whose CPU time per request counts: a cgroup's CPU time leaves out what other programs took."""
        return tuple(
            r for r in self.records if r.outcome == MEASURED and {c.cause for c in r.causes} <= NOT_AGAINST_CPU
        )

    @property
    def goodput(self) -> float | None:
        """Mean successes per second of the valid rounds."""
        values = [record.goodput for record in self.valid if record.goodput is not None]
        return fmean(values) if values else None

    @property
    def state(self) -> str:
        """Why there is no figure: the names of the causes."""
        causes = dict.fromkeys(cause.cause for record in self.records for cause in record.causes)
        measured = any(record.outcome == MEASURED for record in self.records)
        return ("invalid: " if measured else "") + ", ".join(causes)

    @property
    def details(self) -> str:
        """The causes with their details, each cause once."""
        facts = {cause.cause: cause.detail for record in self.records for cause in record.causes}
        return "; ".join(f"{cause}: {detail}" for cause, detail in facts.items())

    def mean_of(self, figure: FigureOf) -> float | None:
        """The mean of one figure over the valid rounds that have it."""
        values = [value for record in self.valid if (value := figure(record)) is not None]
        return fmean(values) if values else None

    def rate_words(self) -> str:
        """Goodput with its range over the rounds, or why there is none."""
        mean = self.goodput
        if mean is None:
            values = [record.goodput for record in self.noisy if record.goodput is not None]
            return _noisy_words(values) if values else self.state
        values = [record.goodput for record in self.valid if record.goodput is not None]
        words = number(mean)
        if len(values) > 1:
            words += f" ({number(min(values))} to {number(max(values))})"
        if len(values) < len(self.records):
            words += f" \u2020{len(values)}/{len(self.records)}"
        return words


def _noisy_words(values: Sequence[float]) -> str:
    """A figure that noise of the host spoiled in every round: shown, and not ranked."""
    return f"about {number(fmean(values))} (noisy: {number(min(values))} to {number(max(values))})"


def span(records: Iterable[Record], figure: FigureOf, write: Callable[[float], str]) -> str:
    """One figure of the records: its value, or lowest to highest (percentiles are never averaged)."""
    values = [value for record in records if (value := figure(record)) is not None]
    if not values:
        return NOTHING
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """B / A in the rounds that both have: geometric mean of the ratios, lowest and highest."""

    ratio: float
    low: float
    high: float
    rounds: int

    def words(self) -> str:
        """`+3.1 % (-1.0 % to +7.2 %)`; the range over the rounds if there is more than one."""
        if self.rounds == 1:
            return percent(self.ratio)
        return f"{percent(self.ratio)} ({percent(self.low)} to {percent(self.high)})"


@dataclass(frozen=True, slots=True)
class Context:
    """What tables need besides the records: the order of services, the reference comparison, merged latencies."""

    order: Sequence[str]
    reference: ReferenceComparison | None
    latencies: Mapping[Key, Latencies] = field(default_factory=dict)

    def in_order(self, services: Iterable[str]) -> list[str]:
        """The distinct services in the report's order."""
        place = {name: index for index, name in enumerate(self.order)}
        return sorted(set(services), key=lambda name: (place.get(name, len(place)), name))


def goodput(record: Record) -> float | None:
    """The ranked figure."""
    return record.goodput


def difference(base: Cell | None, cell: Cell | None, figure: FigureOf = goodput) -> Ratio | None:
    """`cell` relative to `base`, or None if no round has valid figures of both."""
    if base is None or cell is None:
        return None
    bases = {record.round: value for record in base.valid if (value := figure(record))}
    pairs = [(bases.get(record.round), figure(record)) for record in cell.valid]
    logs = [math.log(value / reference) for reference, value in pairs if reference and value]
    if not logs:
        return None
    return Ratio(math.exp(fmean(logs)), math.exp(min(logs)), math.exp(max(logs)), len(logs))


def difference_words(base: Cell | None, cell: Cell | None, figure: FigureOf = goodput) -> str:
    """The same in words."""
    found = difference(base, cell, figure)
    return NOTHING if found is None else found.words()


def cells_of(records: Iterable[Record], context: Context) -> list[Cell]:
    """The cells in the report's order: scenario, tool, level, service."""
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.scenario, record.tool, record.level, record.service), []).append(record)
    place = {name: index for index, name in enumerate(context.order)}
    keys = sorted(groups, key=lambda key: (*map(natural, key[:3]), place.get(key[3], len(place)), key[3]))
    return [Cell(tuple(sorted(groups[key], key=lambda record: (record.round, record.id)))) for key in keys]


def natural(text: str) -> list[tuple[int, str]]:
    """Sorting key in which c8 comes before c16."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"([0-9]+)", text) if part]


def base_of(cells: Sequence[Cell], context: Context) -> Cell:
    """The cell that the others of its table are compared with: that of the reference comparison, else the first."""
    if context.reference is not None:
        for cell in cells:
            found = context.reference.find(cell.stack, cell.first.scenario, cell.first.level)
            if found is not None and found[1] is found[0].figures[0]:
                return cell
    return cells[0]


def reference_ratio(cell: Cell, context: Context, metric: str = "goodput") -> float | None:
    """The ratio of this stack's cell in the reference comparison, relative to the first of its group."""
    if context.reference is None:
        return None
    found = context.reference.find(cell.stack, cell.first.scenario, cell.first.level)
    return None if found is None else found[0].ratio(found[1], metric)


def without_empty(
    columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Iterable[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The table without those `optional` columns that are empty."""
    wanted = set(optional)
    kept = [
        index
        for index, name in enumerate(columns)
        if name not in wanted or any(row[index] not in ("", NOTHING) for row in rows)
    ]
    return tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows)
