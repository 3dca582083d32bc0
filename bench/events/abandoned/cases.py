"""Clients that give up on slow responses, beside health checks."""

from __future__ import annotations

from bench.plan.event import kind_of
from bench.plan.event_dependencies import not_of_own_apps

CASES = kind_of(__file__, not_of_own_apps)
