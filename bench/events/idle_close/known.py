"""The first connections show when the server closes idle ones; later requests that arrive then are reset."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.event import EventRecord, Fate
from calibration.checks import Check, EventChecks, Known, exactly, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    yield exactly("connections that it has not closed", 0, record.extras["held"])
    yield within(record, "an idle connection is closed after", known.idle_s, record.extras.get("idle_s"))
    yield Check("lost requests", "some", str(record.lost), record.lost > 0)
    yield exactly("of these, reset", record.lost, record.fates.get(Fate.RESET, 0))


# Each request follows the previous response.
KNOWN = EventChecks(_checks, scheduled=False)
