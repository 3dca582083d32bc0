"""Records of events as rows: one row for each event, service and round, with a column for each fate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.core.errors import UserError
from bench.core.typed import as_plain
from bench.export.columns import Row, copied, sql_types
from bench.records.event import EventRecord, Fate
from bench.records.file import read_events
from bench.records.record import Record
from bench.run.reader import Run


def write(run: str, source: Run, _: Iterable[Record], form: str) -> bytes:
    """All events as CSV or Parquet; `defaults` are those of the server."""
    types = {"run": "VARCHAR"} | sql_types(EventRecord) | {"ended": "VARCHAR"}
    del types["fates"]
    types |= {fate.value: "BIGINT" for fate in Fate} | {"lost": "BIGINT", "counts": "BOOLEAN", "defaults": "JSON"}
    return copied(types, _rows(run, source), form)


def _rows(run: str, source: Run) -> Iterator[Row]:
    if not (records := read_events(Path(source.path))):
        raise UserError(f"{run} has no events; their preset is bad-day: scripts/matrix.sh --preset bad-day")
    for record in records:
        values = as_plain(record)
        fates = values.pop("fates")
        if record.sent is not None:
            values |= dict.fromkeys(Fate, 0) | fates | {"lost": record.lost}
        yield {"run": run, **values, "counts": record.counts, "defaults": source.facts.defaults.get(record.service)}
