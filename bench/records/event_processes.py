"""Events of processes: what their figures share."""

from __future__ import annotations

import math

from bench.records.event_window import Figures, Window


def answers_of_new_workers(window: Window) -> list[float]:
    """When requests were answered, after the event, by workers that were not there before."""
    # In some servers (socketify) the main process answers requests too.
    old = {*window.told.before, *window.told.others, window.told.main}
    fresh = [row.end for row in window.log if row.good and row.worker and row.worker not in old]
    return [end for end in fresh if end is not None and end > window.at]


def replaced_worker(window: Window) -> Figures:
    """A new worker has started once its process exists, and is back once it has answered a request."""
    ends = answers_of_new_workers(window) if window.event.new_every else []
    return {
        "started_s": window.since(window.told.until_ns),
        "restored_s": min(ends) - window.at if ends else None,
        "ended_s": window.since(window.told.ended_ns),
    }


def workers_replaced(window: Window) -> tuple[bool | None, str]:
    """The evidence of a reload: none of the workers from before is left."""
    before, after, count = {*window.told.before}, {*window.workers_after}, len(window.told.before)
    # A service that ended instead of reloading has no workers left.
    left = bool(after) or window.told.ended_ns is not None
    happened = left and not before & after and not _old_answer(window)
    return happened, f"{count - len(before & after)} of {count} workers were replaced"


def _old_answer(window: Window) -> bool:
    """Whether a process from before, not taken for a worker, answers requests after all workers seem replaced."""
    later = math.inf if window.told.until_ns is None else window.told.until_ns / 1e9
    return any(row.good and row.due > later and row.worker in window.told.others for row in window.log)
