"""What the known server does (services/frameworks/synthetic/bad_day.py), and checks of figures against it.

Counts must be exact. Times have a minimum that the server itself guarantees, and may exceed it by `SLACK_S` for a busy
machine, and by more if the client itself was late (`behind_s`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.records.event import EventRecord

SLACK_S = 0.6
LATE = 5
"""A process may wait for a CPU this many times as long as the client's p99 lateness."""
TURNED_S = 0.25
"""Seconds for which a worker that was told to end may still have kept-alive connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the server does; bad_day.py explains the fields."""

    drops: float
    back_s: float
    exit_s: float
    slow: float
    stall_s: float
    idle_s: float
    leak: float = 0.0
    files: float = 0.0
    uneven: float = 0.0
    places: float = 0.0
    untold: float = 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """A figure of a record: the true value and the measured one."""

    what: str
    truth: str
    measured: str
    holds: bool


@dataclass(frozen=True, slots=True)
class EventChecks:
    """What the known server must show under an event.

    `scheduled`: whether the requests have times at which they are due, if there is a rate; `aside`: the figure that
    counts requests beside the schedule.
    """

    checks: Callable[[EventRecord, Known], Iterable[Check]] = lambda record, known: ()
    scheduled: bool = True
    aside: str = ""


def exactly(what: str, truth: object, measured: object) -> Check:
    """Checks a count or a word for equality."""
    return Check(what, str(truth), str(measured), measured == truth)


def behind_s(record: EventRecord) -> float:
    """How long server, client or driver may have had no CPU."""
    return LATE * (record.late_p99_s or 0.0)


def within(record: EventRecord, what: str, least: float, measured: object, more: float = SLACK_S) -> Check:
    """Checks a time in seconds: no shorter than `least`, and not much longer."""
    more += behind_s(record)
    holds = isinstance(measured, int | float) and least <= measured <= least + more
    found = f"{measured:.3f} s" if isinstance(measured, int | float) else str(measured)
    return Check(what, f"{least:.3f} to {least + more:.3f} s", found, holds)


def longest_outage(record: EventRecord, least: float) -> Check:
    """Checks the longest outage: connections may be kept for a moment after the worker was told to end."""
    return within(record, "longest outage", least - TURNED_S, record.longest_gap_s, TURNED_S + SLACK_S)
