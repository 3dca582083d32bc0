"""Records as rows of CSV and Parquet: a column for each field, and null if the record has null."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from bench.core.files import objects_in
from bench.core.formats import escaped, markdown_table
from bench.core.typed import TextValue, as_plain
from bench.records.record import LATENCIES, Record
from bench.run.reader import Run
from bench.stats.table_verdicts import TURNED

Key = tuple[str, str, str, str]
"""Scenario, tool, level, service."""
Row = Mapping[str, Any]
"""The values of a row by column; those that are missing are null."""


def contrasts_of(run: str) -> list[dict[str, Any]]:
    """The contrasts in the verdicts.jsonl of the run at this path; empty if there is none."""
    return [line for line in objects_in(f"{run}/verdicts.jsonl") if line.get("kind") == "contrast"]


def against_best(source: Run) -> dict[Key, Row]:
    """The verdict on each service relative to the best of its table, or to the lowest p99 at its common rate.

    `smallest_visible`: the smallest detectable difference; None if the verdict shows one.
    """
    at_rate, lines = ("latency", "latency-contrast"), objects_in(f"{source.path}/verdicts.jsonl")
    lines = [line for line in lines if line.get("kind") not in at_rate or line.get("judge") == "p99"]
    # With pinned rates, a common rate also has a ranking by CPU time; its rows are given their latency.
    rated = {_table(line) for line in lines if line.get("kind") == "latency"}
    lines = [line for line in lines if line.get("kind") in at_rate or _table(line) not in rated]
    best = {_table(line): str(line.get("service")) for line in lines if line.get("rank") == 1}
    for line in lines:
        if line.get("kind") == "latency":  # the lowest comes first
            best.setdefault(_table(line), str(line.get("service")))
    verdicts = dict[tuple[str, str, str, str], Mapping[str, Any]]()
    for line in lines:
        a, b, verdict = (str(line.get(name)) for name in ("a", "b", "verdict"))
        first = best.get(_table(line))
        if line.get("kind") not in ("contrast", "latency-contrast") or first not in (a, b):
            continue
        other, word = (b, verdict) if first == a else (a, TURNED.get(verdict, verdict))
        verdicts[(*_table(line), other)] = {"verdict": word, "smallest_visible": line.get("smallest_visible")}
    return verdicts


def _table(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(line.get("scenario")), str(line.get("tool")), str(line.get("level"))


TYPES: Mapping[type, str] = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
"""SQL types by Python types."""
LAGS = ("p50", "p99", "max")
"""Keys of `Record.lag_s`, in seconds."""
PARTS: Mapping[str, Sequence[str]] = {"latency_s": LATENCIES, "lag_s": LAGS}
"""The keys of fields that have a column for each key: `latency_s` gives `latency_p99_s`."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column and its SQL type."""

    name: str
    type: str
    text: str = ""
    """What it says; for the fields of a record, the schema does."""


def sql_types(record: type) -> dict[str, str]:
    """The SQL type of each field of a record; JSON if it has several values."""
    types = {}
    for name, hint in get_type_hints(record).items():
        kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
        as_text = isinstance(kinds[0], type) and issubclass(kinds[0], TextValue)
        types[name] = "VARCHAR" if as_text else TYPES.get(kinds[0], "JSON") if len(kinds) == 1 else "JSON"
    return types


def _columns() -> Iterator[Column]:
    yield Column("run", "VARCHAR", "the run's name")
    for name, kind in sql_types(Record).items():
        yield from (Column(_part(name, key), "DOUBLE") for key in PARTS.get(name, ()))
        if name not in PARTS:
            yield Column(name, kind)
    core = "share of a core that the load generator needs for 1,000 requests/s"
    yield Column("client_core_ratio", "DOUBLE", core)
    best = "relative to the best of its table (in turns), or by p99 (common rate); from verdicts.jsonl"
    yield Column("verdict", "VARCHAR", f"verdict on the service {best}")
    visible = "in turns, unless faster or slower: the smallest difference detectable with 90 % power"
    yield Column("smallest_visible", "DOUBLE", visible)


def _part(name: str, key: str) -> str:
    return f"{name.removesuffix('_s')}_{key}_s"


COLUMNS: tuple[Column, ...] = tuple(_columns())
"""All columns. The first is the run, so that a table can hold the rows of several runs."""


def types() -> dict[str, str]:
    """The SQL types of all columns."""
    return {column.name: column.type for column in COLUMNS}


def rows(run: str, records: Iterable[Record], verdicts: Mapping[Key, Row]) -> Iterator[Row]:
    """One row per record, in order."""
    for record in records:
        values = as_plain(record)
        for name, keys in PARTS.items():
            parts = values.pop(name) or {}
            values |= {_part(name, key): parts.get(key) for key in keys}
        if record.mode in ("turns", "rate"):
            values |= verdicts.get((record.scenario, record.tool, record.level.text, record.service), {})
        yield {"run": run, **values, "client_core_ratio": record.client_core_ratio}


def table() -> str:
    """The columns that are no fields of a record (the schema has these), as a Markdown table for docs/exports.md."""
    lines = ((f"`{column.name}`", column.type, column.text) for column in COLUMNS if column.text)
    return markdown_table(("column", "type", "description"), lines) + "\n"


def write(run: str, source: Run, records: Iterable[Record], form: str) -> bytes:
    """All measurements as CSV or Parquet."""
    return copied(types(), rows(run, records, against_best(source)), form)


OPTIONS = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet, COMPRESSION zstd"}
"""Those of DuckDB's COPY, by the last word of a format's name."""
FORMULA = re.compile(r"[=+\-@\t\r]")
"""How a text begins that a spreadsheet would run; in CSV, as in the page's, an apostrophe comes before it."""


def copied(columns: Mapping[str, str], rows: Iterable[Row], form: str) -> bytes:
    """A file with these columns and types, written by DuckDB's COPY in this format, such as csv or events-csv.

    pyarrow would work too, but it is more than twice as large in the image (55 MB packed, DuckDB 24 MB), and with
    DuckDB the tests can run the query of the documentation.
    """
    import duckdb

    if form.endswith("csv"):
        columns = {name: "VARCHAR" if kind == "JSON" else kind for name, kind in columns.items()}
        rows = ({name: _as_text(value) for name, value in row.items()} for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        lines, made = Path(folder, "rows.jsonl"), Path(folder, "made")
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        with duckdb.connect() as database:
            # A single thread keeps the order of the rows.
            database.execute("SET threads = 1")
            read = database.read_json(str(lines), format="newline_delimited", columns=dict(columns))
            read.query("rows", f"COPY rows TO '{made}' ({OPTIONS[form.rpartition('-')[2]]})")
        return made.read_bytes()


def _as_text(value: Any) -> Any:
    """A value of CSV: no cell has a character that a terminal or spreadsheet obeys; JSON escapes it in its own way."""
    if isinstance(value, str):
        return escaped(f"'{value}" if FORMULA.match(value) else value)
    if isinstance(value, dict | list | tuple):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return "".join(mark if mark.isprintable() else json.dumps(mark)[1:-1] for mark in text)
    return value
