"""SIGKILL to a worker."""

from __future__ import annotations

from bench.plan.event_processes import struck

CASES = struck("killed", "KILL", 25.0)
