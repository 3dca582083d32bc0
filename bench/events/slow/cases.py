"""More and more connections that send or read hardly anything, until they have stopped the service."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import BEFORE_S, Event, EventCase, Kind, Losses, Question, easy

STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SEEN_S = 42.0
"""Seconds to watch the first slow connections: servers close them after 30 s or less, or after 60 s or more."""
LARGE_MB = 10
_SLOW: tuple[tuple[str, str, str], ...] = (
    ("silent", "silent", ""),
    ("a header byte a second", "header", ""),
    ("a body byte a second", "body", "/echo"),
    (f"{LARGE_MB} MB read a KB a second", "read", "/large"),
)
"""(case, what the connections do, path that they request)."""


def _slowed(event: Event, service: Service, reads: Reads) -> Event | str:
    if event.slow == "read" and (service.framework.own or reads(service, "LARGE_MB")):
        return f"{service.framework.name} has no response of {LARGE_MB} MB"
    return event


CASES = Kind(
    "1 to 256 slow connections: silent, or each second a byte of a header or of a body, or a KB read of 10 MB",
    "plaintext",
    tuple(
        easy(
            "slow",
            EventCase(case),
            BEFORE_S + SEEN_S,
            slow=slow,
            slow_steps=STEPS,
            pool=0,
            timeout_s=1.0,
            most_rate=50.0,
            slow_path=path,
            environment={"LARGE_MB": str(LARGE_MB)} if slow == "read" else {},
        )
        for case, slow, path in _SLOW
    ),
    _slowed,
    question=Question.SLOW_CLIENTS,
    losses=Losses.INTENDED,
)
