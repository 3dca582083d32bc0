"""The record of one event: the outcome of every request while an action was applied to a service under load.

A run's event records are JSON Lines in events.jsonl, in plan order; the keys of a line are the fields of `EventRecord`.
If a figure is None, `missing` has the reason. Times are in seconds from the first scheduled request, rates in
requests/s, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bench.core.service_settings import NO_SETTINGS, Settings
from bench.plan.event import EventCase
from bench.records.record import BadRecord, Line

FILE = "events.jsonl"
NEEDS = "needs"
"""The kind of requests that need the exhausted or missing dependency; in a burst, its size follows: `needs 40`."""
BODY, OPEN, KEPT, CLOSED = "body", "open", "kept", "closed"
"""Kinds of log lines: a request with a large body; one that finds out which worker a new connection belongs to; one on
a kept-alive connection; a connection that is not used because it was seen to be closed."""


class Fate(StrEnum):
    """The outcome of one request."""

    ANSWERED = "answered"
    """The expected status and body came within the client's timeout."""
    REFUSED = "refused"
    """The connection was refused, or not accepted within the timeout."""
    RESET = "reset"
    """The connection was reset or closed before the first byte of the response."""
    TIMED_OUT = "timed_out"
    CUT_SHORT = "cut_short"
    """The response began but did not end."""
    STATUS_503 = "status_503"
    OTHER_STATUS = "other_status"
    WRONG = "wrong"
    """The status was the expected one, but not the body."""


LOST = tuple(fate for fate in Fate if fate is not Fate.ANSWERED)
"""The fates of lost requests: all without a good response."""


class Ended(StrEnum):
    """How an event's window ended."""

    DONE = "done"
    CANNOT = "cannot"
    """The server has no documented way to do it, or the container engine cannot do it; there was no load."""
    FAILED = "failed"
    """The service did not start, or the load failed: there are no counts."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action, such as `SIGHUP to the main process`: when it was done, by the load's clock, and how long it took."""

    what: str
    at_s: float
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class GrowthSample:
    """What a service holds after an amount of work: bytes of memory after requests, or descriptors after reloads."""

    done: float
    held: float


@dataclass(frozen=True, slots=True)
class Bin:
    """The requests due within one tenth of a second of the timeline."""

    at_s: float
    good: int
    failed: int
    p99_s: float | None = None
    """p99 of the good responses, counted from when requests were due; None if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord(Line):
    """One event of one service in one round; `case` is its variant, such as `keep-alive, boot 2 s`.

    Latencies are counted from when a request was due.

    - `capacity`: the requests/s that the service answered in a closed loop, just before an event that uses all of the
      CPU, else before the run's first event with this request; `share`: `rate` / `capacity`.
    - `sent`: the sum of `fates`, unless `unaccounted` says what is missing.
    - `longest_gap_s`: the longest time without a good response, from the first action on.
    - `p99_around_s`: p99 of the requests due from the first action until 5 s after the event was over (all workers
      replaced), None if 1 % of them were lost; `p99_before_s`: of the good responses before it.
    - `recovered_s`: from the first action until all requests are answered well and as quickly as before, in whole
      seconds; 0 if nothing was disturbed, None if it did not recover.
    - `workers_before`, `workers_after`: pids in the container.
    - `happened`: whether there is evidence (workers or other) that the event took place; `happened_by`: the evidence.
    - `exit_s`: from SIGTERM until the container had ended.
    - `late_p99_s`: p99 of the delay with which the client sent its requests.
    - `causes`: why the window does not count, such as a starved client; its counts are then shown but not compared.
    - `extras`: figures specific to the event, such as `smallest_k`, `told_close`, `goodput_before`.
    """

    SCHEMA = 1

    id: str
    round: int
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None = None
    settings: Settings = NO_SETTINGS
    scenario: str
    event: str
    case: EventCase
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the event set for the service: `WORKERS`, `BOOT_S`, ..."""
    ended: Ended = Ended.DONE
    detail: str = ""
    """The reason, if it did not end as `DONE`."""
    documented: str = ""
    """What the server's documentation says about it, with the source."""
    keepalive: bool = True
    connections: int | None = None
    """Size of the client's connection pool; None: a new connection for each request."""
    rate: float | None = None
    capacity: float | None = None
    share: float | None = None
    timeout_s: float | None = None
    window_s: float | None = None
    beside: int | None = None
    """How many other windows of the same event ran at the same time."""
    actions: tuple[Action, ...] = ()
    sent: int | None = None
    fates: Mapping[Fate, int] = field(default_factory=dict)
    unaccounted: str = ""
    longest_gap_s: float | None = None
    p99_around_s: float | None = None
    p99_before_s: float | None = None
    recovered_s: float | None = None
    workers_before: tuple[int, ...] = ()
    workers_after: tuple[int, ...] = ()
    happened: bool | None = None
    happened_by: str = ""
    exit_s: float | None = None
    memory_before_bytes: int | None = None
    memory_peak_bytes: int | None = None
    late_p99_s: float | None = None
    causes: tuple[str, ...] = ()
    timeline: tuple[Bin, ...] = ()
    points: tuple[GrowthSample, ...] = ()
    """Samples of an event that measures growth."""
    extras: Mapping[str, float | int | str | bool | None] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counted = sum(self.fates.values())
        if self.sent is not None and counted != self.sent and not self.unaccounted:
            raise BadRecord(f"{self.id}: {self.sent} requests were sent, and the outcomes of {counted} are known")
        if self.ended is not Ended.DONE and not self.detail:
            raise BadRecord(f"{self.id}: {self.ended} without a reason")

    @property
    def answered(self) -> int:
        """The number of requests that were answered well."""
        return self.fates.get(Fate.ANSWERED, 0)

    @property
    def lost(self) -> int:
        """The number of requests that were not answered well."""
        return sum(self.fates.get(fate, 0) for fate in LOST)

    @property
    def counts(self) -> bool:
        """Whether its counts may be compared."""
        return self.ended is Ended.DONE and not self.causes and self.happened is not False and not self.unaccounted
