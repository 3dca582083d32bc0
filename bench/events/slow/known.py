"""The service stops for a while at a number of connections, and closes them after a time."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    steps = [int(action.what.split()[0]) for action in record.actions]
    first = next((k for k in steps if k >= known.slow), None)
    yield exactly("fewest slow connections that stop service", first, record.extras["smallest_k"])
    yield within(record, "longest outage", known.stall_s, record.longest_gap_s)
    yield exactly("slow connections that were closed", record.extras["opened"], record.extras["cut"])
    yield within(record, "after", known.idle_s, record.extras["cut_after_s"])


KNOWN = EventChecks(_checks)
