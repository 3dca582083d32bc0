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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driver.docker import DockerError
from driver.engines.engine import Engine
from driver.files import save, save_json, text_of
from driver.messages import BEGUN, ENOUGH, GONE, PROXY_ASKED, PROXY_TOLD, Action, Doings
from driver.processes import Processes
from driver.steps.rolling import swap

EVENTS, SCHEMA = "events.json", 1
CAPACITY = "capacity.json"
"""In the same folder, from the load generator: the pids that workers have reported in responses."""
FOR_GOOD = ("swapped", "restored")
"""Values of `until` of events after which an ended container is not started again."""
LAST = "tool.json"
"""The last file that the load generator writes there: the load has ended, possibly before those of others."""
LOOK_S, SAMPLE_S, COUNT_S = 0.05, 0.2, 0.8
CONTAINERS = {"database": "postgres", "upstream": "upstream"}
"""The service of each dependency that an action can affect."""
UNDO = {"stop": "start", "pause": "unpause", "lock": "unlock"}
DONE = {
    "stop": "stopped",
    "start": "started again",
    "pause": "paused",
    "unpause": "goes on",
    "lock": "table locked",
    "unlock": "table unlocked",
}
"""What was done to a dependency, in the past tense."""
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

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, threading.Lock()
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
                self._do(Action(action.at_s, UNDO[action.do], to=action.to))

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
                self._counted = time.monotonic(), self._engine.connections()
            return self._counted[1].get(address, (0, 0))

    def _do(self, action: Action) -> tuple[int, int, int, str]:
        error, begun, wall = "", time.monotonic_ns(), time.time_ns()
        if action.do in UNDO:
            self._away[action] = None
        else:
            undone = [one for one in self._away if (UNDO[one.do], one.to) == (action.do, action.to)]
            self._away = dict.fromkeys(one for one in self._away if one not in undone)
        try:
            self._engine.do_to_dependency(CONTAINERS[action.to], action.do)
        except DockerError as failed:
            error = str(failed)
        return begun, wall, time.monotonic_ns() - begun, error


@contextmanager
def acting(
    engine: Engine, service: str, event: Doings, folder: Path, dependencies: Dependencies | None = None
) -> Iterator[None]:
    """While this is open, the service's event takes place; `dependencies` is shared by services side by side."""
    watch = _Watch(engine, service, event, folder, dependencies or Dependencies(engine))
    watch.dependencies.enter()
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.over.set()
        thread.join(30)
        save_json(folder / EVENTS, watch.told())
        for name in (BEGUN, ENOUGH, PROXY_ASKED, PROXY_TOLD):
            with suppress(OSError):
                (folder / name).unlink()


@dataclass
class _Watch:
    """One event; it runs in a thread during the load."""

    engine: Engine
    service: str
    event: Doings
    folder: Path
    dependencies: Dependencies
    over: threading.Event = field(default_factory=threading.Event)
    t0_ns: int = 0
    told_ns: tuple[int, int] = (0, 0)
    before: Processes = field(default_factory=lambda: Processes(0, ()))
    done: list[dict[str, Any]] = field(default_factory=list)
    workers: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    samples: list[tuple[int, int | None, int | None]] = field(default_factory=list)
    descriptors: list[tuple[int, int | None]] = field(default_factory=list)
    """(when, how many are open): before the first of several reloads, and after each."""
    since: tuple[int, ...] = ()
    """The workers at the time of the last repeated action."""
    targets: set[int] = field(default_factory=set)
    others: set[int] = field(default_factory=set)
    """Children that never reported their pid in a response while others did: a router, or the server's own helper."""
    address: str = ""
    connections: list[tuple[int, int, int]] = field(default_factory=list)
    """(when, connections to the database, how many of them were in use)."""
    oom_kills: int | None = None
    ended_ns: int | None = None
    until_ns: int | None = None
    error: str = ""

    def run(self) -> None:
        """Watches and acts until the load is over."""
        try:
            if self._begun():
                self._watch()
        except DockerError as error:
            self.error = str(error)
        finally:
            self.dependencies.leave()

    def told(self) -> dict[str, Any]:
        """The content of events.json."""
        return {
            "schema": SCHEMA,
            "t0_ns": self.told_ns[0],
            "t0_wall_ns": self.told_ns[1],
            "same_clock": self.t0_ns == self.told_ns[0],
            "main": self.before.main,
            "before": self.before.workers,
            "others": sorted(self.others),
            "actions": self.done,
            "workers": self.workers,
            "samples": self.samples,
            "connections": self.connections,
            "descriptors": self.descriptors,
            "oom_kills": self.oom_kills,
            "ended_ns": self.ended_ns,
            "until": self.event.until,
            "until_ns": self.until_ns,
            "error": self.error,
        }

    def _begun(self) -> bool:
        """Waits for the first request; false if there is none."""
        while not self.over.wait(0.005):
            words = (text_of(self.folder / BEGUN) or "").split()
            if len(words) == 2:
                self.told_ns = int(words[0]), int(words[1])
                now = time.monotonic_ns()
                ours = abs(self.told_ns[0] - now) < OTHER_CLOCK_S * 1e9
                self.t0_ns = self.told_ns[0] if ours else now
                return True
        return False

    def _watch(self) -> None:
        self.before = self._look()
        self.workers.append((self._now(), self.before.workers))
        self.since = self.before.workers
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
                self.samples.append((now, *self.engine.usage(self.service)))
                killed = self.engine.oom_kills(self.service)
                self.oom_kills = self.oom_kills if killed is None else killed
            self._count()
            if seen.workers != self.workers[-1][1]:
                self.workers.append((self._now(), seen.workers))
            if not seen.main and self.ended_ns is None:
                self.ended_ns = self._now()
            if self.until_ns is None and not left and self._is_over(seen) and not self._goes_on():
                self.until_ns = self._now()
            if (self.folder / LAST).exists():
                return
            over_ns = self.until_ns or (self.ended_ns if self.event.until in FOR_GOOD else None)
            if over_ns is not None and self._now() > over_ns + self.event.settle_s * 1e9:
                self._end_load("" if self.until_ns else GONE)
            elif over_ns is None and self._is_given_up():
                self._end_load("")

    def _look(self) -> Processes:
        seen = self.engine.processes(self.service)
        told = set() if self.workers else self._told_pids()
        if told and told < set(seen.workers):
            self.others = set(seen.workers) - told
        without = self.others
        if self.workers and seen.main not in self.before.workers:
            # It has workers, so the main process is not a worker even if no other one is left.
            without = without | {seen.main}
        return Processes(seen.main, tuple(pid for pid in seen.workers if pid not in without))

    def _told_pids(self) -> set[int]:
        with suppress(ValueError, TypeError, AttributeError):
            return {int(pid) for pid in json.loads(text_of(self.folder / CAPACITY) or "{}").get("told", [])}
        return set()

    def _count(self) -> None:
        last = self.connections[-1][0] if self.connections else -math.inf
        if self.event.watches == "connections" and self._now() - last > COUNT_S * 1e9:
            self.connections.append((self._now(), *self.dependencies.connections(self.address)))

    def _act_on_dependency(self, action: Action) -> None:
        begun, wall, took, error = self.dependencies.do(action)
        told = {"what": f"{action.to} {DONE[action.do]}", "pid": 0, "at_ns": begun - self.t0_ns}
        self.done.append({**told, "took_ns": took, "wall_ns": wall, "error": error})

    def _act(self, action: Action) -> None:
        if action.to in CONTAINERS:
            self._act_on_dependency(action)
            return
        if action.do == "swap":
            self.done.append(swap(self.engine, self.service, action, self.folder, self._now))
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
        self.done.append({"what": what, "pid": pid, "at_ns": begun, "took_ns": took, "wall_ns": wall, "error": error})

    def _goes_on(self) -> bool:
        """Counts open files after a reload, and reloads again if more are wanted; whether it did."""
        if not self.event.repeats:
            return False
        self._count_descriptors()
        if len(self.done) >= self.event.repeats:
            return False
        self.since = self._look().workers
        self._act(self.event.actions[-1])
        return True

    def _count_descriptors(self) -> None:
        """Keeps the minimum of a few counts, because a request in flight has a descriptor too."""
        time.sleep(QUIET_S)
        found = [self.engine.descriptors(self.service) for _ in range(COUNTS)]
        known = [one for one in found if one is not None]
        self.descriptors.append((self._now(), min(known) if known else None))

    def _is_over(self, seen: Processes) -> bool:
        before, now = set(self.before.workers), set(seen.workers)
        if self.event.until == "swapped":
            return bool(now) and not set(self.since) & now and len(now) >= len(before)
        if self.event.until == "restored":
            return bool(now) and not self.targets & now and len(now) >= len(before)
        # `rolled`: all containers have been swapped by the actions, so nothing is left to wait for.
        return self.event.until == "rolled" or (self.event.until == "ended" and not seen.main)

    def _is_given_up(self) -> bool:
        """Whether a reload started processes that have gone again, while all old workers are still there."""
        if self.event.until != "swapped" or not self.done:
            return False
        old, begun = set(self.since), self.done[-1]["at_ns"]
        changed, last = self.workers[-1]
        tried = any(set(pids) - old for at, pids in self.workers if at > begun)
        return tried and set(last) == old and self._now() > changed + GIVEN_UP_S * 1e9

    def _end_load(self, why: str) -> None:
        if not (self.folder / ENOUGH).exists():
            with suppress(OSError):
                save(self.folder / ENOUGH, why)

    def _now(self) -> int:
        return time.monotonic_ns() - self.t0_ns
