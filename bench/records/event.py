"""The record of one event: what became of every request while something was done to a service under load.

A run's event records are JSON Lines in events.jsonl, in plan order; the keys of a line are the fields of `EventRecord`.
A figure that is None has its reason in `missing`. Times are in seconds, counted from the first scheduled request;
rates are in requests/s, sizes in bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum

from bench.core.files import as_object
from bench.records.record import BadRecord, read_lines

FILE, SCHEMA = "events.jsonl", 1
NEEDS = "needs"
"""The kind of a request that needs what is exhausted or away; of a burst, its size follows: `needs 40`."""
BODY, OPEN = "body", "open"
"""Kinds of requests: a large one, and one that finds out which worker has a new connection."""


class Fate(StrEnum):
    """What became of one request."""

    ANSWERED = "answered"
    """With the expected status and body, within the client's timeout."""
    REFUSED = "refused"
    """No connection: refused, or not accepted within the timeout."""
    RESET = "reset"
    """The connection was reset or closed before the first byte of the response."""
    TIMED_OUT = "timed_out"
    CUT_SHORT = "cut_short"
    """The response began and did not end."""
    STATUS_503 = "status_503"
    OTHER_STATUS = "other_status"
    WRONG = "wrong"
    """The expected status with another body."""


LOST = tuple(fate for fate in Fate if fate is not Fate.ANSWERED)
"""Every request that was not answered well."""


class Ended(StrEnum):
    """How an event's window ended."""

    DONE = "done"
    CANNOT = "cannot"
    """The server has no documented way to do it, or the engine cannot: nothing was loaded."""
    FAILED = "failed"
    """The service did not start, or the load failed: there are no counts."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that was done, when by the clock of the load, and how long that took: `SIGHUP to the main process`."""

    what: str
    at_s: float
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """What a service holds after so much work: bytes by requests answered, or open file descriptors by reloads."""

    done: float
    held: float


@dataclass(frozen=True, slots=True)
class Bin:
    """One tenth of a second of the timeline, by the times at which its requests were due."""

    at_s: float
    good: int
    failed: int
    p99_s: float | None = None
    """Of the good ones, from when each was due; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One event of one service in one round; `case` is its variety, such as `keep-alive, boot 2 s`.

    `share` is what `rate` is of `capacity`, the requests/s that the service answered in a closed loop: of an event
    that takes all of the CPU just before, else before the run's first event with this request.
    `sent` is the sum of `fates`, except for what `unaccounted` says. Latencies are from when a request was due.

    - `longest_gap_s`: the longest time from the first action on without a good answer.
    - `p99_around_s`: of the requests due from the first action on, for 5 s; `p99_before_s`: of those before it.
    - `recovered_s`: from the first action until every request of a whole second is answered well, and as quickly as
      before; 0 where nothing was disturbed, None where that did not come.
    - `workers_before`, `workers_after`: pids in the container; `happened`: whether they, or what else shows it, say
      that the event took place, and `happened_by` how.
    - `exit_s`: from SIGTERM until the container had ended.
    - `late_p99_s`: how late the client itself sent its requests.
    - `causes`: why the window does not count, such as a starved client; its counts are then shown and not compared.
    - `extras`: what this event alone counts, such as `smallest_k`, `told_close`, `goodput_before`.
    """

    id: str
    round: int
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None = None
    settings: str | None = None
    scenario: str
    event: str
    case: str
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the event gave the service: `WORKERS`, `BOOT_S`, ..."""
    ended: Ended = Ended.DONE
    detail: str = ""
    """Why it ended otherwise."""
    documented: str = ""
    """What the server's documentation says of it, and where."""
    keepalive: bool = True
    connections: int | None = None
    """Of the client's pool; None: a new one for each request."""
    rate: float | None = None
    capacity: float | None = None
    share: float | None = None
    timeout_s: float | None = None
    window_s: float | None = None
    beside: int | None = None
    """How many other services were under the same event at once."""
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
    points: tuple[Point, ...] = ()
    """Of an event that looks for growth."""
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
        """Requests that were answered well."""
        return self.fates.get(Fate.ANSWERED, 0)

    @property
    def lost(self) -> int:
        """Requests that were sent and not answered well."""
        return sum(self.fates.get(fate, 0) for fate in LOST)

    @property
    def counts(self) -> bool:
        """Whether its counts may be compared."""
        return self.ended is Ended.DONE and not self.causes and self.happened is not False and not self.unaccounted


def to_line(record: EventRecord) -> str:
    """The record as one line of JSON, without its newline."""
    return json.dumps({"schema": SCHEMA, **asdict(record)}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_line(line: str) -> EventRecord:
    """The record of a line; BadRecord where it is not one."""
    values = as_object(line) or {}
    if values.pop("schema", None) != SCHEMA:
        raise BadRecord(f"not an event record of schema {SCHEMA}")
    try:
        values["ended"] = Ended(values["ended"])
        values["fates"] = {Fate(name): count for name, count in values["fates"].items()}
        values["actions"] = tuple(Action(**one) for one in values["actions"])
        values["points"] = tuple(Point(**one) for one in values.get("points", ()))
        values["timeline"] = tuple(Bin(**one) for one in values["timeline"])
        for one in fields(EventRecord):
            if isinstance(values.get(one.name), list):
                values[one.name] = tuple(values[one.name])
        return EventRecord(**values)
    except BadRecord:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise BadRecord(f"not an event record of schema {SCHEMA}: {problem}") from None


def dump(records: Iterable[EventRecord]) -> Iterator[str]:
    """The lines of events.jsonl, each with its newline."""
    return (to_line(record) + "\n" for record in records)


def load(lines: Iterable[str]) -> Iterator[EventRecord]:
    """The records of the lines of events.jsonl; BadRecord with the line's number where one is no record."""
    return read_lines(lines, from_line)
