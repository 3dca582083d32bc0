"""What each service measured alone is compared with: another one of the run, and a published comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.analysis.cells.cell import Cell, FigureOf
from bench.analysis.published import ReferenceComparison, ReferenceFigure, ReferenceGroup
from bench.core.groups import grouped
from bench.records.record import Record


def is_knee(record: Record) -> bool:
    """Whether its load searches for a knee, or confirms it."""
    return record.level.searched


FIGURES: Mapping[str, FigureOf] = {
    "goodput": lambda record: record.knee_rate if is_knee(record) else record.goodput,
    "p50_ms": lambda record: record.latency_s["p50"],
    "p99_ms": lambda record: record.latency_s["p99"],
}
"""The figures that published comparisons have, by their names in published.toml."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A cell, the one that its ratios are relative to, and what the published comparison has for it.

    `published`: ratios to the published figures of `base`, by the names of `FIGURES`; `success`: the published share of
    the requests that succeeded.
    """

    cell: Cell
    base: Cell
    published: Mapping[str, float]
    success: float | None

    @property
    def is_base(self) -> bool:
        """Whether other cells are compared with this one."""
        return self.cell is self.base

    def ratios(self) -> Mapping[str, Ratio]:
        """The ratio of requests/s, and those of the percentiles that the published comparison has, too."""
        wanted = {name: figure for name, figure in FIGURES.items() if name == "goodput" or name in self.published}
        ratios = {name: _ratio(self.base, self.cell, figure) for name, figure in wanted.items()}
        return {name: ratio for name, ratio in ratios.items() if ratio is not None}


@dataclass(frozen=True, slots=True)
class Ratio:
    """B / A over the rounds that both have: geometric mean, lowest and highest ratio."""

    ratio: float
    low: float
    high: float


def compared(cells: Sequence[Cell], reference: ReferenceComparison | None) -> Iterator[Compared]:
    """The cells of a scenario, load by load, the first one of each load before the others."""
    for same_load in grouped(cells, lambda cell: (cell.first.tool, cell.first.level)).values():
        first = _first_of(same_load, reference)
        for cell in sorted(same_load, key=lambda cell: cell is not first):
            yield _compared(cell, first, cells, reference)


def _compared(cell: Cell, first: Cell, cells: Sequence[Cell], reference: ReferenceComparison | None) -> Compared:
    published = _published(cell, reference)
    if published is None:
        return Compared(cell, first, {}, None)
    group, figure = published
    published_base = group.figures[0]
    base = first
    if published_base.level is not None:
        # Each service had a load of its own in the published comparison.
        base = next((one for one in cells if _published(one, reference) == (group, published_base)), first)
    known = _published(base, reference)
    ratios = {name: group.ratio(figure, name, known[1]) for name in FIGURES} if known and known[0] is group else {}
    return Compared(cell, base, {name: ratio for name, ratio in ratios.items() if ratio is not None}, figure.success)


def _first_of(cells: Sequence[Cell], reference: ReferenceComparison | None) -> Cell:
    """Which of the cells under one load the others are compared with.

    The base of the reference comparison, else the first with a valid figure.
    """
    for cell in cells:
        found = _published(cell, reference)
        if found is not None and found[1] is found[0].figures[0]:
            return cell
    return next((cell for cell in cells if _rounds(cell)), cells[0])


def _published(cell: Cell, reference: ReferenceComparison | None) -> tuple[ReferenceGroup, ReferenceFigure] | None:
    """The figure of this stack's cell in the reference comparison, and its group."""
    return None if reference is None else reference.find(cell.stack, cell.first.scenario, cell.first.level)


def _rounds(cell: Cell) -> Sequence[Record]:
    """The records that ratios are of."""
    return cell.valid if is_knee(cell.first) else cell.counted


def _ratio(base: Cell, cell: Cell, figure: FigureOf) -> Ratio | None:
    """`cell` relative to `base`; None if no round has valid figures of both."""
    bases = {record.round: value for record in _rounds(base) if (value := figure(record))}
    pairs = [(bases.get(record.round), figure(record)) for record in _rounds(cell)]
    if not (logs := [math.log(value / reference) for reference, value in pairs if reference and value]):
        return None
    return Ratio(math.exp(fmean(logs)), math.exp(min(logs)), math.exp(max(logs)))
