"""Figures specific to an event, besides lost requests; docs/events.md explains each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import median
from types import MappingProxyType
from typing import Any

from bench.core.files import items, mapping
from bench.plan.event import ENDED, RESTORED, SWAPPED
from bench.records.event import CLOSED, KEPT, Action, Fate
from bench.records.event_needs import Figures, away, exhausted
from bench.records.event_proxy import proxy_figures
from bench.records.event_window import Row, Window, end_of
from bench.records.growth import balance_figures, memory_figures

STOPPED_SHARE = 0.5
LEAST_OPEN = 64
"""Minimum number of slow connections open at the same time for a figure of memory per connection: the memory of fewer
is lost among the service's other allocations. For slow readers, whose responses are large, one is enough."""
KILLED = 137
"""The exit status of a container that Docker had to kill."""


def figures(window: Window) -> Figures:
    """All figures of a window's event."""
    event = window.event
    figures: Figures = {"told_close": sum(row.told_close for row in window.log if end_of(row) > window.at)}
    if window.oom_kills:
        figures["oom_kills"] = window.oom_kills
    if event.actions:
        under_way = [row for row in window.log if row.begun is not None and row.begun <= window.at < end_of(row)]
        figures |= {"under_way": len(under_way), "under_way_lost": sum(not row.good for row in under_way)}
    for make in (
        _UNTIL.get(event.until) if not event.repeats else None,
        _slow if event.slow and not event.actions else None,
        _OF.get(event.name),
    ):
        if make:
            figures |= make(window)
    return figures


def _reload(window: Window) -> Figures:
    ends = _new_workers_ends(window)
    return {
        "new_code_s": min(ends) - window.at if ends else None,
        "swapped_s": window.since("until_ns"),
        "ended_s": window.since("ended_ns"),
    }


def _worker(window: Window) -> Figures:
    """A new worker has started once its process exists, and is back once it has answered a request."""
    ends = _new_workers_ends(window) if window.event.new_every else []
    return {
        "started_s": window.since("until_ns"),
        "restored_s": min(ends) - window.at if ends else None,
        "ended_s": window.since("ended_ns"),
    }


def _new_workers_ends(window: Window) -> list[float]:
    """When requests were answered, after the event, by workers that were not there before."""
    # In some servers (socketify) the main process answers requests too.
    old = {*window.workers_before, *window.others_before, window.told.get("main")}
    fresh = [row.end for row in window.log if row.good and row.worker and row.worker not in old]
    return [end for end in fresh if end is not None and end > window.at]


def _stop(window: Window) -> Figures:
    counted = set(map(id, window.counted))
    later = Counter(row.fate for row in window.log if id(row) not in counted and row.fate)
    long = next((row for row in window.log if row.kind), None)
    figures: Figures = {
        "long_fate": None if long is None or long.fate is None else long.fate.value,
        "long_s": None if long is None or long.end is None else long.end - long.due,
    }
    idle = [one for one in window.slow if one["how"] != "refused" and (one["closed"] or math.inf) > window.at]
    closed = [one["closed"] - window.at for one in _cut(idle)]
    figures |= {"idle": len(idle), "idle_closed": len(closed), "idle_closed_s": median(closed) if closed else None}
    told = {row.connection: row.told_close for row in window.log if row.good and end_of(row) > window.at}
    figures |= {"still_answered": len(told), "told_to_close": sum(told.values())}
    return figures | {"sent_after": sum(later.values())} | {f"{fate.value}_after": n for fate, n in later.items()}


def _overload(window: Window) -> Figures:
    figures: Figures = {}
    begin, work = 0.0, list[tuple[int, float | None]]()
    for number, ((rate, seconds), phase) in enumerate(zip(window.rates, window.event.phases, strict=True), 1):
        rows = [row for row in window.log if begin <= row.due < begin + seconds and not row.kind]
        lasted = seconds
        if number == len(window.rates) and rows:
            # The last phase ends early, once the service has recovered.
            lasted = min(seconds, max(row.due for row in rows) + 1 / rate - begin)
        name = f"{number}_{phase.share:g}x"
        good = sum(row.good for row in rows)
        cpu_s = window.cpu_s(begin, begin + lasted)
        figures |= {f"rate_{name}": rate, f"sent_{name}": len(rows), f"good_{name}": good}
        figures |= {f"goodput_{name}": good / lasted, f"cpu_s_{name}": cpu_s}
        fates = {Fate.STATUS_503: 0} | dict(Counter(row.fate for row in rows if row.fate and not row.good))
        figures |= {f"{fate.value}_{name}": count for fate, count in fates.items()}
        work.append((good, cpu_s))
        begin += seconds
    return figures | {"cpu_unanswered": _cpu_unanswered(work)}


def _cpu_unanswered(work: Sequence[tuple[int, float | None]]) -> float | None:
    """The share of CPU time after the first phase that is not explained by requests answered in time.

    `work`: good responses and CPU seconds of each phase. A request is taken to need as much as in the first phase.
    """
    (first, before_s), *later = work
    known = [cpu_s for _, cpu_s in later if cpu_s]
    if not first or not before_s or not known or len(known) < len(later):
        return None
    return 1 - sum(good for good, _ in later) * before_s / first / sum(known)


def _slow(window: Window) -> Figures:
    cut = _cut(window.slow)
    ended = [one["closed"] - one["opened"] for one in cut]
    how = Counter(str(one["how"]) for one in window.slow)
    status = Counter(one["status"] for one in cut if one["status"] >= 400).most_common(1)
    figures: Figures = {
        "opened": len(window.slow),
        "most_k": max((one["k"] for one in window.slow), default=0),
        "smallest_k": next((k for k, rows in _steps(window) if _is_stopped(rows)), None),
        "slow_answered": sum(one["status"] == 200 for one in window.slow),
        "cut": len(ended),
        "cut_after_s": median(ended) if ended else None,
        "cut_status": status[0][0] if status else None,
        **{f"slow_{name}": count for name, count in sorted(how.items())},
    }
    first, most = window.actions[0].at_s if window.actions else 0.0, _most_open(window.slow, window.event.slow)
    later = [size for at, size in window.memory if at > first]
    stands_out = most >= (1 if window.event.slow == "read" else LEAST_OPEN)
    if stands_out and later and window.memory_before is not None and not window.oom_kills:
        taken = max(later) - window.memory_before
        # Memory that was freed meanwhile hides what the connections take; it does not show that they take nothing.
        if taken > 0:
            figures["kb_per_connection"] = taken / most / 1024
    held_up = [(k, rows) for k, rows in _steps(window) if not _is_stopped(rows)]
    if held_up:
        k, rows = held_up[-1]
        figures |= {"p99_beside_k": k, "p99_beside_s": window.p99(rows)}
    return figures


def _cut(connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that the server closed."""
    return [one for one in connections if one["how"] in ("eof", "reset") and one["closed"]]


def _most_open(slow: Sequence[Mapping[str, Any]], kind: str) -> int:
    """The maximum number of slow connections open at the same time.

    Those that send a whole request count only if they got a response: others may be in the server's backlog.
    """
    taken = [one for one in slow if one["how"] != "refused" and (one["status"] or kind not in ("read", "idle"))]
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


def _recycle(window: Window) -> Figures:
    every = {pid for seen in items(window.told.get("workers")) for pid in items(items(seen)[1])}
    return {"recycled": len(every) - len(window.workers_before)}


def _rolling(window: Window) -> Figures:
    figures: Figures = {}
    for number, action in enumerate(map(mapping, items(window.told.get("actions"))), 1):
        ended = action.get("exit_ns")
        figures[f"swap_{number}_s"] = action["took_ns"] / 1e9 if not action.get("error") else None
        figures[f"exit_{number}_s"] = ended / 1e9 if isinstance(ended, int) else None
        figures[f"killed_{number}"] = action.get("exit_code") == KILLED
    return figures | proxy_figures(window.event.proxy, window.proxy)


def _idle_close(window: Window) -> Figures:
    """When idle connections were closed, and how long before or after that (in ms) lost requests were sent."""
    lasted = [one["closed"] - one["opened"] for one in _cut(window.slow)]
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


_UNTIL: Mapping[str, Callable[[Window], Figures]] = MappingProxyType(
    {SWAPPED: _reload, RESTORED: _worker, ENDED: _stop}
)
_OF: Mapping[str, Callable[[Window], Figures]] = MappingProxyType(
    {
        "overload": _overload,
        "recycle": _recycle,
        "rolling": _rolling,
        "idle-close": _idle_close,
        "exhausted": exhausted,
        "away": away,
        "memory": memory_figures,
        "balance": balance_figures,
    }
)
"""Functions for the figures of single events, by name of the event."""
