"""Containers are taken out of the proxy first, so no request is in flight when one ends."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    yield exactly("lost requests", 0, record.lost)
    for number in (1, 2):
        yield within(record, f"until container {number} ended", known.exit_s, record.extras[f"exit_{number}_s"])
        yield exactly(f"container {number} had to be killed", False, record.extras[f"killed_{number}"])


KNOWN = EventChecks(_checks)
