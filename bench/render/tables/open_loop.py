"""Open loops (vegeta): target rate, sent rate, goodput and success share. Latency has its own table."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.cells.cell import Cell, Context, base_of, cells_of, difference, reference_ratio
from bench.analysis.cells.tool_agreement import success
from bench.core.formats import NOTHING, number, share, times
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.words.cells import details_words, span_words

REFERENCE_RATIO, REFERENCE_SUCCESS = "goodput, reference", "success, reference"
CAUSE = "why not valid"


def vegeta(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per scenario; figures that are not valid are shown with their cause."""
    cells = cells_of((record for record in records if record.tool == "vegeta"), context)
    groups = grouped(cells, lambda cell: cell.first.scenario)
    return [_table(scenario, group, context) for scenario, group in groups.items()]


def _table(scenario: str, cells: Sequence[Cell], context: Context) -> Table:
    base = base_of(cells, context)
    ratio = f"goodput vs {base.service} {base.first.level}"
    columns = ["service", "target/s", "sent/s", "goodput/s", "success", ratio]
    columns += [REFERENCE_RATIO, REFERENCE_SUCCESS, CAUSE]
    ordered = [base, *(cell for cell in cells if cell is not base)]
    rows = [_row(cell, base, context) for cell in ordered]
    kept, kept_rows = without_empty(columns, rows, [ratio, REFERENCE_RATIO, REFERENCE_SUCCESS, CAUSE])
    return Table(f"{scenario}, vegeta, open loop", kept, kept_rows, prose=(CAUSE,))


def _row(cell: Cell, base: Cell, context: Context) -> list[str]:
    # What is not valid is shown with its cause and not compared.
    shown, first = cell.valid or cell.records, cell.first
    found = context.reference and context.reference.find(cell.stack, first.scenario, first.level)
    ratio = difference(base, cell)
    return [
        cell.service,
        NOTHING if first.rate is None else number(first.rate),
        span_words(shown, lambda record: record.sent_rate, number),
        span_words(shown, lambda record: record.goodput, number),
        span_words(shown, success, share),
        times(ratio.ratio if ratio else None),
        times(reference_ratio(cell, context)),
        share(found[1].metrics["success"]) if found and "success" in found[1].metrics else NOTHING,
        NOTHING if cell.valid else details_words(cell),
    ]
