"""Loads the services of a block at a common rate: one after another, open loop, while the others are frozen.

Streams with a pace of their own, too: side by side, the events of one service would wait for those of the others. They
take so long that the others are only idle meanwhile.

Results are saved after all loads, so that saving takes no CPU time from any of them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

from bench.load.cpu_counters import CpuCounters, Reading, limits_of
from bench.load.held import Freezer
from bench.load.kernel_counters import Facts
from bench.load.save import Ran, run_load, save_load
from bench.load.task import Step, Task, at_once, pinned
from bench.load.turns import Turns
from bench.plan.measurement import Measurement
from bench.plan.running import NO_COUNTERS

MOST_FROZEN_S = 12.0
"""Approximate limit of the time that services stay frozen: gunicorn kills workers that are silent for 30 s, and idle
workers notify it every 15 s."""
AROUND_S = 0.6
"""Overhead per service, in addition to its load."""


def load_at_rate(
    step: Step,
    window: Sequence[Measurement],
    counters: CpuCounters,
    rng: random.Random,
    shared: Sequence[str],
    *,
    freezer: Freezer | None,
) -> None:
    """Load and save the measurements of a window, one after another; a failure only affects its own service."""
    ran: dict[str, tuple[Ran, Facts]] = {}
    slot_s = AROUND_S + (window[0].duration_s or 0.0) + window[0].exchange.paced_s
    if slot_s > MOST_FROZEN_S:
        freezer = None
    order, at_most = rng.sample(window, len(window)), max(1, int(MOST_FROZEN_S / slot_s))
    names = [measurement.service for measurement in window if not measurement.url]
    for some in (order[first : first + at_most] for first in range(0, len(order), at_most)):
        with freezer.frozen(names) if freezer else nullcontext():
            for measurement in some:
                service = measurement.service
                thawed = freezer.thawed([service]) if freezer and not measurement.url else nullcontext()
                with suppress(Exception), thawed, step.noted(service):
                    ran[measurement.id] = _load(measurement, step.task(measurement.id), counters, shared)

    def save(measurement: Measurement) -> None:
        with suppress(Exception), step.noted(measurement.service):
            save_load(*ran[measurement.id])

    at_once(save, (measurement for measurement in window if measurement.id in ran))


def _load(measurement: Measurement, task: Task, counters: CpuCounters, shared: Sequence[str]) -> tuple[Ran, Facts]:
    """Run the load; its facts for tool.json are those of a single turn."""
    task = replace(task, load=pinned(task.load))
    task.folder.mkdir(parents=True, exist_ok=True)
    task.write_body()
    starts = list[tuple[Reading, int]]()
    ran = run_load(task, lambda: starts.append((counters.read(measurement.service, *shared), time.monotonic_ns())))
    ended, turns = time.monotonic_ns(), Turns()
    for before, began in starts:
        turns.add((began, ended, ended), before, counters.read(measurement.service, *shared), cut=False)
    missing = counters.missing | ({measurement.service: NO_COUNTERS} if measurement.url else {})
    return ran, {"limits": limits_of(counters), "turns": turns.told(missing)}
