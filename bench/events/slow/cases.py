"""More and more connections that send or read hardly anything, until they have stopped the service."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event, kind_of


def _slowed(event: Event, service: Service, reads: Reads) -> Event | str:
    if event.slow == "read" and (service.framework.own or reads(service, "LARGE_MB")):
        return f"{service.framework.name} has no response of {event.environment['LARGE_MB']} MB"
    return event


CASES = kind_of(__file__, _slowed)
