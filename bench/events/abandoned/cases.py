"""Ten clients a second that give up after 0.1 s on responses that take 2 s, beside health checks."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import NO_CASE, Event, Kind, Needs, Question
from bench.plan.event_dependencies import health_checks

RATE, PATIENCE_S, RESPONSE_S, LOAD_S = 10.0, 0.1, 2.0, 12.0
"""Clients a second, how long they wait, how long a response takes, and the load: servers that notice nothing serve
RATE x RESPONSE_S of them at once."""
OWN_APP = "it is not known which of its responses take long"


def _on(event: Event, service: Service, reads: Reads) -> Event | str:
    return OWN_APP if service.framework.own else event


CASES = Kind(
    f"{RATE:g} clients a second that give up after {PATIENCE_S:g} s on a response that takes {RESPONSE_S:g} s",
    "plaintext",
    (
        health_checks(
            "abandoned",
            NO_CASE,
            LOAD_S,
            Needs(timeout_s=PATIENCE_S, path=f"/?duration={RESPONSE_S * 1000:.0f}", rate=RATE),
        ),
    ),
    _on,
    floor=False,
    question=Question.SLOW_CLIENTS,
)
