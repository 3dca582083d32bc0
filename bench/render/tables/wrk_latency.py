"""wrk: requests/s and the percentiles that it prints, with the blind spot of a closed loop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from bench.analysis.cells.cell import Cell, Context, base_of, cells_of, difference, goodput, reference_ratio
from bench.core.formats import NOTHING, milliseconds, times
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.words.cells import rate_words, span_words

PERCENTILES = ("p50", "p75", "p90", "p99")
COMPARED = (("goodput", goodput), ("p50_ms", lambda r: r.latency_s["p50"]), ("p99_ms", lambda r: r.latency_s["p99"]))
REFERENCE = "reference"
NOTE = (
    "Closed loop: each connection waits for the response before it sends the next request, so a stall of the server"
    " also delays requests and hardly shows in these percentiles."
)


def wrk_latency(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per scenario."""
    cells = cells_of((record for record in records if record.tool == "wrk"), context)
    return [_table(list(group), context) for _, group in groupby(cells, key=lambda cell: cell.first.scenario)]


def _table(cells: Sequence[Cell], context: Context) -> Table:
    columns = ["level", "service", "requests/s", *(f"{name}, closed loop" for name in PERCENTILES)]
    columns += ["requests/s, p50, p99 vs first", REFERENCE]
    rows = []
    for _, group in groupby(cells, key=lambda cell: cell.first.level):
        level = list(group)
        base = base_of(level, context)
        rows += [_row(cell, base, context) for cell in [base, *(cell for cell in level if cell is not base)]]
    kept, kept_rows = without_empty(columns, rows, [columns[-2], REFERENCE])
    return Table(f"{cells[0].first.scenario}, wrk, closed loop", kept, kept_rows, labels=2, notes=(NOTE,))


def _row(cell: Cell, base: Cell, context: Context) -> list[str]:
    ours = [difference(base, cell, figure) for _, figure in COMPARED]
    reference = [reference_ratio(cell, context, metric) for metric, _ in COMPARED]
    return [
        cell.first.level,
        cell.service,
        rate_words(cell),
        *(span_words(cell.valid, partial(_latency, name), milliseconds) for name in PERCENTILES),
        _ratios([found.ratio if found else None for found in ours]) if cell is not base else NOTHING,
        _ratios(reference) if cell is not base else NOTHING,
    ]


def _latency(name: str, record: Record) -> float | None:
    return record.latency_s[name]


def _ratios(ratios: Sequence[float | None]) -> str:
    return NOTHING if not any(ratios) else ", ".join(map(times, ratios))
