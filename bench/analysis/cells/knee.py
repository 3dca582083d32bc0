"""The knee of a cell that its later rounds confirm, or not."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.causes import HARMLESS_TO_KNEES, causes_beside
from bench.records.record import Record


def confirmed(records: Sequence[Record]) -> tuple[Record | None, int, int]:
    """(the record that found the knee, number of later rounds in which it held, number of later rounds) of one cell."""
    found, later = knee_of(records)
    return found, sum(found is not None and has_held(record, found) for record in later), len(later)


def knee_of(records: Sequence[Record]) -> tuple[Record | None, Sequence[Record]]:
    """(the record that found the knee, the records of later rounds)."""
    found = next((record for record in records if record.knee_rate is not None), None)
    return found, [record for record in records if found is not None and record.round > found.round]


def has_held(record: Record, found: Record) -> bool:
    """Whether a later round confirms the knee that was found."""
    return record.knee_rate == found.knee_rate and not causes_beside(record, HARMLESS_TO_KNEES)
