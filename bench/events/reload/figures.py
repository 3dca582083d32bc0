"""When the new code answers, and when all workers are new."""

from __future__ import annotations

from bench.records.event_processes import answers_of_new_workers, workers_replaced
from bench.records.event_window import EventFigures, Figures, Window


def _figures(window: Window) -> Figures:
    ends = answers_of_new_workers(window)
    return {
        "new_code_s": min(ends) - window.at if ends else None,
        "swapped_s": window.since(window.told.until_ns),
        "ended_s": window.since(window.told.ended_ns),
    }


FIGURES = EventFigures(figures=_figures, evidence=workers_replaced)
