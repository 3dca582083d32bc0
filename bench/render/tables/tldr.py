"""One row per service: requests/s from highest to lowest; services without a valid result follow, unranked."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.cells.cell import Cell, Context, base_of, cells_of, difference, reference_ratio
from bench.core.formats import NOTHING, number, share, times
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.tools import TOOLS
from bench.words.cells import details_words, rate_words

REFERENCE, OF_TARGET, CAUSE = "reference", "of target rate", "why not ranked"


def tldr(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per scenario and level of the first closed-loop tool: the rate of an open loop is given, not a result."""
    closed = [record for record in records if record.connections is not None]
    if not closed:
        return []
    tools = list(dict.fromkeys(record.tool for record in closed))
    tool = min(tools, key=("wrk", "hey", "ab", *TOOLS).index)
    cells = cells_of((record for record in closed if record.tool == tool), context)
    groups = grouped(cells, lambda cell: (cell.first.scenario, cell.first.level))
    return [_table(group, context) for group in groups.values()]


def _table(cells: Sequence[Cell], context: Context) -> Table:
    ranked = sorted(
        (cell for cell in cells if cell.goodput is not None), key=lambda cell: (-(cell.goodput or 0), cell.service)
    )
    base = base_of(ranked, context) if ranked else None
    to_base = f"vs {base.service}" if base else "ratio"
    columns = ["service", "requests/s", OF_TARGET, to_base, REFERENCE, CAUSE]
    rows = [_row(cell, base, context) for cell in [*ranked, *(cell for cell in cells if cell.goodput is None)]]
    kept, kept_rows = without_empty(columns, rows, columns[1:])
    first = cells[0].first
    notes: tuple[str, ...] = ()
    if first.rate is not None and any((cell.goodput or 0) >= 0.99 * first.rate for cell in ranked):
        notes = (
            f"Services at the target of {number(first.rate)}/s were limited by it, so they cannot be ranked among"
            " each other.",
        )
    title = f"TL;DR: {first.scenario}, {first.tool} {first.level}"
    return Table(title, kept, kept_rows, notes=notes, prose=(CAUSE,))


def _row(cell: Cell, base: Cell | None, context: Context) -> list[str]:
    target, goodput = cell.first.rate, cell.goodput
    ratio = difference(base, cell)
    return [
        cell.service,
        NOTHING if goodput is None else rate_words(cell),
        share(goodput / target) if target and goodput is not None else NOTHING,
        times(ratio.ratio if ratio else None),
        times(reference_ratio(cell, context)),
        details_words(cell) if goodput is None else NOTHING,
    ]
