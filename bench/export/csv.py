"""Comma-separated values: a header, then one line per record. Null is an empty field; `nulls` has the reason."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from bench.export.columns import Value, header, rows
from bench.export.verdicts import against_best
from bench.records.record import Record
from bench.run.reader import Run


def write(run: str, source: Run, records: Iterable[Record]) -> bytes:
    """The file's bytes (RFC 4180, except for its line ends: `\\n`)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header())
    writer.writerows([_word(value) for value in row] for row in rows(run, records, against_best(source)))
    return out.getvalue().encode()


def _word(value: Value) -> Value:
    return str(value).lower() if isinstance(value, bool) else value
