"""The knee of a cell that its later rounds confirm, or why they do not."""

from __future__ import annotations

from collections.abc import Sequence

from bench.core.formats import number
from bench.records.knee import CONFIRMATIONS
from bench.records.record import Cause, Record

IGNORED = ("not the asked load", "host")
"""Causes that do not count against a knee: trials check the sent load themselves, noise only makes it harder."""


def confirmed(records: Sequence[Record]) -> tuple[Record | None, int, int]:
    """(the record that found the knee, number of later rounds in which it held, number of later rounds) of one cell."""
    found, later = _found(records)
    return found, sum(found is not None and _held(record, found) for record in later), len(later)


def doubts(records: Sequence[Record]) -> str:
    """Why one cell has no confirmed knee; empty if it has one."""
    found, later = _found(records)
    if found is None:
        return "; ".join(dict.fromkeys(record.nulls["knee_rate"] for record in records if "knee_rate" in record.nulls))
    reasons = [f"round {record.round}: {_reason(record)}" for record in later if not _held(record, found)]
    if not reasons and len(later) < CONFIRMATIONS:
        return f"{CONFIRMATIONS} later rounds are needed"
    return "; ".join(reasons)


def _found(records: Sequence[Record]) -> tuple[Record | None, Sequence[Record]]:
    """(the record that found the knee, the records of later rounds)."""
    found = next((record for record in records if record.knee_rate is not None), None)
    return found, [record for record in records if found is not None and record.round > found.round]


def _held(record: Record, found: Record) -> bool:
    return record.knee_rate == found.knee_rate and not _against(record)


def _against(record: Record) -> list[Cause]:
    """The causes that count against a rate that held."""
    return [cause for cause in record.causes if cause.cause not in IGNORED]


def _reason(record: Record) -> str:
    if causes := _against(record):
        return "; ".join(f"{cause.cause}: {cause.detail}" for cause in causes)
    return record.nulls.get("knee_rate", f"different knee, {number(record.knee_rate or 0)}/s")
