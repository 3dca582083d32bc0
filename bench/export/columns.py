"""Records as flat rows: one value per column, with the unit in its name, and null if the record has null."""

from __future__ import annotations

import csv
import io
import json
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args, get_type_hints

from bench.core.files import as_object, mapping, read_bytes
from bench.core.formats import markdown_table
from bench.records.record import ERROR_KINDS, FIELDS, LATENCIES, Field, Record
from bench.run.reader import Run
from bench.stats.table_verdicts import TURNED

Key = tuple[str, str, str, str]
"""Scenario, tool, level, service."""


@dataclass(frozen=True, slots=True)
class AgainstBest:
    """The verdict on a service relative to the best of its table, or to the lowest p99.

    `smallest_visible`: the smallest detectable difference; None if the verdict shows one.
    """

    verdict: str | None = None
    smallest_visible: float | None = None


NONE = AgainstBest()


def key_of(record: Record) -> Key:
    """The key of a record's verdict; only records in turns or at a common rate have one."""
    return record.scenario, record.tool, record.level, record.service


def contrasts_of(source: Run) -> list[Mapping[str, Any]]:
    """The contrasts of verdicts.jsonl; empty if there is none."""
    return [line for line in _lines(source) if line.get("kind") == "contrast"]


def against_best(source: Run) -> dict[Key, AgainstBest]:
    """The verdict on each service relative to the best of its table, or to the lowest p99 at its common rate."""
    lines = [
        line for line in _lines(source) if line.get("kind") not in ("latency", "latency-contrast") or _is_p99(line)
    ]
    # With pinned rates, a common rate also has a ranking by CPU time; its rows are given their latency.
    rated = {_table(line) for line in lines if line.get("kind") == "latency"}
    lines = [line for line in lines if line.get("kind") in ("latency", "latency-contrast") or _table(line) not in rated]
    best = {_table(line): str(line.get("service")) for line in lines if line.get("rank") == 1}
    for line in lines:
        if line.get("kind") == "latency":  # the lowest comes first
            best.setdefault(_table(line), str(line.get("service")))
    found = {}
    for line in lines:
        a, b, verdict = (str(line.get(name)) for name in ("a", "b", "verdict"))
        first = best.get(_table(line))
        if line.get("kind") not in ("contrast", "latency-contrast") or first not in (a, b):
            continue
        other, word = (b, verdict) if first == a else (a, TURNED.get(verdict, verdict))
        found[(*_table(line), other)] = AgainstBest(word, line.get("smallest_visible"))
    return found


def _is_p99(line: Mapping[str, Any]) -> bool:
    return line.get("judge") == "p99"


def _table(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(line.get("scenario")), str(line.get("tool")), str(line.get("level"))


def _lines(source: Run) -> Iterator[Mapping[str, Any]]:
    for line in (read_bytes(f"{source.path}/verdicts.jsonl") or b"").splitlines():
        yield mapping(as_object(line))


Value = str | int | float | bool | None

LAGS = ("p50", "p99", "max")
"""Keys of `Record.lag_s`, in seconds."""

TYPES: Mapping[type, str] = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
"""SQL types by Python types."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its SQL type, and `get` to read its value from a record."""

    name: str
    type: str
    field: Field
    get: Callable[[Record], Value]


CLIENT_CORE = Field("share of a core that the load generator needs for 1,000 requests/s")


def _columns() -> Iterator[Column]:
    hints = get_type_hints(Record)
    for name in (field.name for field in fields(Record)):
        field = FIELDS[name]
        if name in _SPECIAL:
            yield from _SPECIAL[name](name, field)
        else:
            kinds = [kind for kind in get_args(hints[name]) or (hints[name],) if kind is not type(None)]
            yield Column(_named(name, field), TYPES[kinds[0]], field, attrgetter(name))
    yield Column("client_core_ratio", "DOUBLE", CLIENT_CORE, attrgetter("client_core_ratio"))


def _named(name: str, field: Field) -> str:
    return f"{name}_per_s" if field.unit == "1/s" else name


def _text(write: Callable[[Any], str], name: str, field: Field) -> Iterator[Column]:
    """A field with several values, as text."""

    def get(record: Record) -> Value:
        value = getattr(record, name)
        return None if value is None else write(value)

    yield Column(name, "VARCHAR", field, get)


def _parts(kind: str, keys: Iterable[str], name: str, field: Field) -> Iterator[Column]:
    """A mapping as one column per key: `latency_s` gives `latency_p99_s`."""
    stem, unit = (name.removesuffix("_s"), "_s") if field.unit == "s" else (name, "")
    for key in keys:
        what = Field(f"{field.text.partition(';')[0]}: {key}", field.unit)

        def get(record: Record, key: str = key) -> Value:
            value = (getattr(record, name) or {}).get(key)
            return json.dumps(value) if value is not None and key in _BY_NAME else value

        yield Column(f"{stem}_{key}{unit}", "VARCHAR" if key in _BY_NAME else kind, what, get)


def _causes(name: str, field: Field) -> Iterator[Column]:
    def names(record: Record) -> Value:
        return "; ".join(dict.fromkeys(cause.cause for cause in record.causes)) or None

    def details(record: Record) -> Value:
        return "; ".join(f"{cause.cause}: {cause.detail}" for cause in record.causes) or None

    yield Column(name, "VARCHAR", field, names)
    yield Column("cause_details", "VARCHAR", Field("the same with their details"), details)


_BY_NAME = ("status", "other")
"""Kinds of errors that are counted by name."""
_json = partial(json.dumps, ensure_ascii=False)
_SPECIAL: Mapping[str, Callable[[str, Field], Iterator[Column]]] = {
    "command": partial(_text, shlex.join),
    "server_limits": partial(_text, _json),
    "loadgen_limits": partial(_text, _json),
    "nulls": partial(_text, _json),
    "process_cpu_s": partial(_text, _json),
    "causes": _causes,
    "errors": partial(_parts, "BIGINT", ERROR_KINDS),
    "latency_s": partial(_parts, "DOUBLE", LATENCIES),
    "lag_s": partial(_parts, "DOUBLE", LAGS),
}

COLUMNS: tuple[Column, ...] = tuple(_columns())
"""All columns except `run`, which comes first."""
VERDICT_COLUMNS: Mapping[str, tuple[str, Field]] = {
    "verdict": (
        "VARCHAR",
        Field(
            "verdict on the service relative to the best of its table (in turns), or by p99 (common rate); from"
            " verdicts.jsonl"
        ),
    ),
    "smallest_visible": (
        "DOUBLE",
        Field("in turns, unless faster or slower: the smallest difference detectable with 90 % power"),
    ),
}
"""The columns after those of the record."""
RUN = "run"
"""The column with the run's name: a table can hold the rows of several runs."""


def header() -> list[str]:
    """The names of all columns."""
    return [RUN, *(column.name for column in COLUMNS), *VERDICT_COLUMNS]


def types() -> dict[str, str]:
    """The SQL types of all columns."""
    known = {column.name: column.type for column in COLUMNS}
    return {RUN: "VARCHAR"} | known | {name: kind for name, (kind, _) in VERDICT_COLUMNS.items()}


def rows(run: str, records: Iterable[Record], verdicts: Mapping[Key, AgainstBest]) -> Iterator[list[Value]]:
    """One row per record, in order."""
    for record in records:
        found = verdicts.get(key_of(record), NONE) if record.mode in ("turns", "rate") else NONE
        yield [run, *(column.get(record) for column in COLUMNS), found.verdict, found.smallest_visible]


def table() -> str:
    """The columns as a Markdown table, for docs/exports.md."""
    described = [("run", "VARCHAR", Field("the run's name")), *((c.name, c.type, c.field) for c in COLUMNS)]
    described += [(name, kind, field) for name, (kind, field) in VERDICT_COLUMNS.items()]
    lines = ((f"`{name}`", kind, field.unit, field.text) for name, kind, field in described)
    return markdown_table(("column", "type", "unit", "description"), lines) + "\n"


def write_csv(run: str, source: Run, records: Iterable[Record]) -> bytes:
    """Comma-separated values of the records; the column `nulls` says why a value is missing."""
    return csv_of(header(), rows(run, records, against_best(source)))


def csv_of(names: Sequence[str], lines: Iterable[Sequence[Value]]) -> bytes:
    """Comma-separated values (RFC 4180, except that lines end in `\\n`); null is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_word(value) for value in line] for line in lines)
    return out.getvalue().encode()


def _word(value: Value) -> Value:
    return str(value).lower() if isinstance(value, bool) else value


def write_parquet(run: str, source: Run, records: Iterable[Record]) -> bytes:
    """Parquet with the same columns, typed."""
    return parquet_of(types(), rows(run, records, against_best(source)))


def parquet_of(columns: Mapping[str, str], found: Iterable[Sequence[Value]]) -> bytes:
    """Parquet with these columns and types, written by DuckDB.

    pyarrow would work too, but it is more than twice as large in the image (55 MB packed, DuckDB 24 MB), and with
    DuckDB the tests can run the query of the documentation.
    """
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        lines, made = Path(folder, "rows.jsonl"), Path(folder, "rows.parquet")
        with lines.open("w", encoding="utf-8") as file:
            for row in found:
                file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
        with duckdb.connect() as database:
            # A single thread keeps the order of the rows.
            database.execute("SET threads = 1")
            read = database.read_json(str(lines), format="newline_delimited", columns=dict(columns))
            read.write_parquet(str(made), compression="zstd")
        return made.read_bytes()
