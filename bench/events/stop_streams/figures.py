"""What becomes of open WebSockets and streams: told to end, ended without a word, or held until the server is gone."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median

from bench.records.event_window import EventFigures, Figures, Window
from bench.records.slow_connections import TAKEN, cut


def _figures(window: Window) -> Figures:
    open_ = [one for one in window.slow if one["status"] in TAKEN and (one["closed"] or math.inf) > window.at]
    closed = [one["closed"] - window.at for one in cut(open_)]
    words = Counter(one["told"] for one in open_ if one["told"])
    before = set(map(id, window.sent_before))
    return {
        "sent_after": sum(row.fate is not None for row in window.log if id(row) not in before),
        "streams": len(open_),
        "streams_refused": len(window.slow) - sum(one["status"] in TAKEN for one in window.slow),
        "streams_told": sum(words.values()),
        "streams_word": words.most_common(1)[0][0] if words else None,
        "streams_held": sum(one["how"] == "held" for one in open_),
        "streams_closed": len(closed),
        "streams_closed_s": median(closed) if closed else None,
    }


def _evidence(window: Window) -> tuple[bool | None, str]:
    """A service that waits for its streams outlasts the window."""
    if any(one["how"] == "held" for one in window.slow):
        return bool(window.actions), "the signal was sent, and streams stayed open"
    return window.told.ended_ns is not None, "its container ended"


FIGURES = EventFigures(
    figures=_figures,
    # No one can answer later ones.
    counted=lambda window: window.sent_before if window.actions else window.log,
    no_gap="the service was stopped for good",
    evidence=_evidence,
)
