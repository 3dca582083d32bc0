"""The windows of a step whose services take turns: services are warmed up together and loaded in turns.

Reads RUN/step.json and RUN/containers.json (the cgroup of each container).

Windows spoiled by noise of the host are measured again, within a budget, but only in tables ranked by requests/s: CPU
per request excludes what other programs took, so a second window would add nothing. The rule reads only the host's
counters, never the result.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.files import as_object, check_room, read_bytes
from bench.core.groups import grouped
from bench.exchange import kind_of
from bench.exchange.kind import Response
from bench.load.answers import idle_response, wait_until_ready
from bench.load.at_rate import load_at_rate
from bench.load.cpu_counters import SHARED, CpuCounters, address_of, cgroup_root, find_cgroups, limits_of
from bench.load.failures import NO_ANSWER, Failed, explained
from bench.load.far_counters import FarCounters, far_reader
from bench.load.held import Freezer, HeldTool, freezer_of
from bench.load.kernel_counters import sysctls
from bench.load.save import TOOL_JSON, publish, tool_json
from bench.load.task import Step, at_address, at_once, command_of
from bench.load.turns import Runner, Turns, is_spoiled, run_window
from bench.load.verbs import prepare
from bench.plan.cells import CYCLE_S, blocks_of
from bench.plan.measurement import Measurement
from bench.plan.running import NO_COUNTERS
from bench.records.counters import clock_step_s, is_clock_step, whole
from bench.run.facts import read_run_facts
from bench.run.retries import CLOCK, LATE, RETRIES, SPOILED, set_aside
from bench.tools import TOOLS
from bench.tools.levels import LoadKey
from bench.tools.tool import OUTPUT, temporary
from bench.validity.run_rules import LEAST_SUCCESSES, NoiseLimits, noise_limits_of
from driver.messages import cpu_list


@dataclass(frozen=True, slots=True)
class Retries:
    """`most` has, by table, how many windows may be measured again in the run; only tables ranked by requests/s."""

    run: Path
    limits: NoiseLimits
    most: Mapping[LoadKey, int]

    def wanted(self, window: Sequence[Measurement], taken: Iterable[Turns], hosts: Sequence[int] | None = None) -> bool:
        """Whether to measure this window again because of noise; `hosts`: CPUs of each machine, by default this one."""
        first = window[0]
        most = self.most.get(first.load, 0)
        again = sum(1 for _ in self.run.glob(f"raw/r*/*/{first.scenario}/{first.tool}-{first.level}/w*.{SPOILED}-*"))
        return again < most and is_spoiled(list(taken), self.limits, hosts or (os.cpu_count() or 1,))


def retries_of(run: Path) -> Retries:
    """The retries allowed in a run, as a share of its windows; none if run.json cannot be read."""
    facts = read_run_facts(run)
    windows = {table.key: table.rounds * blocks_of(len(table.services)) for table in facts.tables if table.waits}
    return Retries(run, noise_limits_of(facts.knobs), {key: int(RETRIES * count) for key, count in windows.items()})


CONTAINERS = "containers.json"
ENOUGH_PER_CONNECTION, ENOUGH, MOST_LONGER = 4, 1.5 * LEAST_SUCCESSES, 4.0
"""A window aims at this many responses per connection, and in all: more than it needs to count. Slow services are
loaded longer to reach it, up to `MOST_LONGER` times the planned duration."""
ROUNDS = 2.0
"""A turn takes at least as long as the slowest service takes to answer all of the tool's connections this many times,
or most of it would be spent waiting for responses."""
HEALTH_S = "5"
"""Timeout for the first good response after the load, in seconds."""
CLOCK_RETRIES = 2
"""How often a window is measured again because the system clock was set during it."""
LATE_RETRIES = 2
"""How often a window is measured again because responses came after their turns; the retry waits for them longer."""
NOWHERE = "/not-found"
"""A folder that does not exist, for containers whose cgroup is unknown."""


@dataclass(frozen=True, slots=True)
class WindowLoad:
    """One measurement's part of a window: the tool's version, its command line, and the service's address.

    `response`: one of the service while it is idle.
    """

    planned: Measurement
    version: str
    argv: Sequence[str]
    peer: tuple[str, int]
    response: Response | None


def windows_of(step: Step) -> list[list[Measurement]]:
    """The measurements of each window of the step, in the order of the plan."""
    return [*grouped(step.planned.values(), lambda measurement: (measurement.load, measurement.window)).values()]


def wait_for_all(step: Step) -> None:
    """Wait for all started services."""
    step.wait_for_all(wait_until_ready)


def load_windows(step: Step) -> None:
    """Warm up, load and save every window of the step."""
    windows, run = windows_of(step), step.run
    facts = read_run_facts(run)
    services = {measurement.service for window in windows for measurement in window}
    # Those of the run's services while they are loaded; none if run.json does not have them.
    cpus = facts.knobs.get("SERVER_CPUS", "")
    counters = CpuCounters(_cgroups(run, services), server_cpus=frozenset(cpu_list(cpus) if cpus else ()))
    retries, freezer = retries_of(run), freezer_of(run)
    workers = whole(facts.workers)
    rests_s: dict[str, float] = {}
    versions: dict[str, str] = {}
    # Containers that all services use: their CPU time in a turn is charged to its service.
    shared = [name for name in counters.names if name not in services]
    if windows and not windows[0][0].held:
        step.of_each(step.left(windows[0]), prepare)
    for window in windows:
        if not window[0].stopped:
            if window[0].held:
                step.of_each(step.left(window), prepare)
            if rated := step.left(window):
                rng = random.Random(f"{facts.seed} {rated[0].id}")
                load_at_rate(step, rated, counters, rng, shared, freezer=freezer)
                check_room(run)
            continue
        clock_steps = late = 0
        step.of_each(step.left(window), prepare)
        while loads := _loads(step, step.left(window), versions):
            rng = random.Random(f"{facts.seed} {loads[0].planned.id}")
            taken, stepped = _load_window(
                step, loads, counters, rng, shared, rests_s=rests_s, freezer=freezer, workers=workers
            )
            clock_steps += stepped
            too_late = any(turns.too_late and turns.may_wait_longer for turns in taken.values())
            late += too_late
            rests_s |= {name: turns.rest_s for name, turns in taken.items() if turns.late}
            # The CPU time of a server outside the containers cannot be distinguished from that of other programs.
            counted = [taken[load.planned.service] for load in loads if not load.planned.url]
            unknown = counters.missing.keys() & {*shared, *(load.planned.service for load in loads)}
            noisy = not unknown and retries.wanted(window, counted, counters.host_cpus)
            causes = {
                LATE: too_late and late <= LATE_RETRIES,
                CLOCK: stepped and clock_steps <= CLOCK_RETRIES,
                SPOILED: noisy,
            }
            if not any(causes.values()):
                break
            set_aside((run / window[0].dir).parent, next(cause for cause, again in causes.items() if again))


def _loads(step: Step, measurements: Sequence[Measurement], versions: dict[str, str]) -> list[WindowLoad]:
    """The loads of a window. A service without one (it is gone, or its tool cannot generate the load) fails alone.

    `versions` caches the versions of tools.
    """
    loads = []
    for measurement in measurements:
        try:
            task = step.task(measurement.id)
            host, port = task.load.peer
            if (address := address_of(host)) is None:
                step.note(measurement.service, NO_ANSWER, f"{measurement.service} no longer has an address")
                continue
            load = at_address(task.load, address)
            argv = command_of(task.tool, load).argv
        except Failed as failure:
            step.note(measurement.service, failure.status, f"measure: {failure}")
            continue
        # The requests of an own app are a list, whose first one says nothing about the others.
        response = None if measurement.requests else idle_response(load)
        if measurement.tool not in versions:
            versions[measurement.tool] = task.tool.version()
        loads.append(WindowLoad(measurement, versions[measurement.tool], argv, (address, port), response))
    return loads


def _load_window(
    step: Step,
    loads: Sequence[WindowLoad],
    counters: CpuCounters,
    rng: random.Random,
    shared: Sequence[str],
    *,
    rests_s: Mapping[str, float],
    freezer: Freezer | None,
    workers: int | None = None,
) -> tuple[dict[str, Turns], bool]:
    """The turns by service, and whether the system clock was set meanwhile."""
    first, run = loads[0].planned, step.run
    with ExitStack() as stack:
        runners, slowest_s = [], 0.0
        for load in loads:
            measurement, folder = load.planned, run / load.planned.dir
            folder.mkdir(parents=True, exist_ok=True)
            step.task(measurement.id).write_body()
            tool = stack.enter_context(HeldTool(load.argv, temporary(folder, OUTPUT)))
            said = step.said(measurement.service)
            response_s = float(load.response.seconds) if load.response else said.get("answer")
            rate = rate_of(measurement, said.get("warmed"), len(loads))
            slowest_s = max(slowest_s, (measurement.connections or 1) / rate if rate else 0.0)
            kind = kind_of(measurement.exchange)
            quiet = (kind.quiet_s(response_s, measurement.connections or 1), kind.quiet_s(response_s, 1))
            frozen = TOOLS[measurement.tool].ends_frozen and not measurement.url
            rest_s = max(kind.rest_s(load.response), rests_s.get(measurement.service, 0.0))
            opening = load.response.opening_bytes if load.response else 0
            seconds = seconds_for(measurement, rate)
            runners.append(
                Runner(measurement.service, tool, load.peer, *quiet, seconds, frozen, rest_s, opening, kind.quiet)
            )
        began, clock = time.time_ns(), time.monotonic_ns()
        turn_s = turn_s_for(first.turn_s or 0.1, slowest_s, len(loads))
        taken = run_window(runners, counters, shared, turn_s=turn_s, rng=rng, freezer=freezer)
        span = {"start_ns": began, "end_ns": time.time_ns(), "elapsed_ns": time.monotonic_ns() - clock}
        check_room(run)
    health = _health(step, [load.planned for load in loads])
    for load, runner in zip(loads, runners, strict=True):
        service, folder = load.planned.service, run / load.planned.dir
        facts = _facts(load.planned, runner.tool, span, taken[service], counters) | {"health_after": health[service]}
        own = whole(load.planned.settings.get("WORKERS")) or workers
        facts["limits"]["workers"] = None if load.planned.url else own
        temporary(folder, TOOL_JSON).write_bytes(tool_json(facts, load.planned.tool, load.version, load.argv, ""))
        publish(folder)
    return taken, is_clock_step(clock_step_s(span) or 0.0, span["elapsed_ns"] / 1e9)


def _facts(
    measurement: Measurement, tool: HeldTool, span: Mapping[str, int], turns: Turns, counters: CpuCounters
) -> dict[str, Any]:
    """The facts for tool.json about a service's turns."""
    return {
        "exit_status": _exit_status(tool, measurement.tool),
        **span,
        "opened": turns.opened,
        "limits": limits_of(counters),
        "sysctls": {name: value for name, value in sysctls().items() if name != "missing"},
        "turns": turns.told(counters.missing | ({measurement.service: NO_COUNTERS} if measurement.url else {})),
    }


def _exit_status(tool: HeldTool, name: str) -> int | None:
    """The exit status as a shell reports it; 0 for a tool that ended as expected after SIGINT."""
    status = tool.status
    if status is None or (tool.told and status == TOOLS[name].told_status):
        return 0 if tool.told else None
    return status if status >= 0 else 128 - status


def rate_of(measurement: Measurement, warmed: float | None, services: int) -> float | None:
    """About how many responses per second the service serves alone; None if it was not warmed up.

    `warmed` is the number of responses in the warm-up, when all services shared the CPU. Alone, a service is faster; it
    is assumed to gain half of what an even share of the CPU would imply.
    """
    return warmed / measurement.warmup_s * max(1.0, services / 2) if warmed and measurement.warmup_s else None


def seconds_for(measurement: Measurement, rate: float | None) -> float:
    """Seconds of load for enough responses to count, at most `MOST_LONGER` times the planned duration."""
    planned = measurement.duration_s or 1.0
    enough = max(ENOUGH, ENOUGH_PER_CONNECTION * (measurement.connections or 1))
    return min(MOST_LONGER * planned, max(planned, enough / rate)) if rate else planned


def turn_s_for(planned: float, slowest_s: float, services: int) -> float:
    """The average length of a turn, in s: `slowest_s` is how long the slowest takes to answer all connections once."""
    return max(planned, min(ROUNDS * slowest_s, CYCLE_S / services))


def _health(step: Step, window: Sequence[Measurement]) -> dict[str, dict[str, Any]]:
    """Whether each service still answers, in the form of tool.json."""
    health: dict[str, dict[str, Any]] = {}

    def do(measurement: Measurement) -> None:
        error: str | None = None
        try:
            wait_until_ready(step.task(measurement.id), lambda _: None, HEALTH_S)
        except Exception as failure:  # any failure only affects its own service
            error = f"measure: {explained(failure)}"
        health[measurement.service] = {"status": None if error else 200, "time_s": None, "error": error}

    at_once(do, window)
    return health


def _cgroups(run: Path, services: Iterable[str]) -> dict[str, str | FarCounters]:
    """The folder of each container below the host's cgroup root: as written by the host, else as found here.

    In RUN/containers.json, a container on another machine has the address of its reader after its folder.
    """
    containers = as_object(read_bytes(str(run / CONTAINERS)) or b"")
    if containers is None:
        names = [*services, *SHARED]
        return {**dict.fromkeys(names, NOWHERE), **find_cgroups(names, cgroup_root())}
    readers = {reader: far_reader(reader) for reader in {more[0] for _, *more in containers.values() if more}}
    return {name: readers[more[0]] if more else folder for name, (folder, *more) in containers.items()}
