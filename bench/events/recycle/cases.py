"""Workers that end after a number of requests, beside workers that stay."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event, kind_of


def _recycled(event: Event, service: Service, reads: Reads) -> Event | str:
    if reads(service, "MAX_REQUESTS"):
        return f"{service.server.name} has no setting to replace a worker after a number of requests"
    return event


CASES = kind_of(__file__, _recycled)
_, NEVER = (one.case for one in CASES.cases)
