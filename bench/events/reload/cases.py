"""The documented reload, with and without kept connections, of an app that boots at once or slowly."""

from __future__ import annotations

from bench.plan.event import kind_of
from bench.plan.event_processes import reloaded

CASES = kind_of(__file__, reloaded)
