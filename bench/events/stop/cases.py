"""SIGTERM to the server, which is not started again."""

from __future__ import annotations

from bench.plan.event import BEFORE_S, ENDED, NO_CASE, Kind, Question, easy
from driver.messages import Action

IDLE = 16
"""Connections that are idle when the server is told to stop, like those that a proxy keeps."""
CASES = Kind(
    "SIGTERM with requests in flight, idle connections and a response that takes 5 s",
    "delay-50",
    (
        easy(
            "stop",
            NO_CASE,
            45.0,
            actions=(Action(BEFORE_S, "stop", "TERM", "main"),),
            until=ENDED,
            slow="idle",
            slow_steps=(IDLE,),
            settle_s=1.0,
            timeout_s=10.0,
            long_path="/?duration=5000",
        ),
    ),
    question=Question.DEPLOY,
    for_good=True,
)
