"""The next worker resets the first requests, and begins when the server says."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.event import EventRecord, Fate
from calibration.checks import Check, EventChecks, Known, exactly, longest_outage, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    back_s = known.back_s + float(record.environment.get("BOOT_S", 0))
    yield exactly("lost requests", int(known.drops), record.lost)
    yield exactly("of these, reset", int(known.drops), record.fates.get(Fate.RESET, 0))
    yield longest_outage(record, back_s)
    yield within(record, "until the new code answers", back_s, record.extras["new_code_s"])
    yield within(record, "until all workers are others", back_s, record.extras["swapped_s"])


KNOWN = EventChecks(_checks)
