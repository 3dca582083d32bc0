"""Health checks that need a place in the pool fail once waiting requests have taken all; others never fail."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.events.exhausted.cases import HOLD_S, IN_POOL, steps_of
from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    places, pooled = int(known.places), record.case == IN_POOL
    if not pooled:
        yield exactly("lost health checks", 0, record.lost)
    yield exactly(
        "fewest waiting requests beside which one fails", places if pooled else None, record.extras["failing_k"]
    )
    yield exactly("waiting requests that were lost", 0, record.extras["needs_lost"])
    for count in steps_of(places):
        least = math.ceil(count / places) * HOLD_S
        yield within(record, f"the longest of {count} waits", least, record.extras[f"wait_{count}_s"])


KNOWN = EventChecks(_checks)
