"""`export FORMAT RUN`: a run's records.jsonl in another form, on standard output. I/O lives here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from bench.cli import find_run
from bench.errors import UserError, unknown
from bench.record import BadRecord, Record, load
from bench.rundir import Run, read_run

Exporter = Callable[[str, Run, Iterable[Record]], bytes]
"""The run's name, what is known of it, its records -> the file's bytes."""

FORMATS: Mapping[str, str] = {name: f"bench.exports.{name}:write" for name in ("csv", "parquet", "gobench")}
"""format -> module:function, imported when asked for"""
BINARY = frozenset({"parquet"})


def run(argv: Sequence[str]) -> int:
    """`export FORMAT RUN`: write the file to standard output."""
    if len(argv) != 2:
        raise UserError(f"export takes a format ({', '.join(FORMATS)}) and a run, such as: export csv RUN > FILE")
    form, name = argv
    if form not in FORMATS:
        raise unknown("format", form, list(FORMATS))
    if form in BINARY and sys.stdout.isatty():
        raise UserError(f"{form} is no text: write it to a file, such as: export {form} RUN > FILE")
    folder = find_run(name)
    records = read_records(folder)
    module, _, function = FORMATS[form].partition(":")
    write: Exporter = getattr(import_module(module), function)
    sys.stdout.buffer.write(write(folder.resolve().name, read_run(str(folder)), records))
    sys.stdout.buffer.flush()
    return 0


def read_records(folder: Path) -> list[Record]:
    """The records of a run, as its report has them; UserError where they cannot be read."""
    mend = f"scripts/report.sh {folder.name} makes it anew from the raw files"
    try:
        lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
        return list(load(lines))
    except OSError as error:
        raise UserError(f"cannot read {folder}/records.jsonl: {error.strerror}; {mend}") from error
    except (BadRecord, UnicodeDecodeError) as error:
        raise UserError(f"{folder}/records.jsonl: {error}; {mend}") from error
