"""All requests sent while it was away are lost; those sent during `docker stop` and `docker start` may be."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.events.away.cases import AWAY_S, FIRST
from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly, within

AWAY_SLACK_S = 2.0
"""Seconds until a restarted container passes its health check."""


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    gone, back = record.actions
    sent, lost = (record.extras[f"needs{name}_meanwhile"] for name in ("", "_lost"))
    assert isinstance(sent, int) and isinstance(lost, int)
    assert FIRST.needs
    least = math.floor((back.at_s - gone.at_s - gone.took_s) * FIRST.needs.rate)
    yield exactly("lost of those that do not need it", 0, record.lost)
    for when in ("before", "after"):
        yield exactly(f"lost {when}", 0, record.extras[f"needs_lost_{when}"])
    yield Check("lost meanwhile", f"{least} to {sent}", str(lost), least <= lost <= sent)
    yield within(record, "it was away", AWAY_S, record.extras["away_s"], AWAY_SLACK_S)
    yield within(record, "answered again after", 0.0, record.extras["again_s"])


KNOWN = EventChecks(_checks)
