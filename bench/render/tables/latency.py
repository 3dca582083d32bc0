"""Latency of open loops: percentiles of each cell's merged rounds, or why one is missing."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.cells.cell import Cell, Context, cells_of
from bench.analysis.cells.latency import Latencies, key_of
from bench.core.formats import NOTHING, milliseconds, number
from bench.core.groups import grouped
from bench.plan.levels import SEARCHED
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.tools.send_lag import BEYOND, SHARES, least_requests
from bench.words.cells import details_words

CAUSE = "why not valid"
NOTE = (
    "Open loop: requests are sent at the target rate regardless of the responses. The distributions of all valid"
    " rounds are merged (percentiles are never averaged), and a timeout counts with its full length. A percentile"
    f" needs {BEYOND} requests above it in each round: p99 needs {least_requests(0.99):,} requests, p99.9"
    f" {least_requests(0.999):,}."
)


def latency(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per scenario; cells at a knee are in the knee table instead."""
    given = [record for record in records if record.tool == "vegeta" and not record.level.startswith(SEARCHED)]
    groups = grouped(cells_of(given, context), lambda cell: cell.first.scenario)
    return [_table(scenario, cells, context) for scenario, cells in groups.items()]


def _table(scenario: str, cells: Sequence[Cell], context: Context) -> Table:
    columns = ("service", "level", "target/s", *SHARES, "max", "requests", CAUSE)
    rows = [row for cell in cells for row in _rows(cell, context)]
    kept, kept_rows = without_empty(columns, rows, [CAUSE])
    return Table(f"{scenario}, vegeta, open loop: latency", kept, kept_rows, labels=2, notes=(NOTE,), prose=(CAUSE,))


def _rows(cell: Cell, context: Context) -> list[list[str]]:
    """One row per rate: rounds that search for their knee may have different rates."""
    rows = []
    for key in dict.fromkeys(map(key_of, cell.valid)):
        found, rate = context.latencies.get(key), key[3]
        if found is not None:
            count = f"{found.requests:,} in {found.rounds} of {len(cell.records)}"
            rows.append([*_place(cell, rate), *words(found), count, NOTHING])
    figures = [NOTHING] * (len(SHARES) + 2)
    return rows or [[*_place(cell, cell.first.rate), *figures, details_words(cell) or NOTHING]]


def _place(cell: Cell, rate: float | None) -> list[str]:
    return [cell.service, cell.first.level, NOTHING if rate is None else number(rate)]


def words(found: Latencies) -> list[str]:
    """The percentiles and the maximum, or why they are missing."""
    percentiles = [
        found.missing[name] if value is None else milliseconds(value) for name, value in found.percentiles_s.items()
    ]
    return [*percentiles, found.missing.get("max", "") if found.max_s is None else milliseconds(found.max_s)]
