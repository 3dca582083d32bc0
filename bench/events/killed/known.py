"""Requests in flight are lost, and later ones wait for the next worker."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.plan.event import LOOK_S
from bench.records.event import EventRecord, Fate
from calibration.checks import Check, EventChecks, Known, behind_s, exactly, longest_outage, within

WAITED = (Fate.REFUSED, Fate.TIMED_OUT)
"""Impossible fates if connections wait for the next worker, and for less than the client's timeout."""


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    """Besides requests in flight, one is lost if its connection was checked just before the signal.

    If the client waited for a CPU at that moment, none was in flight, but those that it then sent are lost.
    """
    under_way = record.extras["under_way_lost"]
    assert isinstance(under_way, int)
    least, most = max(1, under_way), under_way + math.ceil((2 * LOOK_S + behind_s(record)) * (record.rate or 0))
    yield Check("lost requests", f"{least} to {most}", str(record.lost), least <= record.lost <= most)
    yield exactly("of these, refused or timed out", 0, sum(record.fates.get(one, 0) for one in WAITED))
    yield within(record, "until a new worker starts", known.back_s, record.extras["started_s"])
    yield within(record, "until it answers", known.back_s, record.extras["restored_s"])
    yield longest_outage(record, known.back_s)


KNOWN = EventChecks(_checks)
