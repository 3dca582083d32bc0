"""Connections that are kept until the server closes them, and others that are used just then."""

from __future__ import annotations

from bench.plan.event import kind_of

HELD, AROUND_S, OPENED_S = 32, 0.05, 12.0
"""The idle connections that show when the server closes them; the other connections are used within AROUND_S of that
time, and are opened over OPENED_S. In seconds."""
NOT_KEPT_S = 0.2
"""A server that closes idle connections sooner than this keeps none."""
CASES = kind_of(__file__)
