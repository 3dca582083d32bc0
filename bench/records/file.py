"""A run's records.jsonl."""

from __future__ import annotations

from pathlib import Path

from bench.core.errors import UserError
from bench.records.record import BadRecord, Record, load


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
