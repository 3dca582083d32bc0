"""Events of what a service needs: figures of the requests that need it, and what several events share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bench.records.event_window import Figures, Window


def sums_of_needing(window: Window) -> Figures:
    """The requests that need what is exhausted or missing, by outcome."""
    rows = window.needing
    fates = Counter(row.fate for row in rows if row.fate)
    figures: Figures = {"needs_sent": len(rows), "needs_lost": sum(not row.good for row in rows)}
    figures["needs_timeout_s"] = window.event.needs.timeout_s if window.event.needs else None
    return figures | {f"needs_{fate.value}": count for fate, count in sorted(fates.items())}


def done_to_dependency(window: Window) -> tuple[bool | None, str]:
    """The evidence: an action on a dependency either has its effect or fails."""
    if not window.event.actions:
        return None, ""
    shown_by = "the database's own list of locks" if window.event.watches else "the state of its container"
    return len(window.told.actions) == len(window.event.actions), shown_by


def without_answer(window: Window) -> Iterator[str]:
    """A route that needs the dependency and never answers shows nothing."""
    if window.event.needs and not any(row.good for row in window.needing):
        yield f"no request for {window.event.needs.path} was answered at any time"
