"""Makes the record of an event from its raw files: the log of each request, what was done, and what was seen of it."""

from __future__ import annotations

import gzip
import itertools
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from bench.core.files import as_object, items, mapping, read_bytes
from bench.plan.events import ENDED, RESTORED, SWAPPED, Event
from bench.plan.measurement import Measurement
from bench.records.event import Action, Bin, Ended, EventRecord, Fate
from bench.run.reader import Raw, Run, read_raw
from bench.tools.sockets import CAPACITY, EVENTS, REQUESTS, SLOW

AROUND_S, BIN_S, SECOND = 5.0, 0.1, 1.0
LATE_S = 0.05
"""A client whose p99 is later than this was starved: its window does not count."""
SLOWER, SLOWER_S = 2.0, 0.05
"""As quickly as before: within so many times the p99 before, and so many seconds more."""
STOPPED_SHARE = 0.5
NO_LOG = f"{REQUESTS} is missing or damaged"


@dataclass(frozen=True, slots=True)
class Row:
    """A request of the log; times are in seconds, None where that did not happen."""

    kind: str
    due: float
    begun: float | None
    end: float | None
    connection: int
    nth: int
    fate: Fate | None
    worker: int
    told_close: bool

    @property
    def good(self) -> bool:
        """Whether it was answered well."""
        return self.fate is Fate.ANSWERED

    @property
    def latency(self) -> float:
        """From when it was due; of what did not end, infinite."""
        return math.inf if self.end is None else self.end - self.due


def event_records(source: Run) -> list[EventRecord]:
    """The records of a run's events in the order of the plan, then of what its servers cannot do."""
    found = [
        event_record(source.path, planned, read_raw(source.path, planned))
        for planned in source.planned
        if planned.event
    ]
    return found + [_cannot(source, number, skip) for number, skip in enumerate(_skips(source), 1)]


def event_record(run: str, planned: Measurement, raw: Raw) -> EventRecord:
    """The record of one event of one service in one round."""
    assert planned.event
    event = planned.event
    record = EventRecord(
        id=planned.id,
        round=planned.round,
        service=planned.service,
        server=planned.server,
        framework=planned.framework,
        python=planned.python,
        base=planned.base,
        package=planned.package,
        settings=planned.settings,
        scenario=planned.scenario,
        event=event.name,
        case=event.case,
        environment=event.environment,
        documented=event.documented,
        keepalive=event.pool > 0,
        connections=event.pool or None,
        timeout_s=event.timeout_s,
        ended=Ended.FAILED,
        detail="not measured",
    )
    folder = f"{run}/{raw.folder}"
    told = mapping(as_object(read_bytes(f"{folder}/{EVENTS}") or b""))
    if why := told.get("cannot"):
        return replace(record, ended=Ended.CANNOT, detail=str(why))
    if raw.meta is None:
        return record
    if raw.meta.get("outcome") != "measured":
        return replace(record, detail=f"{raw.meta.get('outcome')}: {raw.meta.get('detail')}")
    log = _log(raw.output)
    if log is None or raw.tool is None:
        return replace(record, detail=NO_LOG)
    capacity = mapping(as_object(read_bytes(f"{folder}/{CAPACITY}") or b"")).get("rate")
    slow = _slow_rows(read_bytes(f"{folder}/{SLOW}"))
    return _Made(event, record, raw.tool, told, log, slow, capacity if isinstance(capacity, float) else None).record()


@dataclass(frozen=True, slots=True)
class _Made:
    """The figures of a window that was measured."""

    event: Event
    empty: EventRecord
    tool: Mapping[str, Any]
    told: Mapping[str, Any]
    log: Sequence[Row]
    slow: Sequence[Mapping[str, Any]]
    capacity: float | None

    def record(self) -> EventRecord:
        """All of them."""
        missing: dict[str, str] = {}
        counted = self.counted
        fates = Counter(row.fate for row in counted if row.fate)
        rate = self.rates[0][0]
        before, around = self._p99(self.before), self._p99(self.around)
        record = replace(
            self.empty,
            ended=Ended.DONE,
            detail="",
            rate=rate,
            capacity=self.capacity,
            share=rate / self.capacity if self.capacity else None,
            window_s=max((row.due for row in self.log), default=0.0),
            actions=self.actions,
            sent=len(counted),
            fates=dict(fates),
            unaccounted="" if sum(fates.values()) == len(counted) else "the log has requests without an end",
            longest_gap_s=None if self.event.until == ENDED else self.longest_gap(),
            p99_before_s=before,
            p99_around_s=around,
            recovered_s=None if self.event.until == ENDED else self.recovered(before),
            workers_before=self.workers_before,
            workers_after=self.workers_after,
            happened=self.happened(),
            happened_by=self.happened_by(),
            exit_s=self.exit_s,
            memory_before_bytes=self.memory_before,
            memory_peak_bytes=self.memory_peak,
            late_p99_s=_p(99, [row.begun - row.due for row in self.log if row.begun is not None and not row.kind]),
            causes=tuple(self.causes()),
            timeline=tuple(self.timeline()),
            extras=self.extras(),
        )
        reasons = {
            "longest_gap_s": "the service was stopped for good",
            "p99_before_s": "nothing was answered before the event",
            "p99_around_s": "nothing was answered in the 5 s around it",
            "recovered_s": "the service was stopped for good" if self.event.until == ENDED else "not in this window",
            "exit_s": "the service has not ended" if self.event.until == ENDED else "it is not stopped in this event",
            "memory_before_bytes": "its memory could not be read",
            "memory_peak_bytes": "its memory could not be read",
            "late_p99_s": "nothing was sent",
            "happened": "nothing shows it",
        }
        missing = {name: why for name, why in reasons.items() if getattr(record, name) is None}
        return replace(record, missing=missing)

    @property
    def rates(self) -> Sequence[tuple[float, float]]:
        """Requests/s and seconds of each phase."""
        return [(float(rate), float(seconds)) for rate, seconds in self.tool["rates"]]

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done: by the driver, or by the client itself."""
        done = [mapping(one) for one in items(self.told.get("actions"))]
        if done:
            return tuple(
                Action(f"{one['what']} ({one['pid']})", one["at_ns"] / 1e9, one["took_ns"] / 1e9) for one in done
            )
        if self.event.slow:
            opened: dict[int, float] = {}
            for one in self.slow:
                opened.setdefault(one["k"], one["opened"])
            return tuple(Action(f"{k} {_SLOW_WORDS[self.event.slow]}", at) for k, at in opened.items())
        at, found = 0.0, []
        for phase in self.event.phases:
            found.append(Action(f"{phase.share:g} times the capacity", at))
            at += phase.seconds
        return tuple(found[1:])

    @property
    def at(self) -> float:
        """When it began; of an overload, when it ended."""
        if not self.actions:
            return 0.0
        return (self.actions[-1] if self.event.name == "overload" else self.actions[0]).at_s

    @property
    def counted(self) -> Sequence[Row]:
        """Of a service that is stopped, what was under way or done by then: later requests have nobody to answer."""
        if self.event.until != ENDED or not self.actions:
            return self.log
        return [row for row in self.log if row.begun is not None and row.begun <= self.at]

    @property
    def before(self) -> Sequence[Row]:
        """The requests before anything was done."""
        first = self.actions[0].at_s if self.actions else 0.0
        return [row for row in self.log if row.due < first and not row.kind]

    @property
    def around(self) -> Sequence[Row]:
        """Those in the seconds after it began; where nothing is done at a time, all."""
        most = self.at + AROUND_S if self.actions else math.inf
        return [row for row in self.log if self.at <= row.due < most and not row.kind]

    @staticmethod
    def _p99(rows: Iterable[Row]) -> float | None:
        return _p(99, [row.latency for row in rows if row.good])

    def longest_gap(self) -> float:
        """The longest time without a good answer, from just before the event on."""
        last = max((row.due for row in self.log), default=0.0)
        ends = sorted(row.end for row in self.log if row.good and row.end is not None)
        start = max((end for end in ends if end <= self.at), default=self.at)
        moments = [start, *(end for end in ends if end > self.at), max(last, self.at)]
        return max((later - earlier for earlier, later in itertools.pairwise(moments)), default=0.0)

    def recovered(self, before: float | None) -> float | None:
        """From the event to the end of the last second that was not as before; None if that was the window's last."""
        limit = math.inf if before is None else max(SLOWER * before, before + SLOWER_S)
        seconds: dict[int, list[Row]] = {}
        for row in self.log:
            if row.due >= self.at and not row.kind:
                seconds.setdefault(_slot(row.due - self.at, SECOND), []).append(row)
        disturbed = [
            number
            for number, rows in seconds.items()
            if not all(row.good for row in rows) or (_p(90, [row.latency for row in rows]) or 0.0) > limit
        ]
        if not disturbed:
            return 0.0
        return None if max(disturbed) >= max(seconds) else (max(disturbed) + 1) * SECOND

    @property
    def workers_before(self) -> tuple[int, ...]:
        """Pids in the container, before anything was done."""
        return tuple(items(self.told.get("before")))

    @property
    def workers_after(self) -> tuple[int, ...]:
        """Those that were seen last."""
        seen = items(self.told.get("workers"))
        return tuple(items(seen[-1])[1]) if seen else ()

    @property
    def _failed(self) -> str:
        """Why an action failed; empty if none did."""
        done = [mapping(one) for one in items(self.told.get("actions"))]
        return next((f"{one['what']} failed: {one['error']}" for one in done if one.get("error")), "")

    def happened(self) -> bool | None:
        """Whether what was seen says that it took place; None where nothing is done to the service."""
        if self.event.name == "recycle" and "MAX_REQUESTS" in self.event.environment:
            return self.workers_before != self.workers_after
        if not self.event.actions:
            return None
        if self._failed or not items(self.told.get("actions")):
            return False
        if self.event.until == SWAPPED:
            return bool(self.workers_after) and not set(self.workers_before) & set(self.workers_after)
        if self.event.until == ENDED:
            return self.told.get("ended_ns") is not None
        target = mapping(items(self.told["actions"])[0]).get("pid")
        stopped = self.event.actions[0].signal == "STOP"
        return stopped or any(target not in items(items(seen)[1]) for seen in items(self.told.get("workers")))

    def happened_by(self) -> str:
        """What says so."""
        if self._failed:
            return self._failed
        if self.event.until == SWAPPED:
            left = set(self.workers_before) & set(self.workers_after)
            return f"{len(self.workers_before) - len(left)} of {len(self.workers_before)} workers were replaced"
        return {ENDED: "its container ended", RESTORED: "the pids of its workers"}.get(self.event.until, "")

    def _since(self, name: str) -> float | None:
        """Seconds from the event to what was noted."""
        noted: Any = self.told.get(name)
        done = [mapping(one) for one in items(self.told.get("actions"))]
        if not isinstance(noted, int) or not done:
            return None
        return max(0.0, float(noted - done[0]["at_ns"] - done[0]["took_ns"]) / 1e9)

    @property
    def exit_s(self) -> float | None:
        """From the signal, which the end of its command is nearest to, to the end of the container."""
        return self._since("ended_ns") if self.event.until == ENDED else None

    @property
    def _memory(self) -> Sequence[tuple[float, int]]:
        samples = [items(one) for one in items(self.told.get("samples"))]
        return [(at / 1e9, size) for at, _, size in samples if isinstance(size, int)]

    @property
    def memory_before(self) -> int | None:
        """The median before anything was done."""
        first = self.actions[0].at_s if self.actions else math.inf
        sizes = [size for at, size in self._memory if at < first]
        return round(median(sizes)) if sizes else None

    @property
    def memory_peak(self) -> int | None:
        """The most, as sampled five times a second."""
        return max((size for _, size in self._memory), default=None)

    def causes(self) -> Iterable[str]:
        """Why the window does not count."""
        late = _p(99, [row.begun - row.due for row in self.log if row.begun is not None and not row.kind])
        if late is not None and late > LATE_S:
            yield f"the client was starved: 1 % of its requests left {late * 1000:.0f} ms late or more"
        for fault, count in mapping(self.tool.get("faults")).items():
            yield f"the client itself failed {count} times: {fault}"
        if self._failed:
            yield self._failed
        if error := self.told.get("error"):
            yield f"the service could not be watched: {error}"
        if self.event.actions and not self.told:
            yield f"{EVENTS} is missing: nothing says what was done"
        if self.told.get("same_clock") is False:
            yield "the clocks of client and host differ: when it was done is not known"

    def timeline(self) -> Iterable[Bin]:
        """A tenth of a second each, from the first request on."""
        found: dict[int, list[Row]] = {}
        for row in self.log:
            if not row.kind:
                found.setdefault(_slot(row.due, BIN_S), []).append(row)
        for number, rows in sorted(found.items()):
            good = [row.latency for row in rows if row.good]
            yield Bin(round(number * BIN_S, 1), len(good), len(rows) - len(good), _p(99, good))

    def extras(self) -> dict[str, float | int | str | bool | None]:
        """What this event alone counts; docs/events.md says what each is."""
        found: dict[str, float | int | str | bool | None] = {"told_close": sum(row.told_close for row in self._after)}
        if self.event.actions:
            under_way = [row for row in self.log if row.begun is not None and row.begun <= self.at < _end(row)]
            found |= {"under_way": len(under_way), "under_way_lost": sum(not row.good for row in under_way)}
        kinds = {SWAPPED: self._of_reload, RESTORED: self._of_worker, ENDED: self._of_stop}
        if make := kinds.get(self.event.until):
            found |= make()
        if self.event.name == "overload":
            found |= self._of_overload()
        if self.event.slow:
            found |= self._of_slow()
        if self.event.name == "recycle":
            every = {pid for seen in items(self.told.get("workers")) for pid in items(items(seen)[1])}
            found["recycled"] = len(every) - len(self.workers_before)
        return found

    @property
    def _after(self) -> Sequence[Row]:
        return [row for row in self.log if _end(row) > self.at]

    def _of_reload(self) -> dict[str, float | int | str | bool | None]:
        fresh = [row.end for row in self.log if row.good and row.worker and row.worker not in self.workers_before]
        ends = [end for end in fresh if end is not None and end > self.at]
        return {"new_code_s": min(ends) - self.at if ends else None, "swapped_s": self._since("until_ns")}

    def _of_worker(self) -> dict[str, float | int | str | bool | None]:
        return {"restored_s": self._since("until_ns"), "ended_s": self._since("ended_ns")}

    def _of_stop(self) -> dict[str, float | int | str | bool | None]:
        counted = set(map(id, self.counted))
        later = Counter(row.fate for row in self.log if id(row) not in counted and row.fate)
        long = next((row for row in self.log if row.kind), None)
        found: dict[str, float | int | str | bool | None] = {
            "long_fate": None if long is None or long.fate is None else long.fate.value,
            "long_s": None if long is None or long.end is None else long.end - long.due,
        }
        return found | {"sent_after": sum(later.values())} | {f"{fate.value}_after": n for fate, n in later.items()}

    def _of_overload(self) -> dict[str, float | int | str | bool | None]:
        found: dict[str, float | int | str | bool | None] = {}
        begin = 0.0
        for number, ((rate, seconds), phase) in enumerate(zip(self.rates, self.event.phases, strict=True), 1):
            rows = [row for row in self.log if begin <= row.due < begin + seconds and not row.kind]
            name = f"{number}_{phase.share:g}x"
            good = sum(row.good for row in rows)
            cpu_s = self._cpu_s(begin, begin + seconds)
            found |= {f"rate_{name}": rate, f"sent_{name}": len(rows), f"good_{name}": good}
            found |= {f"goodput_{name}": good / seconds, f"cpu_s_{name}": cpu_s}
            found[f"status_503_{name}"] = sum(row.fate is Fate.STATUS_503 for row in rows)
            begin += seconds
        return found

    def _cpu_s(self, begin: float, end: float) -> float | None:
        """CPU time of the service between two moments, from the samples nearest to them."""
        samples = [items(one) for one in items(self.told.get("samples"))]
        seen: list[tuple[float, float]] = [
            (at / 1e9, ran / 1e9) for at, ran, _ in samples if isinstance(ran, int) and begin <= at / 1e9 <= end
        ]
        if len(seen) < 2 or seen[-1][0] - seen[0][0] < (end - begin) / 2:
            return None
        return (seen[-1][1] - seen[0][1]) * (end - begin) / (seen[-1][0] - seen[0][0])

    def _of_slow(self) -> dict[str, float | int | str | bool | None]:
        ended = [one["closed"] - one["opened"] for one in self.slow if one["how"] in ("eof", "reset") and one["closed"]]
        how = Counter(str(one["how"]) for one in self.slow)
        found: dict[str, float | int | str | bool | None] = {
            "opened": len(self.slow),
            "most_k": max((one["k"] for one in self.slow), default=0),
            "smallest_k": self.smallest_k(),
            "cut": len(ended),
            "cut_after_s": median(ended) if ended else None,
            **{f"slow_{name}": count for name, count in sorted(how.items())},
        }
        first, held = self.actions[0].at_s if self.actions else 0.0, how["held"]
        later = [size for at, size in self._memory if at > first]
        if self.event.slow == "idle" and later and self.memory_before is not None and held:
            found["kb_per_connection"] = (max(later) - self.memory_before) / held / 1024
        return found

    def smallest_k(self) -> int | None:
        """The fewest slow connections beside which less than half of the others were answered in time; None: none."""
        steps = [*self.actions, Action("", math.inf)]
        for (number, action), later in zip(enumerate(self.actions), steps[1:], strict=True):
            end = min(later.at_s, action.at_s + self.event.slow_step_s)
            rows = [row for row in self.log if action.at_s <= row.due <= end - self.event.timeout_s / 2]
            if rows and sum(row.good for row in rows) < STOPPED_SHARE * len(rows):
                return self.event.slow_steps[number]
        return None


_SLOW_WORDS = {"silent": "silent connections", "header": "slow headers", "idle": "idle connections"}


def _slot(at: float, width: float) -> int:
    """The number of the interval that a moment is in; one that is due at its beginning is in it."""
    return int(at / width + 1e-6)


def _end(row: Row) -> float:
    return math.inf if row.end is None else row.end


def _p(percent: int, values: Sequence[float]) -> float | None:
    """The value that so many percent do not exceed; None where there is none."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def _log(data: bytes | None) -> list[Row] | None:
    """The rows of the log; None where it cannot be read whole."""
    try:
        names, *lines = gzip.decompress(data or b"").decode().splitlines()
        return [_row(dict(zip(names.split("\t"), line.split("\t"), strict=True))) for line in lines]
    except (OSError, EOFError, ValueError, KeyError, zlib.error):
        return None


def _row(values: Mapping[str, str]) -> Row:
    times = {name: int(values[name]) / 1e9 if values[name] else None for name in ("due", "begun", "end")}
    return Row(
        kind=values["kind"],
        due=times["due"] or 0.0,
        begun=times["begun"],
        end=times["end"],
        connection=int(values["connection"]),
        nth=int(values["nth"]),
        fate=Fate(values["fate"]) if values["fate"] else None,
        worker=int(values["worker"]),
        told_close=values["close"] == "1",
    )


def _slow_rows(data: bytes | None) -> list[dict[str, Any]]:
    """The other connections; times in seconds, of those that were held to the end `closed` is None."""
    found = []
    for line in (data or b"").decode(errors="replace").splitlines()[1:]:
        words = line.split("\t")
        if len(words) == 5:
            k, opened, closed, how, status = words
            row = {"k": int(k), "opened": int(opened) / 1e9, "closed": int(closed) / 1e9 if int(closed) else None}
            found.append(row | {"how": how, "status": int(status)})
    return found


def _skips(source: Run) -> list[Mapping[str, Any]]:
    return [mapping(one) for one in items(source.facts.get("skipped")) if mapping(one).get("event")]


def _cannot(source: Run, number: int, skip: Mapping[str, Any]) -> EventRecord:
    """The record of what a service cannot do, which was not planned."""
    name = str(skip["service"])
    known = mapping(mapping(source.facts.get("services")).get(name))
    return EventRecord(
        id=f"cannot-{number:04}",
        round=1,
        service=name,
        server=str(known.get("server") or ""),
        framework=str(known.get("framework") or ""),
        python=str(known.get("python") or ""),
        base=str(known.get("base") or ""),
        scenario=str(skip.get("scenario") or ""),
        event=str(skip["event"]),
        case="",
        ended=Ended.CANNOT,
        detail=str(skip["cause"]),
    )
