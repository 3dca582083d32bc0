"""How the CPU time of a service spreads over its worker processes, and how long its quota stopped it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.analysis.cells.cell import Context
from bench.analysis.tables.remarks import spread_of, throttled
from bench.core.formats import NOTHING
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table
from bench.words.remarks import spread_words, throttled_words

NOTES = (
    "Shares of the CPU time of the worker processes (utime and stime of each), the busiest first, as means over all"
    " windows; as many processes as there are workers, those with the most CPU time.",
)


def process_table(records: Iterable[Record], context: Context, knobs: Mapping[str, Any]) -> list[Table]:
    """A row for each service with several workers or a CPU quota; no table where there is none."""
    by_service = grouped(records, lambda record: record.service)
    rows = []
    for name in context.in_order(by_service):
        spread = spread_of(by_service[name], knobs)
        stopped = next(map(throttled_words, throttled(by_service[name])), NOTHING)
        if spread or stopped != NOTHING:
            uneven = ", uneven" if spread and spread.uneven else ""
            rows.append((name, f"{spread_words(spread)}{uneven}" if spread else NOTHING, stopped))
    columns = ("service", "CPU time of its workers", "CPU quota")
    return [Table("CPU time by process", columns, tuple(rows), notes=NOTES)] if rows else []
