"""Figures of requests that need an exhausted or missing dependency, and of other requests sent meanwhile."""

from __future__ import annotations

import math
from collections import Counter

from bench.records.event_window import Window, end_of

Figures = dict[str, float | int | str | bool | None]


def exhausted(window: Window) -> Figures:
    """For each burst: how long its requests waited, and the health checks sent meanwhile."""
    figures, failing = _sums(window), list[int]()
    starts = [*(rows[0].due for rows in window.bursts.values()), math.inf]
    for (count, rows), later in zip(window.bursts.items(), starts[1:], strict=True):
        # A request of an earlier burst may still wait when the next one begins.
        last = min(max(map(end_of, rows)), later)
        checks = [row for row in window.log if rows[0].due <= row.due < last]
        waits = [row.latency for row in rows if row.good]
        figures |= {f"lost_{count}": sum(not row.good for row in rows), f"wait_{count}_s": max(waits, default=None)}
        figures |= {f"checks_{count}": len(checks), f"checks_lost_{count}": sum(not row.good for row in checks)}
        failing += [count] * any(not row.good for row in checks)
    most = max(window.bursts, default=None)
    figures |= {"most_waiting": most, "failing_k": min(failing, default=None)}
    figures |= {"longest_wait_s": figures[f"wait_{most}_s"] if most else None}
    figures["places"] = window.event.needs.places if window.event.needs else None
    return figures | _connections(window)


def _connections(window: Window) -> Figures:
    """Connections to the database: before the first burst, at most, at the end, and of these those still in use."""
    if not window.connections:
        return {}
    before = [total for at, total, _ in window.connections if at < window.at]
    _, after, used = window.connections[-1]
    return {
        "connections_before": before[-1] if before else None,
        "connections_most": max(total for _, total, _ in window.connections),
        "connections_after": after,
        "connections_used_after": used,
    }


def away(window: Window) -> Figures:
    """Requests before, during and after the absence of their dependency, and the time from its return to a response."""
    figures = _sums(window)
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


def _sums(window: Window) -> Figures:
    rows = window.needing
    fates = Counter(row.fate for row in rows if row.fate)
    found: Figures = {"needs_sent": len(rows), "needs_lost": sum(not row.good for row in rows)}
    found["needs_timeout_s"] = window.event.needs.timeout_s if window.event.needs else None
    return found | {f"needs_{fate.value}": count for fate, count in sorted(fates.items())}
