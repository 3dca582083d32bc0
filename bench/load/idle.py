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
    """Usage by service while its connections are held, for its own duration: a slow one keeps no other waiting."""
    idle_bytes = {runner.service: counters.memory_bytes(runner.service) for runner in runners}
    for runner in runners:
        runner.tool.resume()
    began: dict[str, tuple[float, int, Reading]] = {}
    found, left = dict[str, Turns](), [*runners]
    give_up = time.monotonic() + OPENED_S
    while left:
        for runner in [*left]:
            name, now = runner.service, time.monotonic()
            if name not in began and b"\n" in (read_bytes(str(outputs[name])) or b""):
                began[name] = now, clock(), counters.read(name)
            if now >= (began[name][0] + runner.seconds if name in began else give_up):
                found[name] = _held(name, began.get(name), counters, clock, idle_bytes[name])
                runner.tool.interrupt()
                left.remove(runner)
        time.sleep(_POLL_S)
    for runner in runners:
        runner.tool.end()
    return found


def _held(
    name: str,
    began: tuple[float, int, Reading] | None,
    counters: CpuCounters,
    clock: Callable[[], int],
    idle_bytes: int | None,
) -> Turns:
    """A service's usage since its connections were held; none if they never were."""
    turns = Turns(end=INTERRUPTED)
    if began:
        _, since, before = began
        after, now = counters.read(name), clock()
        turns.add((since, now, now), _own(before, name), _own(after, name), cut=False)
        turns.memory_bytes = _both(idle_bytes, counters.memory_bytes(name))
    return turns


def _own(reading: Reading, service: str) -> Reading:
    """The reading without the host's counters, in which the other services would count as other programs."""
    return Reading({service: reading.cpu_ns[service]} if service in reading.cpu_ns else {}, (0,) * 8)


def _both(idle: int | None, held: int | None) -> tuple[int, int] | None:
    return None if idle is None or held is None else (idle, held)
