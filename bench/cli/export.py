"""`export`: a run's records as csv, parquet or gobench."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

from bench.core.errors import UserError, unknown
from bench.records.file import read_records
from bench.records.record import Record
from bench.run.folder import find_run
from bench.run.reader import Run, read_run

Exporter = Callable[[str, Run, Iterable[Record]], bytes]
"""(name of the run, the run, its records) -> the file's bytes."""

FORMATS: Mapping[str, str] = {name: f"bench.export.{name}:write" for name in ("csv", "parquet", "gobench")}
"""format -> module:function, imported on use"""
BINARY = frozenset({"parquet"})


def export_verb(argv: Sequence[str]) -> int:
    """`export FORMAT RUN`: write the records in that format to standard output."""
    if len(argv) != 2:
        formats = ", ".join(FORMATS)
        raise UserError(f"export takes a format ({formats}) and a run, such as: scripts/export.sh csv RUN > FILE")
    form, name = argv
    if form not in FORMATS:
        raise unknown("format", form, list(FORMATS))
    if form in BINARY and sys.stdout.isatty():
        raise UserError(f"{form} is binary: write it to a file, such as: scripts/export.sh {form} RUN > FILE")
    folder = find_run(name)
    source = read_run(str(folder))
    records = read_records(folder)
    module, _, function = FORMATS[form].partition(":")
    write: Exporter = getattr(import_module(module), function)
    sys.stdout.buffer.write(write(folder.resolve().name, source, records))
    sys.stdout.buffer.flush()
    return 0
