"""Reads a run's records.jsonl."""

from __future__ import annotations

from pathlib import Path

from bench.core.errors import UserError
from bench.records.record import BadRecord, Record, load


def read_records(folder: Path) -> list[Record]:
    """The records of a run's report; UserError where they cannot be read."""
    fix = f"rebuild it with: scripts/report.sh {folder.name}"
    try:
        return list(load((folder / "records.jsonl").read_text(encoding="utf-8").split("\n")))
    except OSError as error:
        raise UserError(f"cannot read {folder}/records.jsonl: {error.strerror}; {fix}") from error
    except (BadRecord, UnicodeDecodeError) as error:
        raise UserError(f"{folder}/records.jsonl: {error}; {fix}") from error
