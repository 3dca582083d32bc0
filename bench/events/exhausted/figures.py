"""For each burst: how long its requests waited, and the health checks sent meanwhile."""

from __future__ import annotations

import math

from bench.records.event import Action
from bench.records.event_dependencies import done_to_dependency, sums_of_needing, without_answer
from bench.records.event_window import EventFigures, Figures, Window, end_of


def _figures(window: Window) -> Figures:
    figures, failing = sums_of_needing(window), list[int]()
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
    samples = [(at / 1e9, total, used) for at, total, used in window.told.connections]
    if not samples:
        return {}
    before = [total for at, total, _ in samples if at < window.at]
    _, after, used = samples[-1]
    return {
        "connections_before": before[-1] if before else None,
        "connections_most": max(total for _, total, _ in samples),
        "connections_after": after,
        "connections_used_after": used,
    }


def _bursts(window: Window) -> tuple[Action, ...]:
    if window.event.needs and window.event.needs.steps:
        return tuple(Action(f"{count} waiting requests", rows[0].due) for count, rows in window.bursts.items())
    return ()


FIGURES = EventFigures(figures=_figures, acted=_bursts, evidence=done_to_dependency, causes=without_answer)
