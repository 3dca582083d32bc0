"""Pooled, kept and new connections to four workers, with requests that take CPU or hardly any."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import MOST_BESIDE, Event, EventCase, Kind, Losses, Phase, Question

SHARE, RATE = 0.6, 80.0
"""The share of the capacity and the most requests/s: more than easy, so that an overloaded worker gets a queue."""
AS_IT_COMES_S, BETWEEN_S = 5.0, 1.0
HEAVY_MS = 5


def _workers(event: Event, service: Service, reads: Reads) -> Event | str:
    if service.framework.own:
        return "the responses of your own app do not say which worker sent them"
    if reads(service, "WORKERS"):
        return f"{service.server.name} has one process"
    return event


def _shared(case: EventCase, pool: int, heavy: bool) -> Event:
    seconds = (AS_IT_COMES_S, BETWEEN_S, AS_IT_COMES_S) if pool else (AS_IT_COMES_S,)
    return Event(
        name="balance",
        case=case,
        phases=tuple(Phase(SHARE, one) for one in seconds),
        pool=pool,
        most_rate=RATE,
        even_from=2 if pool else None,
        most_beside=1 if heavy else MOST_BESIDE,
        environment={"TELL_PID": "1"} | ({"WORK_MS": str(HEAVY_MS)} if heavy else {}),
    )


CASES = Kind(
    f"8 pooled, 64 kept-alive and new connections to four workers; requests plain or of {HEAVY_MS} ms of CPU",
    "plaintext",
    tuple(
        _shared(EventCase(f"{name}, {work}"), pool, heavy)
        for work, heavy in (("plain", False), (f"{HEAVY_MS} ms of CPU", True))
        for name, pool in (("8 pooled", 8), ("64 kept-alive", 64), ("new connections", 0))
    ),
    _workers,
    question=Question.WORKERS,
    losses=Losses.BESIDE,
)
