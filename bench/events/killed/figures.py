"""When another worker has started, and answers."""

from __future__ import annotations

from bench.records.event_processes import replaced_worker
from bench.records.event_window import EventFigures, Window


def _killed(window: Window) -> tuple[bool, str]:
    pid = window.told.actions[0].get("pid") if window.told.actions else None
    return any(pid not in pids for _, pids in window.told.workers), "the pids of its workers"


FIGURES = EventFigures(figures=replaced_worker, evidence=_killed)
