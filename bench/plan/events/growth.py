"""Events that look for leaks and uneven load: memory, file descriptors, balance between workers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import MOST_BESIDE, SWAPPED, Event, EventCase, Kind, Phase, Question, easy
from bench.plan.events.processes import ALL_APART_S, reloaded

MILLION, PARTS = 1_000_000, 10
CONNECTIONS = 64
SECONDS, BODIES_S, RELOADS_S = 10.0, 6.0, 90.0
"""The most seconds for a million requests (--duration replaces them), for the load after large bodies, and for twenty
reloads."""
BODIES, BODY_MB = 32, 10
RELOADS, RELOAD_RATE = 20, 20.0
"""Reloads, and new connections per second beside them: so few that hardly any is open when descriptors are counted."""
RELOADED_BESIDE = 4
"""Services side by side, because each of them reloads all the time."""
BALANCE, BALANCE_RATE = 0.6, 80.0
"""The share of the capacity and the most requests/s: more than easy, so that an overloaded worker gets a queue."""
AS_IT_COMES_S, BETWEEN_S = 5.0, 1.0
HEAVY_MS = 5
REQUESTS, LARGE = EventCase("requests", work="requests"), EventCase(f"{BODY_MB} MB bodies", work="bodies")


def _kept(event: Event, service: Service, reads: Reads) -> Event | str:
    if event.bodies and service.framework.own:
        return "your own app gets no large bodies"
    return reloaded(event, service, reads) if event.repeats else event


def _workers(event: Event, service: Service, reads: Reads) -> Event | str:
    if service.framework.own:
        return "the responses of your own app do not say which worker sent them"
    if reads(service, "WORKERS"):
        return f"{service.server.name} has one process"
    return event


def _in_parts(case: EventCase, seconds: float, **more: int | Mapping[str, str]) -> Event:
    return Event(
        name="memory",
        case=case,
        phases=(Phase(1.0, seconds),),
        parts=PARTS,
        pool=CONNECTIONS,
        most_rate=None,
        most_beside=1,
        **more,  # type: ignore[arg-type]
    )


def _shared(case: EventCase, pool: int, heavy: bool) -> Event:
    seconds = (AS_IT_COMES_S, BETWEEN_S, AS_IT_COMES_S) if pool else (AS_IT_COMES_S,)
    return Event(
        name="balance",
        case=case,
        phases=tuple(Phase(BALANCE, one) for one in seconds),
        pool=pool,
        most_rate=BALANCE_RATE,
        even_from=2 if pool else None,
        most_beside=1 if heavy else MOST_BESIDE,
        environment={"TELL_PID": "1"} | ({"WORK_MS": str(HEAVY_MS)} if heavy else {}),
    )


GROWTH: Mapping[str, Kind] = MappingProxyType(
    {
        "memory": Kind(
            f"memory over a million requests in ten parts, at most {SECONDS:.0f} s, and after {BODIES} bodies of"
            f" {BODY_MB} MB; file descriptors over {RELOADS} reloads",
            "plaintext",
            (
                _in_parts(REQUESTS, SECONDS, most_requests=MILLION),
                _in_parts(LARGE, BODIES_S, bodies=BODIES, environment={"TAKE_BODIES": "1"}),
                easy(
                    "memory",
                    EventCase(f"{RELOADS} reloads", work="reloads"),
                    RELOADS_S,
                    until=SWAPPED,
                    repeats=RELOADS,
                    settle_s=1.0,
                    pool=0,
                    most_rate=RELOAD_RATE,
                    environment={"WORKERS": "1"},
                    most_beside=RELOADED_BESIDE,
                    apart_s=ALL_APART_S,
                ),
            ),
            _kept,
            question=Question.WORKERS,
        ),
        "balance": Kind(
            f"8 pooled, 64 kept-alive and new connections to four workers; requests plain or of {HEAVY_MS} ms of CPU",
            "plaintext",
            tuple(
                _shared(EventCase(f"{name}, {work}"), pool, heavy)
                for work, heavy in (("plain", False), (f"{HEAVY_MS} ms of CPU", True))
                for name, pool in (("8 pooled", 8), ("64 kept-alive", 64), ("new connections", 0))
            ),
            _workers,
            question=Question.WORKERS,
        ),
    }
)
