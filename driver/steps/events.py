"""Events on a service under load: sends signals at their times, and watches its processes and memory.

Files in the measurement's folder tell the driver when the load began, and the load generator when it may end. EVENTS
there records what was done and seen. Times are in ns of the monotonic clock since the first request was due.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from driver.docker import DockerError
from driver.engines.dependencies import VERBS
from driver.engines.engine import Engine
from driver.engines.local import LocalDocker
from driver.files import save, save_json, text_of
from driver.messages import BEGUN, ENOUGH, GONE, PROXY_ASKED, PROXY_TOLD, SCHEMA, Action, EventReport, EventScript
from driver.processes import Processes
from driver.steps.rolling import swap

EVENTS = "events.json"
CAPACITY = "capacity.json"
"""In the same folder, from the load generator: the pids that workers have reported in responses."""
FOR_GOOD = ("swapped", "restored")
"""Values of `until` of events after which an ended container is not started again."""
LAST = "tool.json"
"""The last file that the load generator writes there: the load has ended, possibly before those of others."""
LOOK_S, SAMPLE_S, COUNT_S = 0.05, 0.2, 0.8
CONTAINERS = {"database": "postgres", "upstream": "upstream"}
"""The service of each dependency that an action can affect."""
OTHER_CLOCK_S = 60.0
"""A larger difference means that the load generator's monotonic clock is not this machine's."""
GIVEN_UP_S = 5.0
"""A reload is given up once only the old workers have been running for so long, after new ones were started."""
QUIET_S, COUNTS = 0.3, 2
"""Wait after a reload, until files that it opens only briefly are closed; and how often to count descriptors then."""


def cannot(engine: Engine, folder: Path) -> None:
    """Records that nothing was done, and why."""
    save_json(folder / EVENTS, {"schema": SCHEMA, "cannot": engine.cannot_act})


class Dependencies:
    """Actions on dependencies. Services measured side by side share this object, so each action is done only once."""

    def __init__(self, engine: LocalDocker) -> None:
        self.engine, self._lock = engine, threading.Lock()
        self._done: dict[Action, tuple[int, int, int, str]] = {}
        self._away: dict[Action, None] = {}
        self._watches = 0
        self._counted: tuple[float, Mapping[str, tuple[int, int]]] | None = None

    def enter(self) -> None:
        """Registers a service that is watched."""
        with self._lock:
            self._watches += 1

    def leave(self) -> None:
        """Unregisters a service; the last one restores dependencies that are still away, as its load ended early."""
        with self._lock:
            self._watches -= 1
            for action in [] if self._watches else [*self._away]:
                self._do(Action(action.at_s, VERBS[action.do].undo, to=action.to))

    def do(self, action: Action) -> tuple[int, int, int, str]:
        """Does it, unless done already: (begin by the monotonic clock and since the epoch, duration, all ns; error)."""
        with self._lock:
            if action not in self._done:
                self._done[action] = self._do(action)
            return self._done[action]

    def connections(self, address: str) -> tuple[int, int]:
        """(a service's connections to the database, how many of them are in use), at most COUNT_S / 2 old."""
        with self._lock:
            if self._counted is None or time.monotonic() > self._counted[0] + COUNT_S / 2:
                self._counted = time.monotonic(), self.engine.connections()
            return self._counted[1].get(address, (0, 0))

    def _do(self, action: Action) -> tuple[int, int, int, str]:
        error, begun, wall = "", time.monotonic_ns(), time.time_ns()
        if VERBS[action.do].undo:
            self._away[action] = None
        else:
            undone = [one for one in self._away if (VERBS[one.do].undo, one.to) == (action.do, action.to)]
            self._away = dict.fromkeys(one for one in self._away if one not in undone)
        try:
            self.engine.do_to_dependency(CONTAINERS[action.to], action.do)
        except DockerError as failed:
            error = str(failed)
        return begun, wall, time.monotonic_ns() - begun, error


@contextmanager
def acting(dependencies: Dependencies, service: str, event: EventScript, folder: Path) -> Iterator[None]:
    """While this is open, the service's event takes place; `dependencies` is shared by services side by side."""
    watch = _Watch(dependencies, service, event, folder)
    dependencies.enter()
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.over.set()
        thread.join(30)
        save_json(folder / EVENTS, vars(watch.record))
        for name in (BEGUN, ENOUGH, PROXY_ASKED, PROXY_TOLD):
            with suppress(OSError):
                (folder / name).unlink()


class _Watch:
    """One event; it runs in a thread during the load."""

    def __init__(self, dependencies: Dependencies, service: str, event: EventScript, folder: Path) -> None:
        self.dependencies, self.engine = dependencies, dependencies.engine
        self.service, self.event, self.folder = service, event, folder
        self.over, self.record = threading.Event(), EventReport(event.until)
        self.t0_ns, self.address = 0, ""
        self.since: tuple[int, ...] = ()
        """The workers at the time of the last repeated action."""
        self.targets = set[int]()

    def run(self) -> None:
        """Watches and acts until the load is over."""
        try:
            if self._begun():
                self._watch()
        except DockerError as error:
            self.record.error = str(error)
        finally:
            self.dependencies.leave()

    def _begun(self) -> bool:
        """Waits for the first request; false if there is none."""
        while not self.over.wait(0.005):
            words = (text_of(self.folder / BEGUN) or "").split()
            if len(words) == 2:
                told_ns, self.record.t0_wall_ns = map(int, words)
                now = time.monotonic_ns()
                self.t0_ns = told_ns if abs(told_ns - now) < OTHER_CLOCK_S * 1e9 else now
                self.record.t0_ns, self.record.same_clock = told_ns, self.t0_ns == told_ns
                return True
        return False

    def _watch(self) -> None:
        record, before = self.record, self._look()
        record.main, record.before = before.main, before.workers
        record.workers.append((self._now(), before.workers))
        self.since = before.workers
        if self.event.repeats:
            self._count_descriptors()
        if self.event.watches == "connections":
            self.address = self.engine.ip_of(self.service)
        left, sampled = sorted(self.event.actions, key=lambda one: one.at_s), -math.inf
        while not self.over.wait(LOOK_S):
            if left and self._now() >= left[0].at_s * 1e9:
                self._act(left.pop(0))
            seen = self._look()
            if self._now() - sampled > SAMPLE_S * 1e9:
                sampled = now = self._now()
                record.samples.append((now, *self.engine.usage(self.service)))
                killed = self.engine.oom_kills(self.service)
                record.oom_kills = record.oom_kills if killed is None else killed
            counted = record.connections[-1][0] if record.connections else -math.inf
            if self.event.watches == "connections" and self._now() - counted > COUNT_S * 1e9:
                record.connections.append((self._now(), *self.dependencies.connections(self.address)))
            if seen.workers != record.workers[-1][1]:
                record.workers.append((self._now(), seen.workers))
            if not seen.main and record.ended_ns is None:
                record.ended_ns = self._now()
            if record.until_ns is None and not left and self._is_over(seen) and not self._goes_on():
                record.until_ns = self._now()
            if (self.folder / LAST).exists():
                return
            over_ns = record.until_ns or (record.ended_ns if self.event.until in FOR_GOOD else None)
            if over_ns is not None and self._now() > over_ns + self.event.settle_s * 1e9:
                self._end_load("" if record.until_ns else GONE)
            elif over_ns is None and self._is_given_up():
                self._end_load("")

    def _look(self) -> Processes:
        seen, record = self.engine.processes(self.service), self.record
        told = set() if record.workers else self._told_pids()
        if told and told < set(seen.workers):
            record.others = sorted(set(seen.workers) - told)
        without = {*record.others}
        if record.workers and seen.main not in record.before:
            # It has workers, so the main process is not a worker even if no other one is left.
            without.add(seen.main)
        return Processes(seen.main, tuple(pid for pid in seen.workers if pid not in without))

    def _told_pids(self) -> set[int]:
        with suppress(ValueError, TypeError, AttributeError):
            return {int(pid) for pid in json.loads(text_of(self.folder / CAPACITY) or "{}").get("told", [])}
        return set()

    def _act(self, action: Action) -> None:
        if action.to in CONTAINERS:
            begun, wall, took, error = self.dependencies.do(action)
            entry = {"what": f"{action.to} {VERBS[action.do].past}", "pid": 0, "at_ns": begun - self.t0_ns}
            self.record.actions.append({**entry, "took_ns": took, "wall_ns": wall, "error": error})
            return
        if action.do == "swap":
            self.record.actions.append(swap(self.engine, self.service, action, self.folder, self._now))
            return
        seen, error, sent = self._look(), "", None
        pid = seen.main if action.to == "main" else next(iter(seen.workers), 0)
        self.targets.add(pid)
        begun, wall = self._now(), time.time_ns()
        try:
            if not pid:
                raise DockerError("the service has ended")
            sent = self.engine.signal(self.service, action.signal, pid)
        except DockerError as failed:
            error = str(failed)
        took = self._now() - begun
        if sent is not None and 0 <= sent - wall <= took:
            # The exact moment of the signal, rather than of the command: it decides which requests were in flight.
            begun, wall, took = begun + sent - wall, sent, 0
        what = f"SIG{action.signal} to {'the main process' if action.to == 'main' else 'a worker'}"
        entry = {"what": what, "pid": pid, "at_ns": begun}
        self.record.actions.append({**entry, "took_ns": took, "wall_ns": wall, "error": error})

    def _goes_on(self) -> bool:
        """Counts open files after a reload, and reloads again if more are wanted; whether it did."""
        if not self.event.repeats:
            return False
        self._count_descriptors()
        if len(self.record.actions) >= self.event.repeats:
            return False
        self.since = self._look().workers
        self._act(self.event.actions[-1])
        return True

    def _count_descriptors(self) -> None:
        """Keeps the minimum of a few counts, because a request in flight has a descriptor too."""
        time.sleep(QUIET_S)
        found = [self.engine.descriptors(self.service) for _ in range(COUNTS)]
        known = [one for one in found if one is not None]
        self.record.descriptors.append((self._now(), min(known) if known else None))

    def _is_over(self, seen: Processes) -> bool:
        before, now = set(self.record.before), set(seen.workers)
        if self.event.until == "swapped":
            return bool(now) and not set(self.since) & now and len(now) >= len(before)
        if self.event.until == "restored":
            return bool(now) and not self.targets & now and len(now) >= len(before)
        # `rolled`: all containers have been swapped by the actions, so nothing is left to wait for.
        return self.event.until == "rolled" or (self.event.until == "ended" and not seen.main)

    def _is_given_up(self) -> bool:
        """Whether a reload started processes that have gone again, while all old workers are still there."""
        if self.event.until != "swapped" or not self.record.actions:
            return False
        old, begun = set(self.since), self.record.actions[-1]["at_ns"]
        changed, last = self.record.workers[-1]
        tried = any(set(pids) - old for at, pids in self.record.workers if at > begun)
        return tried and set(last) == old and self._now() > changed + GIVEN_UP_S * 1e9

    def _end_load(self, why: str) -> None:
        if not (self.folder / ENOUGH).exists():
            with suppress(OSError):
                save(self.folder / ENOUGH, why)

    def _now(self) -> int:
        return time.monotonic_ns() - self.t0_ns
