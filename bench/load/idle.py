"""One window of a table of idle services: all services hold their connections at the same time.

They hardly compete for the CPU, so no turns are needed, and each one's usage comes from its own counters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.core.files import read_bytes
from bench.load.cpu_counters import CpuCounters, Reading
from bench.load.turns import INTERRUPTED, Runner, Turns

OPENED_S = 30.0
"""Timeout until all connections are open."""
_POLL_S = 0.01


def run_held(
    runners: Sequence[Runner],
    outputs: Mapping[str, Path],
    counters: CpuCounters,
    clock: Callable[[], int] = time.monotonic_ns,
) -> dict[str, Turns]:
    """Usage by service while all connections are held, for the longest duration of any runner."""
    idle_bytes = {runner.service: counters.memory_bytes(runner.service) for runner in runners}
    for runner in runners:
        runner.tool.resume()
    began: dict[str, tuple[int, Reading]] = {}
    give_up = time.monotonic() + OPENED_S
    while len(began) < len(runners) and time.monotonic() < give_up:
        for runner in runners:
            if runner.service not in began and b"\n" in (read_bytes(str(outputs[runner.service])) or b""):
                began[runner.service] = clock(), counters.read(runner.service)
        time.sleep(_POLL_S)
    time.sleep(max(runner.seconds for runner in runners))
    found = {}
    for runner in runners:
        found[runner.service] = turns = Turns()
        if runner.service in began:
            (since, before), after, now = began[runner.service], counters.read(runner.service), clock()
            turns.add((since, now, now), _own(before, runner.service), _own(after, runner.service), cut=False)
            turns.memory_bytes = _both(idle_bytes[runner.service], counters.memory_bytes(runner.service))
        turns.end = INTERRUPTED
        runner.tool.interrupt()
    for runner in runners:
        runner.tool.end()
    return found


def _own(reading: Reading, service: str) -> Reading:
    """The reading without the host's counters, in which the other services would count as other programs."""
    return Reading({service: reading.cpu_ns[service]} if service in reading.cpu_ns else {}, (0,) * 8)


def _both(idle: int | None, held: int | None) -> tuple[int, int] | None:
    return None if idle is None or held is None else (idle, held)
