"""What becomes of requests in flight, idle connections, the long response, and of requests sent later."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from bench.records.event_window import EventFigures, Figures, Row, Window, end_of
from bench.records.slow_connections import cut


def _figures(window: Window) -> Figures:
    counted = set(map(id, _before(window)))
    later = Counter(row.fate for row in window.log if id(row) not in counted and row.fate)
    long = next((row for row in window.log if row.kind), None)
    figures: Figures = {
        "long_fate": None if long is None or long.fate is None else long.fate.value,
        "long_s": None if long is None or long.end is None else long.end - long.due,
    }
    idle = [one for one in window.slow if one["how"] != "refused" and (one["closed"] or math.inf) > window.at]
    closed = [one["closed"] - window.at for one in cut(idle)]
    figures |= {"idle": len(idle), "idle_closed": len(closed), "idle_closed_s": median(closed) if closed else None}
    told = {row.connection: row.told_close for row in window.log if row.good and end_of(row) > window.at}
    figures |= {"still_answered": len(told), "told_to_close": sum(told.values())}
    return figures | {"sent_after": sum(later.values())} | {f"{fate.value}_after": n for fate, n in later.items()}


def _before(window: Window) -> Sequence[Row]:
    """The requests sent before the stop: no one can answer later ones."""
    return [row for row in window.log if row.begun is not None and row.begun <= window.at]


FIGURES = EventFigures(
    figures=_figures,
    counted=lambda window: _before(window) if window.actions else window.log,
    no_gap="the service was stopped for good",
    evidence=lambda window: (window.told.ended_ns is not None, "its container ended"),
)
