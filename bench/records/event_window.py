"""One window of an event: the log of requests, the actions, and observations of processes and memory."""

from __future__ import annotations

import gzip
import io
import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

from bench.core.files import mapping, unzipped
from bench.core.groups import grouped
from bench.events import of_event
from bench.plan.event import RESTORED, SLOWER, SLOWER_S, SWAPPED, Event
from bench.records.event import KEPT, Action, Bin, Fate, GrowthSample
from bench.tools.sockets import EVENTS
from driver.messages import EventReport

AROUND_S, BIN_S, SECOND = 5.0, 0.1, 1.0
LATE_S = 0.05
"""If the client's p99 of sending delays is above this, it was starved, and the window does not count."""
RELEASE_S = 0.5
"""How long the responses of a burst may keep the client busy once they are released."""
Figures = dict[str, float | int | str | bool | None]


class Row(NamedTuple):
    """A line of the log; times are in seconds, None if that did not happen.

    `nth`: number of the request on its connection; `worker`: pid of the worker that answered; `told_close`: whether the
    response had `Connection: close`.
    """

    kind: str
    due: float
    begun: float | None
    end: float | None
    connection: int
    fate: Fate | None
    worker: int
    told_close: bool

    @property
    def good(self) -> bool:
        """Whether it was answered well."""
        return self.fate is Fate.ANSWERED

    @property
    def latency(self) -> float:
        """Seconds from when the request was due; infinite if it did not end."""
        return math.inf if self.end is None else self.end - self.due


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFigures:
    """What is read from the windows of an event in which it differs from others.

    - `figures`: its figures besides losses (docs/events.md); `points`: its samples of growth.
    - `acted`: what the client has done by itself, if the driver had nothing to do; `begins_last`: whether the event
      begins with the last of these actions.
    - `counted`: the requests that count. `no_gap`: why there is no longest time without a response.
    - `evidence`: whether it took place, None if nothing is done to the service; and what shows it.
    - `causes`: why a window does not count.
    """

    figures: Callable[[Window], Figures] = lambda window: {}
    points: Callable[[Window], Sequence[GrowthSample]] = lambda window: ()
    acted: Callable[[Window], tuple[Action, ...]] = lambda window: ()
    begins_last: bool = False
    counted: Callable[[Window], Sequence[Row]] = lambda window: window.log
    no_gap: str = ""
    evidence: Callable[[Window], tuple[bool | None, str]] = lambda window: (None, "")
    causes: Callable[[Window], Iterable[str]] = lambda window: ()


SHARED = EventFigures()
NOTHING = EventReport()
"""Stands for a report that is missing or malformed."""


@dataclass(frozen=True)
class Window:
    """A window that was measured; properties that look at all requests are cached."""

    event: Event
    tool: Mapping[str, Any]
    told: EventReport
    """What the driver did and saw."""
    log: Sequence[Row]
    slow: Sequence[Mapping[str, Any]]
    needing: Sequence[Row] = ()
    """The requests that need the exhausted or missing dependency; they are in no other figure."""
    proxy: Sequence[str] = ()
    """The lines in the log of the proxy in front of the service."""
    folder_bytes: int = 0
    """What the folder of a user's own app has of its memory."""

    @property
    def rates(self) -> Sequence[tuple[float, float]]:
        """Requests/s and seconds of each phase."""
        return [(float(rate), float(seconds)) for rate, seconds in self.tool["rates"]]

    @property
    def specifics(self) -> EventFigures:
        """What its event reads from it otherwise than others."""
        return of_event(self.event.name, "figures", SHARED)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions of the driver, or of the client itself."""
        actions = [
            Action(
                f"{action['what']} ({action['pid']})" if action["pid"] else action["what"],
                action["at_ns"] / 1e9,
                action["took_ns"] / 1e9,
            )
            for action in self.told.actions
        ]
        return tuple(actions) or self.specifics.acted(self)

    @cached_property
    def bursts(self) -> Mapping[int, Sequence[Row]]:
        """The requests of each burst, by its size."""
        return grouped(self.needing, lambda row: int(row.kind.partition(" ")[2] or 0))

    @cached_property
    def at(self) -> float:
        """When the event began."""
        return self.actions[-1 if self.specifics.begins_last else 0].at_s if self.actions else 0.0

    @property
    def before(self) -> Sequence[Row]:
        """The requests due before the first action."""
        first = self.actions[0].at_s if self.actions else 0.0
        return [row for row in self.log if row.due < first and not row.kind]

    @property
    def sent_before(self) -> Sequence[Row]:
        """The requests sent before the event."""
        return [row for row in self.log if row.begun is not None and row.begun <= self.at]

    @property
    def around(self) -> Sequence[Row]:
        """The requests due from the event on until `AROUND_S` after it was over; all later ones without actions."""
        until_ns = self.told.until_ns
        over = self.at if until_ns is None or self.event.until not in (SWAPPED, RESTORED) else until_ns / 1e9
        most = max(over, self.at) + AROUND_S if self.actions else math.inf
        return [row for row in self.log if self.at <= row.due < most and not row.kind]

    @staticmethod
    def p99(rows: Iterable[Row]) -> float | None:
        """p99 latency of the good responses, counted from when requests were due."""
        return percentile(99, [row.latency for row in rows if row.good])

    @staticmethod
    def p99_of_all(rows: Iterable[Row]) -> float | None:
        """p99 latency of all requests; None if one of a hundred or more was lost, as that one has no latency."""
        found = percentile(99, [row.latency if row.good else math.inf for row in rows])
        return None if found == math.inf else found

    def longest_gap(self) -> float:
        """The longest time without a good response, from the last one before the event on."""
        last = max((row.due for row in self.log), default=0.0)
        ends = sorted(row.end for row in self.log if row.good and row.end is not None)
        start = max((end for end in ends if end <= self.at), default=self.at)
        moments = [start, *(end for end in ends if end > self.at), max(last, self.at)]
        return max((later - earlier for earlier, later in itertools.pairwise(moments)), default=0.0)

    def recovered(self, before: float | None) -> float | None:
        """Seconds from the event until responses are as good and fast as before, in whole seconds.

        None if the window's last second is still disturbed. `before`: the p99 before the event.
        """
        limit = math.inf if before is None else max(SLOWER * before, before + SLOWER_S)
        later = (row for row in self.log if row.due >= self.at and not row.kind)
        seconds = grouped(later, lambda row: _slot(row.due - self.at, SECOND))
        disturbed = [
            number
            for number, rows in seconds.items()
            if not all(row.good for row in rows) or (percentile(90, [row.latency for row in rows]) or 0.0) > limit
        ]
        if not disturbed:
            return 0.0
        return None if max(disturbed) >= max(seconds) else (max(disturbed) + 1) * SECOND

    @property
    def workers_after(self) -> tuple[int, ...]:
        """Pids in the container when last seen."""
        return self.told.workers[-1][1] if self.told.workers else ()

    @property
    def failed(self) -> str:
        """Why an action failed; empty if none did."""
        return next((f"{one['what']} failed: {one['error']}" for one in self.told.actions if one.get("error")), "")

    def evidence(self) -> tuple[bool | None, str]:
        """Whether observations confirm that the event took place, and which; None if nothing is done to the service."""
        happened, shown_by = self.specifics.evidence(self)
        if self.event.actions and (self.failed or not self.told.actions):
            happened = False
        return happened, self.failed or shown_by

    def since(self, noted_ns: int | None) -> float | None:
        """Seconds from the end of the first action to a time that the driver noted."""
        if noted_ns is None or not self.told.actions:
            return None
        first = self.told.actions[0]
        return max(0.0, float(noted_ns - first["at_ns"] - first["took_ns"]) / 1e9)

    @property
    def memory(self) -> Sequence[tuple[float, int]]:
        """(time, bytes) of each sample."""
        return [(at / 1e9, max(0, size - self.folder_bytes)) for at, _, size in self.told.samples if size is not None]

    @property
    def memory_before(self) -> int | None:
        """The median memory before the first action."""
        first = self.actions[0].at_s if self.actions else math.inf
        sizes = [size for at, size in self.memory if at < first]
        return round(median(sizes)) if sizes else None

    def cpu_s(self, begin: float, end: float) -> float | None:
        """CPU time of the service between two times, extrapolated from the samples in between; None if too few."""
        samples = ((at / 1e9, ran) for at, ran, _ in self.told.samples)
        seen = [(at, ran / 1e9) for at, ran in samples if ran is not None and begin <= at <= end]
        if len(seen) < 2 or seen[-1][0] - seen[0][0] < (end - begin) / 2:
            return None
        return (seen[-1][1] - seen[0][1]) * (end - begin) / (seen[-1][0] - seen[0][0])

    @cached_property
    def late(self) -> float | None:
        """p99 of the delay with which the client sent its requests, in seconds; None if it sent none.

        Without the moment after a burst is released: all of its responses arrive at once then, which keeps the client
        busy and is no fault of its own. The health checks that a burst may delay were sent before.
        """
        ends = [[row.end for row in rows if row.good and row.end] for size, rows in self.bursts.items() if size]
        released = [min(one) for one in ends if one]
        return percentile(
            99,
            [
                row.begun - row.due
                for row in self.log
                if row.begun is not None and not row.kind and not any(0 <= row.due - at < RELEASE_S for at in released)
            ],
        )

    def causes(self) -> Iterable[str]:
        """Why the window does not count."""
        late = self.late
        # File descriptors after a reload do not depend on when requests leave.
        if late is not None and late > LATE_S and not self.event.repeats:
            yield f"the client was starved: 1 % of its requests left {late * 1000:.0f} ms late or more"
        for fault, count in mapping(self.tool.get("faults")).items():
            yield f"the client itself failed {count} times: {fault}"
        if self.failed:
            yield self.failed
        yield from self.specifics.causes(self)
        if error := self.told.error:
            yield f"the service could not be watched: {error}"
        if self.event.actions and self.told == NOTHING:
            yield f"{EVENTS} is missing: nothing says what was done"
        if not self.told.same_clock:
            yield "the clocks of client and host differ: when it was done is not known"

    def timeline(self) -> Iterable[Bin]:
        """Bins of a tenth of a second, from the first request on."""
        found = grouped((row for row in self.log if row.kind in ("", KEPT)), lambda row: _slot(row.due, BIN_S))
        for number, rows in sorted(found.items()):
            good = [row.latency for row in rows if row.good]
            yield Bin(round(number * BIN_S, 1), len(good), len(rows) - len(good), percentile(99, good))


def _slot(at: float, width: float) -> int:
    """The number of the interval that contains `at`; its start belongs to it, even after rounding."""
    return int(at / width + 1e-6)


def end_of(row: Row) -> float:
    """When the request ended; infinite if it did not."""
    return math.inf if row.end is None else row.end


def percentile(percent: int, values: Sequence[float]) -> float | None:
    """The nearest-rank percentile; None for no values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def read_log(data: bytes | None) -> list[Row] | None:
    """The rows of the log; None if it is missing or damaged."""
    try:
        with gzip.open(io.BytesIO(data or b"")) as file:
            names, *lines = unzipped(file).decode().splitlines()
        columns = names.split("\t")
        take = itemgetter(*(columns.index(name) for name in _COLUMNS))
        if any(line.count("\t") != len(columns) - 1 for line in lines):
            return None
        return [_row(*take(line.split("\t"))) for line in lines]
    except (OSError, EOFError, ValueError, KeyError, zlib.error):
        return None


_COLUMNS = ("kind", "due", "begun", "end", "connection", "fate", "worker", "close")
_FATES: Mapping[str, Fate | None] = {"": None} | {one.value: one for one in Fate}


def _row(*values: str) -> Row:
    kind, due, begun, end, connection, fate, worker, close = values
    return Row(
        kind,
        int(due) / 1e9 if due else 0.0,
        int(begun) / 1e9 if begun else None,
        int(end) / 1e9 if end else None,
        int(connection),
        _FATES[fate],
        int(worker),
        close == "1",
    )


def read_slow(data: bytes | None) -> list[dict[str, Any]]:
    """The slow connections; times are in seconds, `closed` is None for those held to the end."""
    rows = []
    for line in (data or b"").decode(errors="replace").splitlines()[1:]:
        words = line.split("\t")
        if len(words) in (5, 6):
            # Runs made before `told` was saved lack it.
            k, opened, closed, how, status, told, *_ = (*words, "")
            row = {"k": int(k), "opened": int(opened) / 1e9, "closed": int(closed) / 1e9 if int(closed) else None}
            rows.append(row | {"how": how, "status": int(status), "told": told})
    return rows
