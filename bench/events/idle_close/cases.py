"""Connections that are kept until the server closes them, and others that are used just then."""

from __future__ import annotations

from bench.plan.event import SWEPT, EventCase, Kind, Losses, Question, easy

HELD, AROUND_S, OPENED_S = 32, 0.05, 12.0
"""The idle connections that show when the server closes them; the other connections are used within AROUND_S of that
time, and are opened over OPENED_S. In seconds."""
WATCHED_S = (20.0, 65.0)
"""Seconds for which idle connections are watched; most proxies keep theirs for 60 s."""
NOT_KEPT_S = 0.2
"""A server that closes idle connections sooner than this keeps none."""
CASES = Kind(
    f"kept-alive connections, used again within {1000 * AROUND_S:.0f} ms of the server's idle timeout",
    "delay-50",
    tuple(
        easy(
            "idle-close",
            EventCase(f"up to {most_s:g} s"),
            2 * most_s + OPENED_S + 3.0,
            until=SWEPT,
            idle_most_s=most_s,
        )
        for most_s in WATCHED_S
    ),
    question=Question.IDLE,
    losses=Losses.INTENDED,
    for_good=True,
    # Many servers close idle connections after 5 s; the others are watched to the end.
    usual_s=lambda event: OPENED_S + event.idle_most_s / 2,
)
