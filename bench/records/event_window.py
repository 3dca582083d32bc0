"""One window of an event: the log of requests, the actions, and observations of processes and memory."""

from __future__ import annotations

import gzip
import io
import itertools
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

from bench.core.files import items, mapping, unzipped
from bench.core.groups import grouped
from bench.plan.event import ENDED, RESTORED, ROLLED, SLOWER, SLOWER_S, SWAPPED, SWEPT, Event
from bench.records.event import KEPT, Action, Bin, Fate
from bench.tools.sockets import EVENTS

AROUND_S, BIN_S, SECOND = 5.0, 0.1, 1.0
LATE_S = 0.05
"""If the client's p99 of sending delays is above this, it was starved, and the window does not count."""
RELEASE_S = 0.5
"""How long the responses of a burst may keep the client busy once they are released."""


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


@dataclass(frozen=True)
class Window:
    """A window that was measured; properties that look at all requests are cached."""

    event: Event
    tool: Mapping[str, Any]
    told: Mapping[str, Any]
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

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions of the driver, or of the client itself."""
        done = [mapping(action) for action in items(self.told.get("actions"))]
        if done:
            return tuple(
                Action(
                    f"{action['what']} ({action['pid']})" if action["pid"] else action["what"],
                    action["at_ns"] / 1e9,
                    action["took_ns"] / 1e9,
                )
                for action in done
            )
        if self.event.slow and not self.event.actions:
            opened: dict[int, float] = {}
            for one in self.slow:
                opened.setdefault(one["k"], one["opened"])
            return tuple(Action(f"{k} {SLOW_WORDS[self.event.slow]}", at) for k, at in opened.items())
        if self.event.needs and self.event.needs.steps:
            return tuple(Action(f"{count} waiting requests", rows[0].due) for count, rows in self.bursts.items())
        if bodies := items(self.tool.get("bodies_ns")):
            return (Action(f"{self.event.bodies} large bodies", bodies[0] / 1e9, (bodies[1] - bodies[0]) / 1e9),)
        at, actions = 0.0, []
        for phase in self.event.phases:
            actions.append(Action(f"{phase.share:g} times the capacity", at))
            at += phase.seconds
        if self.event.even_from is not None:
            return (replace(actions[self.event.even_from], what="workers are asked in turn"),)
        return tuple(actions[1:])

    @cached_property
    def bursts(self) -> Mapping[int, Sequence[Row]]:
        """The requests of each burst, by its size."""
        return grouped(self.needing, lambda row: int(row.kind.partition(" ")[2] or 0))

    @property
    def connections(self) -> Sequence[tuple[float, int, int]]:
        """(time, connections to the database, those of them in use) of each sample."""
        return [(at / 1e9, total, used) for at, total, used in map(items, items(self.told.get("connections")))]

    @cached_property
    def at(self) -> float:
        """When the event began; for an overload, when it ended."""
        if not self.actions:
            return 0.0
        return (self.actions[-1] if self.event.name == "overload" else self.actions[0]).at_s

    @property
    def counted(self) -> Sequence[Row]:
        """The requests that count: with idle connections, those on connections kept alive; with a service that is
        stopped, those sent before the stop, because no one can answer later ones.
        """
        if self.event.until == SWEPT:
            # If no connection was kept that long, or all were kept longer, use the first requests instead.
            return [row for row in self.log if row.kind == KEPT] or [row for row in self.log if not row.kind]
        if self.event.until != ENDED or not self.actions:
            return self.log
        return [row for row in self.log if row.begun is not None and row.begun <= self.at]

    @property
    def before(self) -> Sequence[Row]:
        """The requests due before the first action."""
        first = self.actions[0].at_s if self.actions else 0.0
        return [row for row in self.log if row.due < first and not row.kind]

    @property
    def around(self) -> Sequence[Row]:
        """The requests due from the event on until `AROUND_S` after it was over; all later ones without actions."""
        until_ns: Any = self.told.get("until_ns")
        over = until_ns / 1e9 if isinstance(until_ns, int) and self.event.until in (SWAPPED, RESTORED) else self.at
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
    def workers_before(self) -> tuple[int, ...]:
        """Pids in the container before the first action."""
        return tuple(items(self.told.get("before")))

    @property
    def others_before(self) -> tuple[int, ...]:
        """Pids of processes that did not answer before the first action, and are not taken for workers."""
        return tuple(items(self.told.get("others")))

    @property
    def workers_after(self) -> tuple[int, ...]:
        """Pids in the container when last seen."""
        seen = items(self.told.get("workers"))
        return tuple(items(seen[-1])[1]) if seen else ()

    @property
    def failed(self) -> str:
        """Why an action failed; empty if none did."""
        done = [mapping(one) for one in items(self.told.get("actions"))]
        return next((f"{one['what']} failed: {one['error']}" for one in done if one.get("error")), "")

    def happened(self) -> bool | None:
        """Whether observations confirm that the event took place; None if nothing is done to the service."""
        if self.event.name == "recycle" and "MAX_REQUESTS" in self.event.environment:
            return self.workers_before != self.workers_after
        if not self.event.actions:
            return None
        done = items(self.told.get("actions"))
        if self.failed or not done or self.event.needs:
            # An action on a dependency either has its effect or fails.
            return not self.failed and len(done) == len(self.event.actions)
        if self.event.until == SWAPPED:
            # A service that ended instead of reloading has no workers left.
            left = bool(self.workers_after) or self.told.get("ended_ns") is not None
            return left and not set(self.workers_before) & set(self.workers_after) and not self._old_answer()
        if self.event.until in {ROLLED, ENDED}:
            replaced = self.replaced == len(self.event.actions)
            return replaced if self.event.until == ROLLED else self.told.get("ended_ns") is not None
        target = mapping(items(self.told["actions"])[0]).get("pid")
        stopped = self.event.actions[0].signal == "STOP"
        return stopped or any(target not in items(items(seen)[1]) for seen in items(self.told.get("workers")))

    def _old_answer(self) -> bool:
        """Whether a process from before, not taken for a worker, answers requests after all workers seem replaced."""
        until_ns: Any = self.told.get("until_ns")
        later = until_ns / 1e9 if isinstance(until_ns, int) else math.inf
        return any(row.good and row.due > later and row.worker in self.others_before for row in self.log)

    @property
    def replaced(self) -> int:
        """The number of containers that ended and then served with another process."""
        pids = [(one.get("pid"), one.get("pid_after")) for one in map(mapping, items(self.told.get("actions")))]
        return sum(bool(before and after) and before != after for before, after in pids)

    def happened_by(self) -> str:
        """The evidence behind `happened`."""
        if self.failed:
            return self.failed
        if self.event.until == SWAPPED:
            left = set(self.workers_before) & set(self.workers_after)
            return f"{len(self.workers_before) - len(left)} of {len(self.workers_before)} workers were replaced"
        if self.event.needs and self.event.actions:
            return "the database's own list of locks" if self.event.watches else "the state of its container"
        if self.event.until == ROLLED:
            return f"{self.replaced} of {len(self.event.actions)} containers were replaced"
        return {ENDED: "its container ended", RESTORED: "the pids of its workers"}.get(self.event.until, "")

    def since(self, name: str) -> float | None:
        """Seconds from the end of the first action to the time that the driver noted under this name."""
        noted: Any = self.told.get(name)
        done = [mapping(one) for one in items(self.told.get("actions"))]
        if not isinstance(noted, int) or not done:
            return None
        return max(0.0, float(noted - done[0]["at_ns"] - done[0]["took_ns"]) / 1e9)

    @property
    def memory(self) -> Sequence[tuple[float, int]]:
        """(time, bytes) of each sample."""
        samples = [items(one) for one in items(self.told.get("samples"))]
        return [(at / 1e9, max(0, size - self.folder_bytes)) for at, _, size in samples if isinstance(size, int)]

    @property
    def memory_before(self) -> int | None:
        """The median memory before the first action."""
        first = self.actions[0].at_s if self.actions else math.inf
        sizes = [size for at, size in self.memory if at < first]
        return round(median(sizes)) if sizes else None

    @property
    def oom_kills(self) -> int:
        """How many of its processes were killed for lack of memory, as far as known; its container is a fresh one."""
        killed: Any = self.told.get("oom_kills")
        return killed if isinstance(killed, int) else 0

    def cpu_s(self, begin: float, end: float) -> float | None:
        """CPU time of the service between two times, extrapolated from the samples in between; None if too few."""
        samples = [items(one) for one in items(self.told.get("samples"))]
        seen: list[tuple[float, float]] = [
            (at / 1e9, ran / 1e9) for at, ran, _ in samples if isinstance(ran, int) and begin <= at / 1e9 <= end
        ]
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
        others = {one["status"] for one in self.slow} - {0, 200} if self.event.slow == "read" else set()
        if others:
            yield f"slow readers were answered with {min(others)}: there is no large response to read"
        if error := self.told.get("error"):
            yield f"the service could not be watched: {error}"
        if self.event.actions and not self.told:
            yield f"{EVENTS} is missing: nothing says what was done"
        if self.event.needs and not any(row.good for row in self.needing):
            yield f"no request for {self.event.needs.path} was answered at any time"
        if self.told.get("same_clock") is False:
            yield "the clocks of client and host differ: when it was done is not known"

    def timeline(self) -> Iterable[Bin]:
        """Bins of a tenth of a second, from the first request on."""
        found = grouped((row for row in self.log if row.kind in ("", KEPT)), lambda row: _slot(row.due, BIN_S))
        for number, rows in sorted(found.items()):
            good = [row.latency for row in rows if row.good]
            yield Bin(round(number * BIN_S, 1), len(good), len(rows) - len(good), percentile(99, good))


SLOW_WORDS = {
    "silent": "silent connections",
    "header": "slow headers",
    "body": "slow bodies",
    "read": "slow readers",
    "idle": "idle connections",
}


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
        if len(words) == 5:
            k, opened, closed, how, status = words
            row = {"k": int(k), "opened": int(opened) / 1e9, "closed": int(closed) / 1e9 if int(closed) else None}
            rows.append(row | {"how": how, "status": int(status)})
    return rows
