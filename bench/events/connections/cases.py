"""Thousands of connections that are idle after one response."""

from __future__ import annotations

from bench.plan.event import kind_of

CASES = kind_of(__file__)
