"""Why a knee is not confirmed, in words."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.causes import HARMLESS_TO_KNEES, causes_beside
from bench.analysis.cells.knee import has_held, knee_of
from bench.core.formats import number
from bench.records.knee import CONFIRMATIONS
from bench.records.record import Record


def doubts(records: Sequence[Record]) -> str:
    """Why one cell has no confirmed knee; empty if it has one."""
    found, later = knee_of(records)
    if found is None:
        return "; ".join(dict.fromkeys(record.nulls["knee_rate"] for record in records if "knee_rate" in record.nulls))
    reasons = [f"round {record.round}: {_reason(record)}" for record in later if not has_held(record, found)]
    if not reasons and len(later) < CONFIRMATIONS:
        return f"{CONFIRMATIONS} later rounds are needed"
    return "; ".join(reasons)


def _reason(record: Record) -> str:
    if causes := causes_beside(record, HARMLESS_TO_KNEES):
        return "; ".join(f"{cause.cause}: {cause.detail}" for cause in causes)
    return record.nulls.get("knee_rate", f"different knee, {number(record.knee_rate or 0)}/s")
