"""Whether a killed worker is replaced."""

from __future__ import annotations

from bench.words.event_workers import lost_worker

WORDS = lost_worker("a killed worker of {}", outage="after a worker was killed", decides="respawn")
