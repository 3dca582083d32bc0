"""The database or the upstream stopped, or silent, for some seconds."""

from __future__ import annotations

from bench.plan.event import kind_of

CASES = kind_of(__file__)
FIRST = CASES.cases[0]
GONE_S, BACK_S = (action.at_s for action in FIRST.actions)
AWAY_S, AFTER_S = BACK_S - GONE_S, FIRST.seconds - BACK_S
"""Seconds that a dependency is down, and that the service is watched afterwards."""
