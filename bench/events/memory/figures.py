"""Samples of memory or file descriptors, and the amount of work between them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.core.files import items
from bench.records.closed_loop import Part, parts_of
from bench.records.event import BODY, Action, GrowthSample
from bench.records.event_processes import workers_replaced
from bench.records.event_window import EventFigures, Figures, Window

AT_REST_S = 1.5
"""Seconds without load at the end of the window."""


def _points(window: Window) -> list[GrowthSample]:
    """The median memory in each part, or the file descriptors after each reload."""
    if window.event.repeats:
        counts = enumerate(count for _, count in window.told.descriptors)
        return [GrowthSample(float(at), float(count)) for at, count in counts if count is not None]
    samples, done = [], 0
    for part in parts_of(window):
        sizes = [size for at, size in window.memory if part.begin <= at <= part.end]
        if sizes and part.answered:
            samples.append(GrowthSample(done + part.answered / 2, float(median(sizes))))
        done += part.answered
    return samples


def _figures(window: Window) -> Figures:
    """The amount of work, and the file descriptors, or memory that large bodies leave behind."""
    if window.event.repeats:
        known = [count for _, count in window.told.descriptors if count is not None]
        return {
            "reloads": len(window.actions),
            "descriptors_before": known[0] if known else None,
            "descriptors_after": known[-1] if known else None,
        }
    parts = parts_of(window)
    figures: Figures = {
        "requests": sum(part.answered for part in parts),
        "parts_s": sum(part.end - part.begin for part in parts),
    }
    return figures | (_bodies(window, parts) if window.event.bodies else {})


def _bodies(window: Window, parts: Sequence[Part]) -> Figures:
    bodies = [row for row in window.log if row.kind == BODY]
    begin, end = (at / 1e9 for at in window.tool["bodies_ns"])
    during = [size for at, size in window.memory if begin <= at <= end + 0.5]
    last = max((at for at, _ in window.memory), default=0.0)
    at_rest = [size for at, size in window.memory if at > max(last - AT_REST_S, parts[-1].end if parts else end)]
    before = window.memory_before
    known = during and at_rest and before is not None
    return {
        "bodies": len(bodies),
        "bodies_answered": sum(row.good for row in bodies),
        "grown_bytes": max(during) - before if known and before is not None else None,
        "kept_bytes": round(median(at_rest)) - before if known and before is not None else None,
    }


def _large_bodies(window: Window) -> tuple[Action, ...]:
    if bodies := items(window.tool.get("bodies_ns")):
        return (Action(f"{window.event.bodies} large bodies", bodies[0] / 1e9, (bodies[1] - bodies[0]) / 1e9),)
    return ()


FIGURES = EventFigures(
    figures=_figures,
    points=_points,
    acted=_large_bodies,
    evidence=lambda window: workers_replaced(window) if window.event.actions else (None, ""),
)
