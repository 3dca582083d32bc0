"""All requests in flight are lost, but one may still be answered between the clock's reading and the signal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.records.event import EventRecord, Fate
from calibration.checks import Check, EventChecks, Known, behind_s, exactly, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    under_way = record.extras["under_way"]
    assert isinstance(under_way, int)
    least = max(1, under_way - 1 - math.floor(behind_s(record) * (record.rate or 0)))
    truth = f"of {under_way} under way at least {least}"
    yield Check("lost requests", truth, str(record.lost), least <= record.lost <= under_way)
    yield exactly("of these, reset", record.lost, record.fates.get(Fate.RESET, 0))
    yield exactly("fate of the response that takes 5 s", Fate.RESET.value, record.extras["long_fate"])
    yield within(record, "until it ended", known.exit_s, record.exit_s)


KNOWN = EventChecks(_checks)
