"""A million requests, requests after large bodies, and reloads."""

from __future__ import annotations

from typing import Any

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import SWAPPED, Event, EventCase, Kind, Losses, Phase, Question, easy
from bench.plan.event_processes import ALL_APART_S, reloaded

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
AFTER_BODIES, RELOADED = EventCase(f"{BODY_MB} MB bodies"), EventCase(f"{RELOADS} reloads")


def _kept(event: Event, service: Service, reads: Reads) -> Event | str:
    if event.bodies and service.framework.own:
        return "your own app gets no large bodies"
    return reloaded(event, service, reads) if event.repeats else event


def _in_parts(case: EventCase, seconds: float, **more: Any) -> Event:
    alone: dict[str, Any] = {"parts": PARTS, "pool": CONNECTIONS, "most_rate": None, "most_beside": 1}
    return Event(name="memory", case=case, phases=(Phase(1.0, seconds),), **alone, **more)


CASES = Kind(
    f"memory over a million requests in ten parts, at most {SECONDS:.0f} s, and after {BODIES} bodies of"
    f" {BODY_MB} MB; file descriptors over {RELOADS} reloads",
    "plaintext",
    (
        _in_parts(EventCase("requests"), SECONDS, most_requests=MILLION),
        _in_parts(AFTER_BODIES, BODIES_S, bodies=BODIES, environment={"TAKE_BODIES": "1"}),
        easy(
            "memory",
            RELOADED,
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
    losses=Losses.NOT_COMPARED,
    usual_s=lambda event: event.seconds / 2 if event.repeats else event.seconds,
)
