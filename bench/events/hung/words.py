"""Whether a hung worker is replaced."""

from __future__ import annotations

from bench.words.event_workers import lost_worker

WORDS = lost_worker("a hung worker of {}", outage="after a worker hung", decides="timeout")
