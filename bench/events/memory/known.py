"""The leak must be within the interval of the growth, except for the few pages that the heap itself adds."""

from __future__ import annotations

from collections.abc import Iterator

from bench.events.memory.cases import RELOADS
from bench.records.event import EventRecord
from bench.stats.event_counts import GROWS, LEAST_DESCRIPTORS, NEGLIGIBLE, STEADY, slope
from calibration.checks import Check, EventChecks, Known, exactly

HEAP = 0.05
"""What the heap itself may add to a leak, as a share of it."""


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    reloads = record.extras.get("reloads")
    assert reloads is None or isinstance(reloads, int)
    if reloads is None:
        yield exactly("lost requests", 0, record.lost)
        truth, unit, least = known.leak, "bytes a request", NEGLIGIBLE
    else:
        yield exactly("reloads", RELOADS, reloads)
        yield exactly("lost requests", int(known.drops) * reloads, record.lost)
        truth, unit, least = known.files, "files a reload", LEAST_DESCRIPTORS
    growth = slope([[(point.done, point.held) for point in record.points]], least)
    yield exactly("memory or files", STEADY if truth < least else GROWS, growth.word)
    if growth.mean is not None and growth.low is not None and growth.high is not None:
        span = f"{growth.mean:.2f} ({growth.low:.2f} to {growth.high:.2f}) {unit}"
        more = max(HEAP * truth, least / 4)
        yield Check("growth", f"{truth:g} {unit}", span, growth.low - more <= truth <= growth.high + more)


KNOWN = EventChecks(_checks)
