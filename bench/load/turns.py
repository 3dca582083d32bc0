"""One window of a block: the services are loaded one after another, in many short turns.

In a turn, one service's load tool runs while all others are stopped. The turn ends when the service has answered all
requests in flight, so that it does not work during the next service's turn. All figures of a service (time, CPU time of
the service, the database and the load generator, activity of the host) are sums over its own turns.

A tool counts responses until it has exited, and wrk checks only every 100 ms whether it should end. To prevent it from
counting responses after its turns, the service is frozen while the tool ends. If that is not possible, the tool ends
within the last turn, whose time and counters include the tool's exit.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench.load.cpu_counters import CpuCounters, Reading
from bench.load.held import Freezer, HeldTool
from bench.load.sockets import Traffic, connections_to, traffic, unread_connections
from bench.records.resource_usage import foreign_ratio
from bench.records.turns import ALL_TASKS, MAX_LATE, NOT_CONTAINERS, RAN, WAITED, Turn
from bench.validity.run_rules import NoiseLimits

LONG, SHORT = 1.6, 0.4
"""The lengths of the two kinds of turns, relative to the average. Their difference tells the steady part of a window
from the begin and the end of its turns (`bench.records.turns.steady_part`)."""
LONGEST_DRAIN_S = 1.0
"""How long a turn may wait for outstanding responses; while all turns have waited in vain, half as long after each."""
LEAST_REST_S = 0.05
"""Above the 40 ms of a delayed acknowledgement, for which a server may hold back the rest of a response."""
_POLL_S = 0.0005
_IDLE_CPU_NS, _IDLE_SHARE = 500_000, 0.03
"""CPU time that an idle server may use, fixed and as a share of time: it wakes up now and then (uvicorn ten times a
second)."""
_LAST_READ_S = 0.25
"""How long a tool may take to read the responses of its last turn before it is told to end."""
FROZEN, INTERRUPTED = "frozen", "interrupted"
"""How a window ended: the service was frozen while the tool ended, or the tool ended within the last turn."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One service of the window: its name, its tool, its address and port.

    - `quiet_s`: longer than the service, when otherwise idle, takes to answer all of the tool's connections;
      `one_quiet_s`: longer than it takes for one response.
    - `seconds`: how long it is under load.
    - `ends_frozen`: whether the tool exits even if the service is frozen; hey would wait for requests in flight.
    - `rest_s`: if responses are sent in parts, a response is complete when nothing has come for this long.
    - `opening_bytes`: those that the service sends on each connection before any response.
    - `quiet`: whether it has nothing to do once its tool is stopped; otherwise it is frozen between its turns.
    """

    service: str
    tool: HeldTool
    peer: tuple[str, int]
    quiet_s: float = 0.02
    one_quiet_s: float = 0.02
    seconds: float = 1.0
    ends_frozen: bool = True
    rest_s: float = 0.0
    opening_bytes: int = 0
    quiet: bool = True


@dataclass(slots=True)
class Turns:
    """Sums over a service's turns. Times are in ns, CPU times by container in ns, `host_ticks` as in /proc/stat.

    - `end`: FROZEN or INTERRUPTED; empty if the tool ended by itself.
    - `late`: number of turns after which responses came that the turn had not waited for. They are included in the
      counts, but not in the time.
    - `rest_s`: how long turns wait for more data; a late response increases it.
    - `received`: bytes received when the last turn ended.
    - `opened`: connections that were opened in the turns; `opening_bytes`: those of each before any response.
    """

    count: int = 0
    load_ns: int = 0
    drain_ns: int = 0
    drains_cut: int = 0
    late: int = 0
    cpu_ns: dict[str, int] = field(default_factory=dict)
    host_ticks: list[int] = field(default_factory=lambda: [0] * 8)
    each: list[Turn] = field(default_factory=list)
    end: str = ""
    rest_s: float = 0.0
    received: int = 0
    opened: int = 0
    opening_bytes: int = 0

    def told(self, missing: Mapping[str, str]) -> dict[str, Any]:
        """The entry in tool.json; `missing`: why a container's CPU time is unknown."""
        sums = asdict(self)
        for name in ("rest_s", "received", "opened", "opening_bytes"):
            del sums[name]
        return sums | {"missing": missing}

    @property
    def too_late(self) -> bool:
        """Whether so many responses came outside their turns that the window cannot be used."""
        return self.late > MAX_LATE * self.count

    @property
    def may_wait_longer(self) -> bool:
        """Whether turns that wait longer for responses could help: few have waited as long as one may."""
        return self.drains_cut <= MAX_LATE * self.count

    @property
    def longest_drain_ns(self) -> int:
        """How long the next turn may wait; others wait meanwhile, in gunicorn's sync workers at most two seconds."""
        all_in_vain = self.drains_cut == self.count
        return int(LONGEST_DRAIN_S * 1e9) >> (self.drains_cut if all_in_vain else 0)

    def look_back(self, received: int) -> None:
        """Before the tool runs again, check whether anything has been received since the last turn."""
        if self.count and received > self.received:
            self.late += 1
            self.rest_s = min(LONGEST_DRAIN_S / 2, max(LEAST_REST_S, 2 * self.rest_s))

    def add(
        self,
        times_ns: tuple[int, int, int],
        before: Reading,
        after: Reading,
        *,
        cut: bool = False,
        moved: tuple[Traffic, Traffic] = (Traffic(0, 0), Traffic(0, 0)),
        long: bool | None = None,
    ) -> None:
        """Add a turn; `times_ns`: when it began, when its load ended, and when the last response had come.

        `moved` is the traffic before and after it.
        """
        began, held, done = times_ns
        # The sum over a service's threads decreases when threads end.
        used = {name: max(0, ns - before.cpu_ns[name]) for name, ns in after.cpu_ns.items() if name in before.cpu_ns}
        self.count += 1
        self.load_ns += held - began
        self.drain_ns += done - held
        self.drains_cut += cut
        opened = moved[1].opened - moved[0].opened
        self.opened += opened
        octets = max(0, moved[1].octets - moved[0].octets - opened * self.opening_bytes)
        self.each.append(Turn(began, held - began, done - held, octets, used, long))
        for name, ns in used.items():
            self.cpu_ns[name] = self.cpu_ns.get(name, 0) + ns
        ends = zip(self.host_ticks, before.host_ticks, after.host_ticks, strict=True)
        self.host_ticks = [total + end - start for total, start, end in ends]


def is_spoiled(taken: Sequence[Turns], limits: NoiseLimits, hosts: Sequence[int]) -> bool:
    """Whether other programs or the hypervisor took more of the CPUs in these turns than the limits allow.

    `hosts` are the numbers of CPUs of each machine. With several, all noise is assumed to be on the smallest one.
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
    """Take turns until each service has been under load for its `seconds`; returns the sums by service.

    Turns take `turn_s` on average. Each service has long and short ones in alternation, and its neighbour has them the
    other way round, so that all cycles take the same time. A service of which too much comes late, although its turns
    wait as long as they may, gets no more of them.

    `shared` are the containers used by all services (database, upstream, those of a user's own app); their usage in a
    turn is charged to its service. Without a `freezer`, each tool ends within its last turn.
    """
    pushing = [runner.service for runner in runners if not runner.quiet]
    with freezer.frozen(pushing) if freezer and pushing else nullcontext():
        return _run_window(runners, counters, shared, turn_s=turn_s, rng=rng, freezer=freezer, clock=clock)


def _run_window(
    runners: Sequence[Runner],
    counters: CpuCounters,
    shared: Sequence[str],
    *,
    turn_s: float,
    rng: random.Random,
    freezer: Freezer | None,
    clock: Callable[[], int],
) -> dict[str, Turns]:
    turns = {r.service: Turns(rest_s=r.rest_s, opening_bytes=r.opening_bytes) for r in runners}
    watch = _Watch(counters, tuple(shared), clock, freezer)
    # Rounded up, but not because of floating-point error.
    turn_counts = {runner.service: max(1, math.ceil(runner.seconds / turn_s - 0.01)) for runner in runners}
    # As many long as short ones.
    wanted = {service: count + (count > 1 and count % 2) for service, count in turn_counts.items()}
    # Keep one order for the whole window: with a new order in each cycle, up to twice as much time would pass between
    # two turns of a service, and servers might close connections that are idle for so long.
    order = rng.sample(runners, len(runners))
    for cycle in range(max(wanted.values(), default=0)):
        for place, runner in enumerate(order):
            last = cycle == wanted[runner.service] - 1
            # More turns could not make up for the late ones, and their drains would keep the others waiting.
            so_far = turns[runner.service]
            lost = so_far.late > MAX_LATE * wanted[runner.service] and not so_far.may_wait_longer
            if runner.tool.status is None and cycle < wanted[runner.service] and not lost:
                if last and not (freezer and runner.ends_frozen):
                    _take_last_turn(runner, turns[runner.service], turn_s, watch)
                else:
                    _take_turn(runner, turns[runner.service], turn_s, watch, long=(cycle + place) % 2 == 0)
    left = [runner for runner in order if runner.tool.status is None]
    if freezer and left:
        _end_frozen(left, turns, freezer)
    for runner in left:
        if runner.tool.status is None:
            _take_last_turn(runner, turns[runner.service], turn_s, watch)
    return turns


def _end_frozen(runners: Sequence[Runner], turns: Mapping[str, Turns], freezer: Freezer) -> None:
    """End the tools of services that can be frozen: the tools read what has arrived, get nothing more, and exit."""
    with freezer.frozen([runner.service for runner in runners]) as names:
        ended = [runner for runner in runners if runner.service in names]
        for runner in ended:
            turns[runner.service].look_back(connections_to(runner.peer).received)
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
    """Reads counters (of the service and of `shared`) and the time before and after each turn."""

    counters: CpuCounters
    shared: tuple[str, ...]
    clock: Callable[[], int]
    host: Freezer | None

    def read(self, service: str) -> Reading:
        """The current counters, and how long the service's threads ran and waited for a CPU if the host gives that."""
        reading = self.counters.read(service, *self.shared)
        threads_ns = self.host.ran_and_waited_ns(service) if self.host else None
        if threads_ns is None:
            return reading
        return replace(reading, cpu_ns={**reading.cpu_ns, RAN: threads_ns[0], WAITED: threads_ns[1]})


def _take_turn(runner: Runner, turns: Turns, turn_s: float, watch: _Watch, *, long: bool) -> None:
    turns.look_back(connections_to(runner.peer).received)
    before, moved = watch.read(runner.service), traffic()
    began, seconds = watch.clock(), turn_s * (LONG if long else SHORT)
    runner.tool.resume()
    if watch.host and not runner.quiet:
        with watch.host.thawed([runner.service]):
            time.sleep(seconds)
        frozen = watch.clock()
        _read_all(runner)
        turns.add((began, frozen, frozen), before, watch.read(runner.service), moved=(moved, traffic()), long=long)
        turns.received = connections_to(runner.peer).received
        return
    time.sleep(seconds)
    runner.tool.hold()
    held = watch.clock()
    give_up = held + turns.longest_drain_ns
    done, cut = _drain(runner, watch.counters, (held, give_up), watch.clock)
    after = watch.read(runner.service)
    if turns.rest_s and not cut:
        done, cut, after = _wait_for_the_rest(runner, turns.rest_s, watch, (done, give_up), after)
    turns.add((began, held, done), before, after, cut=cut, moved=(moved, traffic()), long=long)
    turns.received = connections_to(runner.peer).received


def _read_all(runner: Runner) -> None:
    """Let the tool of a frozen service read what has come, and stop it."""
    give_up = time.monotonic() + _LAST_READ_S
    while unread_connections(runner.peer) and time.monotonic() < give_up:
        time.sleep(_POLL_S)
    runner.tool.hold()


def _take_last_turn(runner: Runner, turns: Turns, turn_s: float, watch: _Watch) -> None:
    """Take a turn that ends with the tool's exit, so that responses, time and CPU time cover the same period.

    Up to one request per connection is then in flight and not counted.
    """
    turns.look_back(connections_to(runner.peer).received)
    before, moved = watch.read(runner.service), traffic()
    began = watch.clock()
    runner.tool.resume()
    time.sleep(turn_s)
    interrupted = watch.clock()
    runner.tool.interrupt()
    runner.tool.end()
    ended = watch.clock()
    turns.add((began, interrupted, ended), before, watch.read(runner.service), moved=(moved, traffic()))
    turns.end = INTERRUPTED
    _settle(runner, watch.counters, ended, watch.clock)


def _settle(runner: Runner, counters: CpuCounters, ended: int, clock: Callable[[], int]) -> None:
    """Wait until the service has processed the requests that its tool left in flight, for the next service's sake."""
    last_work, worked = ended, counters.cpu_ns(runner.service)
    while (now := clock()) - last_work < runner.one_quiet_s * 1e9 and now - ended < LONGEST_DRAIN_S * 1e9:
        time.sleep(_POLL_S)
        used = counters.cpu_ns(runner.service)
        if used - worked > _IDLE_CPU_NS + _IDLE_SHARE * (now - last_work):
            last_work, worked = now, used


def _drain(
    runner: Runner, counters: CpuCounters, times_ns: tuple[int, int], clock: Callable[[], int]
) -> tuple[int, bool]:
    """Wait for outstanding responses; returns when the last one came, and whether waiting was given up.

    `times_ns` are when the load ended and when to give up.

    If a tool is stopped between two requests, the resolution of the kernel's clock can make the connection look as if
    it waited for a response. It does not wait if for `quiet_s` no response has come and the service has not worked. If
    the server may be waiting for the tool, `one_quiet_s` is enough: a worker that serves one connection at a time
    (gunicorn's sync) does not answer others until the tool has sent a request on this one, or has closed it.
    """
    (last_change, give_up), seen, worked = times_ns, -1, counters.cpu_ns(runner.service)
    while (connections := connections_to(runner.peer)).waiting:
        now, used = clock(), counters.cpu_ns(runner.service)
        if connections.waiting != seen or used - worked > _IDLE_CPU_NS + _IDLE_SHARE * (now - last_change):
            last_change, seen, worked = now, connections.waiting, used
        if now > give_up:
            return now, True
        quiet_s = runner.one_quiet_s if connections.unasked or connections.unclosed else runner.quiet_s
        if now - last_change > quiet_s * 1e9:
            return last_change, False
        time.sleep(_POLL_S)
    return clock(), False


def _wait_for_the_rest(
    runner: Runner, rest_s: float, watch: _Watch, times_ns: tuple[int, int], after: Reading
) -> tuple[int, bool, Reading]:
    """Wait until nothing has come for `rest_s`; returns when the last byte came, whether waiting was given up, and the
    counters at that time.

    The kernel only shows that a response has begun, so time must tell whether there is more. `times_ns` are when the
    last response had begun and when to give up, and `after` are the counters at the former.
    """
    (last, give_up), received = times_ns, connections_to(runner.peer).received
    while (now := watch.clock()) - last < rest_s * 1e9:
        if now > give_up:
            return now, True, watch.read(runner.service)
        time.sleep(_POLL_S)
        if (came := connections_to(runner.peer).received) > received:
            last, received, after = watch.clock(), came, watch.read(runner.service)
    return last, False, after
