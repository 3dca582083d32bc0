"""Reads a run's records.jsonl and events.jsonl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from bench.core.errors import UserError
from bench.records import event
from bench.records.event import EventRecord
from bench.records.record import BadRecord, Record, load

R = TypeVar("R")


def read_records(folder: Path) -> list[Record]:
    """The records of a run's report; UserError if they cannot be read."""
    return _read(folder / "records.jsonl", load)


def read_events(folder: Path) -> list[EventRecord]:
    """The records of a run's events, if it has any; UserError if they cannot be read."""
    file = folder / event.FILE
    return _read(file, event.load) if file.exists() else []


def _read(file: Path, read: Callable[[Iterable[str]], Iterator[R]]) -> list[R]:
    fix = f"rebuild it with: scripts/report.sh {file.parent.name}"
    if file.is_fifo():
        raise UserError(f"cannot read {file}: it is a pipe, which may never end; {fix}")
    try:
        return list(read(file.read_text(encoding="utf-8").split("\n")))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}; {fix}") from error
    except (BadRecord, UnicodeDecodeError) as error:
        raise UserError(f"{file}: {error}; {fix}") from error
