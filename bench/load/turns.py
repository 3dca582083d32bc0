"""One window of a block: the services are loaded one after another, in many short turns.

In a turn one service's load tool runs and all others are stopped. The turn ends when the service has answered what was
under way, so that no service works in the next one's time. All that is read of a service (its time, CPU time of the
service, of the database and of the load generator, what the host did) is summed over its own turns.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.load.cpu_counters import CpuCounters, Reading
from bench.load.held_tool import HeldTool
from bench.load.sockets import connections_to, received_bytes

LONGEST_DRAIN_S = 1.0
"""How long a turn may wait for answers under way."""
_POLL_S = 0.0005
_IDLE_CPU_NS, _IDLE_SHARE = 500_000, 0.03
"""CPU time that an idle server may use: it wakes now and then (uvicorn ten times a second), the longer the more."""
_LAST_READ_S = 0.003
"""The time in which a tool reads its last turn's answers before it is told to end."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One service of the window: its name, its tool, its address and port.

    It is under load for `seconds`. `quiet_s` is longer than it takes for answers to all of the tool's connections, and
    `one_quiet_s` for one answer, when it has nothing else to do.
    """

    service: str
    tool: HeldTool
    peer: tuple[str, int]
    quiet_s: float = 0.02
    one_quiet_s: float = 0.02
    seconds: float = 1.0


class Part(NamedTuple):
    """The time and the service's CPU time in ns, and the bytes that came: up to the mark, and after it."""

    ns: tuple[int, int]
    cpu_ns: tuple[int, int]
    received_bytes: tuple[int, int]


@dataclass(slots=True)
class Turns:
    """Sums over a service's turns. Times are in ns, CPU times by container in ns, `host_ticks` as in /proc/stat."""

    count: int = 0
    load_ns: int = 0
    drain_ns: int = 0
    drains_cut: int = 0
    cpu_ns: dict[str, int] = field(default_factory=dict)
    host_ticks: list[int] = field(default_factory=lambda: [0] * 8)
    each_ns: list[tuple[int, int]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def add(self, times_ns: tuple[int, int, int], before: Reading, after: Reading, *, cut: bool) -> None:
        """A turn: when it began, when its load ended, and when the last answer had come."""
        began, held, done = times_ns
        self.count += 1
        self.load_ns += held - began
        self.drain_ns += done - held
        self.drains_cut += cut
        self.each_ns.append((began, done))
        for name, used in after.cpu_ns.items():
            if name in before.cpu_ns:
                self.cpu_ns[name] = self.cpu_ns.get(name, 0) + used - before.cpu_ns[name]
        self.host_ticks = [
            sum(ticks) for ticks in zip(self.host_ticks, _change(before.host_ticks, after.host_ticks), strict=True)
        ]


def run_window(
    runners: Sequence[Runner],
    counters: CpuCounters,
    shared: Sequence[str],
    *,
    turn_s: float,
    rng: random.Random,
    mark_s: float | None = None,
    clock: Callable[[], int] = time.monotonic_ns,
) -> dict[str, Turns]:
    """Turns of `turn_s`, until each service has been under load for its seconds; by service.

    `shared` are the containers that serve all of them (database, upstream, those of one's own app): what they use in a
    turn is charged to it.
    With `mark_s`, each turn is read at that moment too: the parts before and after it tell what the turn before costs.
    """
    turns = {runner.service: Turns() for runner in runners}
    watch = _Watch(counters, tuple(shared), clock, mark_s)
    # As many as it takes, but none more for what only the arithmetic leaves over.
    wanted = {runner.service: max(1, math.ceil(runner.seconds / turn_s - 0.01)) for runner in runners}
    # One order for the window: a new one in each cycle would let twice as long pass between two turns of a service, and
    # its connections idle for that long, which servers close.
    order = rng.sample(runners, len(runners))
    for cycle in range(max(wanted.values(), default=0)):
        for runner in order:
            if runner.tool.status is None and cycle < wanted[runner.service]:
                _take_turn(runner, turns[runner.service], turn_s, watch)
    for runner in runners:
        if runner.tool.status is None:
            runner.tool.resume()
            time.sleep(_LAST_READ_S)
            runner.tool.interrupt()
    for runner in runners:
        runner.tool.end()
    return turns


@dataclass(frozen=True, slots=True)
class _Watch:
    """What is read around each turn: the counters of the service and of `shared`, and the time in ns."""

    counters: CpuCounters
    shared: tuple[str, ...]
    clock: Callable[[], int]
    mark_s: float | None

    def moment(self, service: str) -> tuple[int, int, int]:
        """The time and the service's CPU time in ns, and the bytes that the load generator has received."""
        return self.clock(), self.counters.cpu_ns(service), received_bytes()


def _take_turn(runner: Runner, turns: Turns, turn_s: float, watch: _Watch) -> None:
    before = watch.counters.read(runner.service, *watch.shared)
    began = watch.clock()
    if watch.mark_s is None:
        runner.tool.resume()
        time.sleep(turn_s)
    else:
        turns.parts.append(_marked_turn(runner, turn_s, watch.mark_s, watch))
    runner.tool.hold()
    held = watch.clock()
    done, cut = _drain(runner, watch.counters, held, watch.clock)
    turns.add((began, held, done), before, watch.counters.read(runner.service, *watch.shared), cut=cut)


def _marked_turn(runner: Runner, turn_s: float, mark_s: float, watch: _Watch) -> Part:
    moments = [watch.moment(runner.service)]
    runner.tool.resume()
    for seconds in (mark_s, turn_s - mark_s):
        time.sleep(seconds)
        moments.append(watch.moment(runner.service))
    begin, mark, end = moments
    return Part(*((b - a, c - b) for a, b, c in zip(begin, mark, end, strict=True)))


def _drain(runner: Runner, counters: CpuCounters, held: int, clock: Callable[[], int]) -> tuple[int, bool]:
    """When the last answer under way had come, and whether it was given up.

    A tool may be stopped between two requests: within the steps of the kernel's clock, such a connection looks as if it
    waited for an answer. It does not, where for `quiet_s` neither an answer has come nor the service has worked. Where
    the server may wait for the tool, `one_quiet_s` is enough: a worker that serves one connection at a time (gunicorn's
    sync) answers no other before the tool has asked on this one, or has closed it.
    """
    last_change, seen, worked = held, -1, counters.cpu_ns(runner.service)
    while (found := connections_to(runner.peer)).waiting:
        now, used = clock(), counters.cpu_ns(runner.service)
        if found.waiting != seen or used - worked > _IDLE_CPU_NS + _IDLE_SHARE * (now - last_change):
            last_change, seen, worked = now, found.waiting, used
        if now - held > LONGEST_DRAIN_S * 1e9:
            return now, True
        if now - last_change > (runner.one_quiet_s if found.unasked or found.unclosed else runner.quiet_s) * 1e9:
            return last_change, False
        time.sleep(_POLL_S)
    return clock(), False


def _change(before: Sequence[int], after: Sequence[int]) -> list[int]:
    return [end - start for start, end in zip(before, after, strict=True)]
