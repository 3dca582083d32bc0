"""Requests/s of every service by scenario, one table per tool and level."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.cells.cell import Cell, Context, cells_of, natural
from bench.core.formats import NOTHING
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table
from bench.words.cells import rate_words


def summary(records: Sequence[Record], context: Context) -> list[Table]:
    """A row per service, a column per scenario."""
    groups = grouped(cells_of(records, context), lambda cell: (cell.first.tool, cell.first.level))
    keys = sorted(groups, key=lambda key: [*map(natural, key)])
    return [_table(*key, groups[key], context) for key in keys]


def _table(tool: str, level: str, cells: Sequence[Cell], context: Context) -> Table:
    scenarios = sorted({cell.first.scenario for cell in cells}, key=natural)
    grid = {(cell.service, cell.first.scenario): rate_words(cell) for cell in cells}
    rows = tuple(
        (name, *(grid.get((name, scenario), NOTHING) for scenario in scenarios))
        for name in context.in_order(cell.service for cell in cells)
    )
    return Table(f"{tool} {level}: requests/s", ("service", *scenarios), rows)
