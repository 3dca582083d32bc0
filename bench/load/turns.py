"""One window of a block: the services are loaded one after another, in many short turns.

In a turn one service's load tool runs and all others are stopped. The turn ends when the service has answered what was
under way, so that no service works in the next one's time. All that is read of a service (its time, CPU time of the
service, of the database and of the load generator, what the host did) is summed over its own turns.

The tool counts responses until it has exited, and wrk looks only every 100 ms whether it is to end. So that it counts
no response from after its turns, the service is frozen while the tool ends; where that cannot be done, the tool ends
within the last turn, whose time and counters run until it has exited.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.load.cpu_counters import CpuCounters, Reading
from bench.load.held import Freezer, HeldTool
from bench.load.sockets import connections_to, unread_connections
from bench.records.resource_usage import foreign_ratio
from bench.records.turns import ALL_TASKS, MAX_LATE, NOT_CONTAINERS, RAN, WAITED
from bench.validity.run_rules import NoiseLimits

LONGEST_DRAIN_S = 1.0
"""How long a turn may wait for answers under way."""
LEAST_REST_S = 0.05
"""A delayed acknowledgement, for which a server may hold back the rest of a response, takes 40 ms."""
_POLL_S = 0.0005
_IDLE_CPU_NS, _IDLE_SHARE = 500_000, 0.03
"""CPU time that an idle server may use: it wakes now and then (uvicorn ten times a second), the longer the more."""
_LAST_READ_S = 0.25
"""The most that a tool is waited for to read the responses of its last turn, before it is told to end."""
FROZEN, INTERRUPTED = "frozen", "interrupted"
"""How a window ended: the service was frozen while the tool ended, or the tool ended within the last turn."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One service of the window: its name, its tool, its address and port.

    It is under load for `seconds`. `quiet_s` is longer than it takes for answers to all of the tool's connections, and
    `one_quiet_s` for one answer, when it has nothing else to do. `ends_frozen`: the tool exits while the service is
    frozen; hey would wait for the responses under way. Where a response begins long before its end, nothing more of it
    comes after `rest_s`.
    """

    service: str
    tool: HeldTool
    peer: tuple[str, int]
    quiet_s: float = 0.02
    one_quiet_s: float = 0.02
    seconds: float = 1.0
    ends_frozen: bool = True
    rest_s: float = 0.0


@dataclass(slots=True)
class Turns:
    """Sums over a service's turns. Times are in ns, CPU times by container in ns, `host_ticks` as in /proc/stat.

    `end` is FROZEN or INTERRUPTED; empty where the tool has ended by itself. After `late` turns something came that the
    turn had not waited for: it is in the counts, and not in the time. From then on `rest_s` is waited for more;
    `received` are the bytes that had come when the last turn ended. `memory_bytes`: before connections were held, and
    with them.
    """

    count: int = 0
    load_ns: int = 0
    drain_ns: int = 0
    drains_cut: int = 0
    cpu_ns: dict[str, int] = field(default_factory=dict)
    host_ticks: list[int] = field(default_factory=lambda: [0] * 8)
    each_ns: list[tuple[int, int]] = field(default_factory=list)
    end: str = ""
    late: int = 0
    rest_s: float = 0.0
    received: int = 0
    memory_bytes: tuple[int, int] | None = None

    def told(self, missing: Mapping[str, str]) -> dict[str, Any]:
        """What tool.json says of them; `missing`: why a container's CPU time is not known."""
        return {
            "count": self.count,
            "load_ns": self.load_ns,
            "drain_ns": self.drain_ns,
            "drains_cut": self.drains_cut,
            "late": self.late,
            "cpu_ns": self.cpu_ns,
            "host_ticks": self.host_ticks,
            "each_ns": self.each_ns,
            "end": self.end,
            "missing": missing,
        } | ({"memory_bytes": self.memory_bytes} if self.memory_bytes else {})

    @property
    def too_late(self) -> bool:
        """Whether so much came outside its turns that the window is worth nothing."""
        return self.late > MAX_LATE * self.count

    def look_back(self, received: int) -> None:
        """Before a turn: whether anything has come since the last one."""
        if self.count and received > self.received:
            self.late += 1
            self.rest_s = min(LONGEST_DRAIN_S / 2, max(LEAST_REST_S, 2 * self.rest_s))

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
                # Of threads that have ended nothing is known any more.
                self.cpu_ns[name] = self.cpu_ns.get(name, 0) + max(0, used - before.cpu_ns[name])
        self.host_ticks = [
            sum(ticks) for ticks in zip(self.host_ticks, _change(before.host_ticks, after.host_ticks), strict=True)
        ]


def is_spoiled(taken: Sequence[Turns], limits: NoiseLimits, hosts: Sequence[int]) -> bool:
    """Whether other programs or the hypervisor took more of the CPUs in these turns than the limits allow.

    `hosts` are the CPUs of each machine. Of several, all may have happened on the one with the fewest.
    """
    cpus, share = sum(hosts), sum(hosts) / min(hosts)
    spent = [sum(ticks) for ticks in zip(*(turns.host_ticks for turns in taken), strict=True)]
    cpu_s = cpus * sum(turns.load_ns + turns.drain_ns for turns in taken) / 1e9
    if not cpu_s or not sum(spent):
        return False
    used_s = sum(ns for turns in taken for name, ns in turns.cpu_ns.items() if name not in NOT_CONTAINERS) / 1e9
    told = [turns.cpu_ns[ALL_TASKS] / 1e9 for turns in taken if ALL_TASKS in turns.cpu_ns]
    all_s = sum(told) if len(told) == len(taken) else None
    foreign = foreign_ratio(cpu_s, spent, used_s, all_s=all_s)
    return spent[7] / sum(spent) * share > limits.steal or foreign * share > limits.foreign


def run_window(
    runners: Sequence[Runner],
    counters: CpuCounters,
    shared: Sequence[str],
    *,
    turn_s: float,
    rng: random.Random,
    freezer: Freezer | None = None,
    clock: Callable[[], int] = time.monotonic_ns,
) -> dict[str, Turns]:
    """Turns of `turn_s`, until each service has been under load for its seconds; by service.

    `shared` are the containers that serve all of them (database, upstream, those of one's own app): what they use in a
    turn is charged to it. Without a `freezer` each tool ends within its last turn.
    """
    turns = {runner.service: Turns(rest_s=runner.rest_s) for runner in runners}
    watch = _Watch(counters, tuple(shared), clock, freezer)
    # As many as it takes, but none more for what only the arithmetic leaves over.
    wanted = {runner.service: max(1, math.ceil(runner.seconds / turn_s - 0.01)) for runner in runners}
    # One order for the window: a new one in each cycle would let twice as long pass between two turns of a service, and
    # its connections idle for that long, which servers close.
    order = rng.sample(runners, len(runners))
    for cycle in range(max(wanted.values(), default=0)):
        for runner in order:
            last = cycle == wanted[runner.service] - 1
            if runner.tool.status is None and cycle < wanted[runner.service]:
                ends = last and not (freezer and runner.ends_frozen)
                (_take_last_turn if ends else _take_turn)(runner, turns[runner.service], turn_s, watch)
    left = [runner for runner in order if runner.tool.status is None]
    if freezer and left:
        _end_frozen(left, turns, freezer)
    for runner in left:
        if runner.tool.status is None:
            _take_last_turn(runner, turns[runner.service], turn_s, watch)
    return turns


def _end_frozen(runners: Sequence[Runner], turns: Mapping[str, Turns], freezer: Freezer) -> None:
    """End the tools of those services that can be frozen: they read what has come, get nothing more, and exit."""
    with freezer.frozen([runner.service for runner in runners]) as names:
        ended = [runner for runner in runners if runner.service in names]
        for runner in ended:
            runner.tool.resume()
        give_up = time.monotonic() + _LAST_READ_S
        while any(unread_connections(runner.peer) for runner in ended) and time.monotonic() < give_up:
            time.sleep(_POLL_S)
        for runner in ended:
            runner.tool.interrupt()
        for runner in ended:
            runner.tool.end()
            turns[runner.service].end = FROZEN


@dataclass(frozen=True, slots=True)
class _Watch:
    """What is read around each turn: the counters of the service and of `shared`, and the time in ns."""

    counters: CpuCounters
    shared: tuple[str, ...]
    clock: Callable[[], int]
    host: Freezer | None

    def read(self, service: str) -> Reading:
        """The counters now, and how long the service's threads ran and waited for a CPU, where the host tells that."""
        reading = self.counters.read(service, *self.shared)
        threads_ns = self.host.ran_and_waited_ns(service) if self.host else None
        if threads_ns is None:
            return reading
        return replace(reading, cpu_ns={**reading.cpu_ns, RAN: threads_ns[0], WAITED: threads_ns[1]})


def _take_turn(runner: Runner, turns: Turns, turn_s: float, watch: _Watch) -> None:
    turns.look_back(connections_to(runner.peer).received)
    before = watch.read(runner.service)
    began = watch.clock()
    runner.tool.resume()
    time.sleep(turn_s)
    runner.tool.hold()
    held = watch.clock()
    done, cut = _drain(runner, watch.counters, held, watch.clock)
    after = watch.read(runner.service)
    if turns.rest_s and not cut:
        done, cut, after = _wait_for_the_rest(runner, turns.rest_s, watch, (held, done), after)
    turns.add((began, held, done), before, after, cut=cut)
    turns.received = connections_to(runner.peer).received


def _take_last_turn(runner: Runner, turns: Turns, turn_s: float, watch: _Watch) -> None:
    """A turn in which the tool is told to end, and that lasts until it has: responses, time and CPU are of one span.

    Up to one request for each connection is then under way and in no count.
    """
    turns.look_back(connections_to(runner.peer).received)
    before = watch.read(runner.service)
    began = watch.clock()
    runner.tool.resume()
    time.sleep(turn_s)
    told = watch.clock()
    runner.tool.interrupt()
    runner.tool.end()
    ended = watch.clock()
    turns.add((began, told, ended), before, watch.read(runner.service), cut=False)
    turns.end = INTERRUPTED
    _settle(runner, watch.counters, ended, watch.clock)


def _settle(runner: Runner, counters: CpuCounters, ended: int, clock: Callable[[], int]) -> None:
    """Wait until the service has done with what its tool asked and did not wait for; the next turn is another's."""
    last_work, worked = ended, counters.cpu_ns(runner.service)
    while (now := clock()) - last_work < runner.one_quiet_s * 1e9 and now - ended < LONGEST_DRAIN_S * 1e9:
        time.sleep(_POLL_S)
        used = counters.cpu_ns(runner.service)
        if used - worked > _IDLE_CPU_NS + _IDLE_SHARE * (now - last_work):
            last_work, worked = now, used


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


def _wait_for_the_rest(
    runner: Runner, rest_s: float, watch: _Watch, times_ns: tuple[int, int], after: Reading
) -> tuple[int, bool, Reading]:
    """When the last byte had come, after which none came for `rest_s`; whether that was given up; the counters then.

    The kernel takes the first bytes of a response for an answer; only time tells whether there is more. `times_ns` are
    when the load ended and when the last response had begun, and `after` are the counters then.
    """
    (held, last), received = times_ns, connections_to(runner.peer).received
    while (now := watch.clock()) - last < rest_s * 1e9:
        if now - held > LONGEST_DRAIN_S * 1e9:
            return now, True, watch.read(runner.service)
        time.sleep(_POLL_S)
        if (came := connections_to(runner.peer).received) > received:
            last, received, after = watch.clock(), came, watch.read(runner.service)
    return last, False, after


def _change(before: Sequence[int], after: Sequence[int]) -> list[int]:
    return [end - start for start, end in zip(before, after, strict=True)]
