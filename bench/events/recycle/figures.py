"""How many workers were replaced."""

from __future__ import annotations

from bench.records.event_window import EventFigures, Figures, Window


def _figures(window: Window) -> Figures:
    seen = {pid for _, pids in window.told.workers for pid in pids}
    return {"recycled": len(seen) - len(window.told.before)}


def _recycled(window: Window) -> tuple[bool | None, str]:
    recycles = "MAX_REQUESTS" in window.event.environment
    return window.told.before != window.workers_after if recycles else None, ""


FIGURES = EventFigures(figures=_figures, evidence=_recycled)
