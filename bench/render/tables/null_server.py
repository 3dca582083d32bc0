"""The null server's rates as a table."""

from __future__ import annotations

from collections.abc import Iterable

from bench.core.formats import NOTHING, number
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table


def null_table(records: Iterable[Record]) -> list[Table]:
    """Each tool's rate with the null server; empty where it was not measured."""
    null = (record for record in records if record.mode == "null")
    groups = grouped(null, lambda record: (record.tool, record.scenario, record.level))
    rows = []
    for key, group in groups.items():
        rates = [r.goodput for r in group if r.valid and r.goodput is not None]
        causes = sorted({f"{c.cause}: {c.detail}" for r in group for c in r.causes})
        words = f"{number(max(rates))}" if rates else "; ".join(causes) or NOTHING
        rows.append((*key, words, f"{len(rates)} of {len(group)}"))
    columns = ("tool", "scenario", "level", "max requests/s", "valid rounds")
    title = "Null server: the limit of each tool on this host"
    return [Table(title, columns, tuple(rows), labels=3)] if rows else []
