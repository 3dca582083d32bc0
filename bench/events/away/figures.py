"""Requests before, during and after the absence of their dependency, and the time from its return to a response."""

from __future__ import annotations

from bench.records.event_dependencies import done_to_dependency, sums_of_needing, without_answer
from bench.records.event_window import EventFigures, Figures, Window


def _figures(window: Window) -> Figures:
    figures = sums_of_needing(window)
    if len(window.actions) < 2:
        return figures
    gone, back = window.actions[:2]
    back_s = back.at_s + back.took_s
    parts = {
        "before": [row for row in window.needing if row.due < gone.at_s],
        "meanwhile": [row for row in window.needing if gone.at_s <= row.due < back_s],
        "after": [row for row in window.needing if row.due >= back_s],
    }
    for name, rows in parts.items():
        figures |= {f"needs_{name}": len(rows), f"needs_lost_{name}": sum(not row.good for row in rows)}
    again = [row.end for row in window.needing if row.good and row.end is not None and row.end >= back.at_s]
    figures["away_s"] = back_s - gone.at_s
    figures["again_s"] = max(0.0, min(again) - back_s) if again else None
    return figures


FIGURES = EventFigures(figures=_figures, evidence=done_to_dependency, causes=without_answer)
