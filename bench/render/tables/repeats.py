"""The figure of every round, their mean, and the CPU time per request."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from bench.analysis.cells.cell import Cell, Context, base_of, cells_of, goodput, reference_ratio
from bench.core.formats import NOTHING, milliseconds, number, percent
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.words.cells import difference_words, span_words, state_words

REFERENCE = "mean, reference"
NOTE = "CPU/request is the CPU time of the service, and of its database if used, per successful response."
OPTIONAL = (REFERENCE, "CPU/request", "CPU vs first")


def repeats(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per scenario and closed-loop tool."""
    cells = cells_of((record for record in records if record.connections is not None), context)
    return [
        _table(list(group), context)
        for _, group in groupby(cells, key=lambda cell: (cell.first.scenario, cell.first.tool))
    ]


def _table(cells: Sequence[Cell], context: Context) -> Table:
    rounds = sorted({record.round for cell in cells for record in cell.records})
    columns = ["level", "service", *(f"round {number}" for number in rounds), "mean", "lowest to highest"]
    columns += ["mean vs first", REFERENCE, "CPU/request", "CPU vs first"]
    rows = []
    for _, group in groupby(cells, key=lambda cell: cell.first.level):
        level = list(group)
        base = base_of(level, context)
        rows += [_row(cell, base, rounds, context) for cell in [base, *(cell for cell in level if cell is not base)]]
    first = cells[0].first
    kept, kept_rows = without_empty(columns, rows, OPTIONAL)
    return Table(f"{first.scenario}, {first.tool}: requests/s by round", kept, kept_rows, labels=2, notes=(NOTE,))


def _row(cell: Cell, base: Cell, rounds: Sequence[int], context: Context) -> list[str]:
    by_round = {record.round: record for record in cell.records}
    mean, reference = cell.goodput, reference_ratio(cell, context)
    other = cell is not base
    return [
        cell.first.level,
        cell.service,
        *(_one(by_round.get(number)) for number in rounds),
        state_words(cell) if mean is None else number(mean),
        span_words(cell.valid, goodput, number),
        difference_words(base, cell) if other else NOTHING,
        percent(reference) if reference is not None and other else NOTHING,
        milliseconds(cell.mean_of(_cpu)),
        difference_words(base, cell, _cpu) if other else NOTHING,
    ]


def _one(record: Record | None) -> str:
    if record is None:
        return NOTHING
    if record.valid and record.goodput is not None:
        return number(record.goodput)
    return state_words(Cell((record,)))


def _cpu(record: Record) -> float | None:
    return record.cpu_per_success_s
