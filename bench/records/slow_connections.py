"""Connections that are slow or idle on purpose: how long they last, and what they cost. Several events have them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any

from bench.records.event import Action
from bench.records.event_window import EventFigures, Figures, Row, Window

STOPPED_SHARE = 0.5
LEAST_OPEN = 64
"""Minimum number of slow connections open at the same time for a figure of memory per connection: the memory of fewer
is lost among the service's other allocations. For slow readers, whose responses are large, one is enough."""
WORDS = {
    "silent": "silent connections",
    "header": "slow headers",
    "body": "slow bodies",
    "read": "slow readers",
    "idle": "idle connections",
    "websocket": "WebSockets",
    "stream": "event streams",
}
WHOLE = ("read", "idle", "websocket", "stream")
"""Those that send a whole request."""
TAKEN = (101, 200)
"""The statuses with which a service takes one of these."""


def cut(connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that the server closed."""
    return [one for one in connections if one["how"] in ("eof", "reset") and one["closed"]]


def _figures(window: Window) -> Figures:
    closed = cut(window.slow)
    ended = [one["closed"] - one["opened"] for one in closed]
    how = Counter(str(one["how"]) for one in window.slow)
    status = Counter(one["status"] for one in closed if one["status"] >= 400).most_common(1)
    figures: Figures = {
        "opened": len(window.slow),
        "most_k": max((one["k"] for one in window.slow), default=0),
        "smallest_k": next((k for k, rows in _steps(window) if _is_stopped(rows)), None),
        "slow_answered": sum(one["status"] in TAKEN for one in window.slow),
        "cut": len(ended),
        "cut_after_s": median(ended) if ended else None,
        "cut_status": status[0][0] if status else None,
        **{f"slow_{name}": count for name, count in sorted(how.items())},
    }
    first, most = window.actions[0].at_s if window.actions else 0.0, _most_open(window.slow, window.event.slow)
    later = [size for at, size in window.memory if at > first]
    stands_out = most >= (1 if window.event.slow == "read" else LEAST_OPEN)
    if stands_out and later and window.memory_before is not None and not window.told.oom_kills:
        taken = max(later) - window.memory_before
        # Memory that was freed meanwhile hides what the connections take; it does not show that they take nothing.
        if taken > 0:
            figures["kb_per_connection"] = taken / most / 1024
    held_up = [(k, rows) for k, rows in _steps(window) if not _is_stopped(rows)]
    if held_up:
        k, rows = held_up[-1]
        figures |= {"p99_beside_k": k, "p99_beside_s": window.p99(rows)}
    return figures


def _most_open(slow: Sequence[Mapping[str, Any]], kind: str) -> int:
    """The maximum number of slow connections open at the same time.

    Those that send a whole request count only if they got a response: others may be in the server's backlog.
    """
    taken = [one for one in slow if one["how"] != "refused" and (one["status"] or kind not in WHOLE)]
    changes = [(one["opened"], 1) for one in taken] + [(one["closed"], -1) for one in taken if one["closed"]]
    return max(accumulate(change for _, change in sorted(changes)), default=0)


def _steps(window: Window) -> Iterator[tuple[int, Sequence[Row]]]:
    """For each step, the number of slow connections and the other requests that were due meanwhile."""
    steps = [*window.actions, Action("", math.inf)]
    for (number, action), later in zip(enumerate(window.actions), steps[1:], strict=True):
        end = min(later.at_s, action.at_s + window.event.slow_step_s)
        rows = [row for row in window.log if action.at_s <= row.due <= end - window.event.timeout_s / 2]
        yield window.event.slow_steps[number], rows


def _is_stopped(rows: Sequence[Row]) -> bool:
    return bool(rows) and sum(row.good for row in rows) < STOPPED_SHARE * len(rows)


def _opened(window: Window) -> tuple[Action, ...]:
    """Each step as an action, when its first connection was opened."""
    opened: dict[int, float] = {}
    for one in window.slow:
        opened.setdefault(one["k"], one["opened"])
    return tuple(Action(f"{k} {WORDS[window.event.slow]}", at) for k, at in opened.items())


def _causes(window: Window) -> Iterator[str]:
    others = (
        {one["status"] for one in window.slow} - {0, *TAKEN} if window.event.slow in WHOLE[:1] + WHOLE[2:] else set()
    )
    if others and not any(one["status"] in TAKEN for one in window.slow):
        yield f"{WORDS[window.event.slow]} were answered with {min(others)}"


BESIDE_SLOW = EventFigures(figures=_figures, acted=_opened, causes=_causes)
"""Of an event that opens more and more of them."""
