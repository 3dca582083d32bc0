"""Workers that end after a number of requests, beside workers that stay."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event, EventCase, Kind, Question, easy

MAX_REQUESTS, JITTER = 1000, 100
RATE = 800.0
"""Requests/s, enough to recycle each of four workers several times in a window."""
RECYCLED, NEVER = EventCase(f"every {MAX_REQUESTS}"), EventCase("never")


def _recycled(event: Event, service: Service, reads: Reads) -> Event | str:
    if reads(service, "MAX_REQUESTS"):
        return f"{service.server.name} has no setting to replace a worker after a number of requests"
    return event


CASES = Kind(
    f"workers end after {MAX_REQUESTS:,} requests (and up to {JITTER} more), beside workers that stay",
    "plaintext",
    (
        easy(
            "recycle",
            RECYCLED,
            10.0,
            most_rate=RATE,
            environment={"MAX_REQUESTS": str(MAX_REQUESTS), "MAX_REQUESTS_JITTER": str(JITTER)},
            most_beside=1,
        ),
        easy("recycle", NEVER, 6.0, most_rate=RATE, most_beside=1),
    ),
    _recycled,
    floor=False,
    question=Question.DEPLOY,
)
