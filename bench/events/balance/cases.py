"""Pooled, kept and new connections to four workers, with requests that take CPU or hardly any."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event, kind_of


def _workers(event: Event, service: Service, reads: Reads) -> Event | str:
    return f"{service.server.name} has one process" if reads(service, "WORKERS") else event


CASES = kind_of(__file__, _workers)
