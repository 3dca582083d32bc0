"""What becomes of requests in flight, idle connections, the long response, and of requests sent later."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median

from bench.records.event_window import EventFigures, Figures, Window, end_of
from bench.records.slow_connections import cut


def _figures(window: Window) -> Figures:
    counted = set(map(id, window.sent_before))
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


FIGURES = EventFigures(
    figures=_figures,
    # No one can answer later ones.
    counted=lambda window: window.sent_before if window.actions else window.log,
    no_gap="the service was stopped for good",
    evidence=lambda window: (window.told.ended_ns is not None, "its container ended"),
)
