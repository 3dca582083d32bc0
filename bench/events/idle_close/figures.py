"""When idle connections were closed, and how long before or after that (in ms) lost requests were sent."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.records.event import CLOSED, KEPT
from bench.records.event_window import EventFigures, Figures, Row, Window
from bench.records.slow_connections import cut


def _figures(window: Window) -> Figures:
    lasted = [one["closed"] - one["opened"] for one in cut(window.slow)]
    begun = {row.connection: row.end for row in window.log if not row.kind and row.end is not None}
    kept = [row for row in window.log if row.kind == KEPT]
    figures: Figures = {
        "opened": len(begun),
        "used": len(kept),
        "seen_closed": sum(row.kind == CLOSED for row in window.log),
        "held": sum(one["how"] == "held" for one in window.slow),
        "watched_s": window.event.idle_most_s,
    }
    if lasted:
        figures |= {"idle_s": median(lasted), "idle_least_s": min(lasted), "idle_most_s": max(lasted)}
        delays = [(row.begun or row.due) - begun[row.connection] - median(lasted) for row in kept if not row.good]
        if delays:
            figures |= {"lost_from_ms": 1000 * min(delays), "lost_to_ms": 1000 * max(delays)}
    if kept:
        figures["lost_per_100000"] = 100_000 * sum(not row.good for row in kept) / len(kept)
    return figures


def _counted(window: Window) -> Sequence[Row]:
    """The requests on kept connections; if no connection was kept that long, or all for longer, the first requests."""
    return [row for row in window.log if row.kind == KEPT] or [row for row in window.log if not row.kind]


FIGURES = EventFigures(figures=_figures, counted=_counted, no_gap="nothing is done to the service in this event")
