"""Thousands of connections that are idle after one response."""

from __future__ import annotations

from bench.plan.event import MOST_BESIDE, EventCase, Kind, Question, easy

MOST_IDLE = 10_000
"""Idle connections of all services side by side: opening more keeps the client too busy to send its load in time."""
CASES = Kind(
    "1,000 and 5,000 connections, idle after one response, beside a light load",
    "plaintext",
    tuple(
        easy(
            "connections",
            EventCase(f"{count} idle"),
            18.0,
            slow="idle",
            slow_steps=(count,),
            most_beside=min(MOST_BESIDE, MOST_IDLE // count),
            slow_step_s=10.0,
            # What each worker may hold of idle connections, where its server has a limit: as much as waitress is given.
            environment={"CONNECTIONS": "4096"},
            # Each service gets thousands of connections.
            apart_s=2.0,
        )
        for count in (1000, 5000)
    ),
    question=Question.IDLE,
)
