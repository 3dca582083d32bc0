"""Responses that take long wait for a timer: no health check is lost, and each client gives up by itself."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    yield exactly("lost health checks", 0, record.lost)
    yield exactly("clients that gave up", record.extras["needs_sent"], record.extras["needs_lost"])


KNOWN = EventChecks(_checks)
