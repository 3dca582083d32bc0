"""SIGTERM to the server, which is not started again."""

from __future__ import annotations

from bench.plan.event import kind_of

CASES = kind_of(__file__)
