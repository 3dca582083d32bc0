"""Records of events as flat rows: one row for each event, service and round, with a column for each fate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import get_args, get_type_hints

from bench.core.errors import UserError
from bench.core.files import mapping
from bench.export.columns import TYPES, Value, csv_of, parquet_of
from bench.records.event import EventRecord, Fate
from bench.records.file import read_events
from bench.records.record import Record
from bench.run.reader import Run

Get = Callable[[EventRecord], Value]


def _columns() -> Iterator[tuple[str, str, Get]]:
    """(name, SQL type, getter) for each field; a field with several values is JSON."""
    hints = get_type_hints(EventRecord)
    for name in (field.name for field in fields(EventRecord)):
        kinds = [kind for kind in get_args(hints[name]) or (hints[name],) if kind is not type(None)]
        if name == "fates":
            yield from ((fate.value, "BIGINT", _fate(fate)) for fate in Fate)
        elif len(kinds) == 1 and kinds[0] in TYPES:
            yield name, TYPES[kinds[0]], _plain(name)
        else:
            yield name, "VARCHAR", _json(name)


def _plain(name: str) -> Get:
    return lambda record: getattr(record, name)


def _json(name: str) -> Get:
    # A StrEnum is text already and needs no JSON.
    def get(record: EventRecord) -> Value:
        value = asdict(record)[name]
        return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return get


def _fate(fate: Fate) -> Get:
    return lambda record: None if record.sent is None else record.fates.get(fate, 0)


COLUMNS: tuple[tuple[str, str, Get], ...] = (
    *_columns(),
    ("lost", "BIGINT", lambda record: None if record.sent is None else record.lost),
    ("counts", "BOOLEAN", lambda record: record.counts),
)
"""The record's fields, then how many requests got no good answer and whether the counts may be compared."""


def write_csv(run: str, source: Run, _: Iterable[Record]) -> bytes:
    """Comma-separated values."""
    return csv_of([*_types()], _rows(run, source))


def write_parquet(run: str, source: Run, _: Iterable[Record]) -> bytes:
    """Parquet with the same columns."""
    return parquet_of(_types(), _rows(run, source))


def _types() -> Mapping[str, str]:
    return {"run": "VARCHAR"} | {name: kind for name, kind, _ in COLUMNS} | {"defaults": "VARCHAR"}


def _rows(run: str, source: Run) -> list[list[Value]]:
    records = read_events(Path(source.path))
    if not records:
        raise UserError(f"{run} has no events; their preset is bad-day: scripts/matrix.sh --preset bad-day")
    given = mapping(source.facts.get("defaults"))
    texts = {name: json.dumps(found, ensure_ascii=False) for name, found in given.items()}
    return [[run, *(get(record) for _, _, get in COLUMNS), texts.get(record.service)] for record in records]
