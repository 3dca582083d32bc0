"""Parquet with the same columns as CSV, typed; DuckDB writes it.

pyarrow would work too, but it is more than twice as large in the image (55 MB packed, DuckDB 24 MB), and with DuckDB
the tests can run the query of the documentation.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bench.export.columns import header, rows, types
from bench.export.verdicts import against_best
from bench.records.record import Record
from bench.run.reader import Run


def write(run: str, source: Run, records: Iterable[Record]) -> bytes:
    """The file's bytes."""
    import duckdb

    names = header()
    with tempfile.TemporaryDirectory() as folder:
        lines, made = Path(folder, "rows.jsonl"), Path(folder, "rows.parquet")
        with lines.open("w", encoding="utf-8") as file:
            for row in rows(run, records, against_best(source)):
                file.write(json.dumps(dict(zip(names, row, strict=True))) + "\n")
        with duckdb.connect() as database:
            # A single thread keeps the order of the rows.
            database.execute("SET threads = 1")
            read = database.read_json(str(lines), format="newline_delimited", columns=types())
            read.write_parquet(str(made), compression="zstd")
        return made.read_bytes()
