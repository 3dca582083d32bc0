"""A million requests, requests after large bodies, and reloads."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event, kind_of
from bench.plan.event_processes import reloaded

BODY_MB = 10


def _kept(event: Event, service: Service, reads: Reads) -> Event | str:
    if event.bodies and service.framework.own:
        return "your own app gets no large bodies"
    return reloaded(event, service, reads) if event.repeats else event


CASES = kind_of(__file__, _kept)
_REQUESTS, _BODIES, _RELOADS = CASES.cases
AFTER_BODIES, RELOADED = _BODIES.case, _RELOADS.case
MILLION, RELOADS = _REQUESTS.most_requests, _RELOADS.repeats
