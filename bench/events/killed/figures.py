"""When another worker has started, and answers."""

from __future__ import annotations

from bench.records.event_processes import replaced_worker
from bench.records.event_window import EventFigures, Window


def _killed(window: Window) -> tuple[bool, str]:
    pid = window.done[0].get("pid") if window.done else None
    return any(pid not in pids for pids in window.pids_seen), "the pids of its workers"


FIGURES = EventFigures(figures=replaced_worker, evidence=_killed)
