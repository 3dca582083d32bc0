"""SIGSTOP to a worker. Few servers replace it, so that most windows last as long as they may."""

from __future__ import annotations

from dataclasses import replace

from bench.plan.event_processes import struck

CASES = replace(struck("hung", "STOP", 45.0), usual_s=lambda event: event.seconds)
