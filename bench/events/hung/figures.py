"""When another worker has started, and answers."""

from __future__ import annotations

from bench.records.event_processes import replaced_worker
from bench.records.event_window import EventFigures

FIGURES = EventFigures(figures=replaced_worker, evidence=lambda window: (True, "the pids of its workers"))
