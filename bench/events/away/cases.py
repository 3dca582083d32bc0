"""The database or the upstream stopped, or silent, for some seconds."""

from __future__ import annotations

from bench.plan.event import BEFORE_S, Event, EventCase, Kind, Needs, Question
from bench.plan.event_dependencies import HEALTH_RATE, OWN_APP, health_checks
from driver.messages import Action

AWAY_S, AFTER_S = 5.0, 6.0
"""Seconds that a dependency is down, and that the service is watched afterwards."""
NEEDS_TIMEOUT_S = 2.0


def _without(what: str, case: str, scenario: str, do: str, back: str) -> Event:
    needs = Needs(timeout_s=NEEDS_TIMEOUT_S, scenario=scenario, rate=HEALTH_RATE)
    actions = (Action(BEFORE_S, do, to=what), Action(BEFORE_S + AWAY_S, back, to=what))
    return health_checks(
        "away", EventCase(f"{what} {case}"), BEFORE_S + AWAY_S + AFTER_S, needs, actions=actions, apart_s=0.0
    )


CASES = Kind(
    f"database or upstream stopped, or silent, for {AWAY_S:g} s, beside routes that do not need them",
    "plaintext",
    tuple(
        _without(what, case, scenario, do, back)
        for what, scenario in (("database", "db-raw"), ("upstream", "simple-request-20"))
        for case, do, back in (("stopped", "stop", "start"), ("silent", "pause", "unpause"))
    ),
    lambda event, service, _: OWN_APP if service.framework.own else event,
    floor=False,
    question=Question.DEPENDENCIES,
)
