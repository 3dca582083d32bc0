"""Reads a run's records.jsonl and events.jsonl."""

from __future__ import annotations

from pathlib import Path

from bench.core.errors import UserError
from bench.records.event import FILE, EventRecord
from bench.records.record import BadRecord, L, Record, load


def read_records(folder: Path) -> list[Record]:
    """The records of a run's report; UserError if they cannot be read."""
    return _read(folder / "records.jsonl", Record)


def read_events(folder: Path) -> list[EventRecord]:
    """The records of a run's events, if it has any; UserError if they cannot be read."""
    return _read(file, EventRecord) if (file := folder / FILE).exists() else []


def _read(file: Path, kind: type[L]) -> list[L]:
    fix = f"rebuild it with: scripts/report.sh {file.parent.name}"
    if file.is_fifo():
        raise UserError(f"cannot read {file}: it is a pipe, which may never end; {fix}")
    try:
        return list(load(file.read_text(encoding="utf-8").split("\n"), kind))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}; {fix}") from error
    except (BadRecord, UnicodeDecodeError) as error:
        raise UserError(f"{file}: {error}; {fix}") from error
