"""Runs the events of several services at the same time, with one client process for each.

A service's capacity is measured while the others are idle, once per run and request; later windows read it from
RUN/raw/capacities. Only events whose load has no absolute limit, but is always a share of the capacity, measure it each
time.
"""

from __future__ import annotations

import json
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from bench.core.files import as_object, check_room, read_bytes, write_file
from bench.core.typed import as_plain, read_or_none
from bench.load.answers import warm_up
from bench.load.event import Capacity, asked_of, find_capacity, know, run_event, wait_until_all_ready
from bench.load.failures import TOOL_FAILED, Failed
from bench.load.save import TOOL_JSON
from bench.load.task import Step, Task
from bench.tools.sockets import CAPACITY, REQUESTS, SLOW
from driver.messages import BEGUN, ENOUGH

CAPACITIES = "raw/capacities"
OF_EARLIER = (BEGUN, ENOUGH, CAPACITY, REQUESTS, SLOW, TOOL_JSON)


def wait_for_all(step: Step) -> None:
    """Wait for all started services, whose folders then have no files of an earlier try."""
    for measurement in step.left():
        folder = step.run / measurement.dir
        folder.mkdir(parents=True, exist_ok=True)
        for name in OF_EARLIER:
            (folder / name).unlink(missing_ok=True)
    step.wait_for_all(wait_until_all_ready)


def load_events(step: Step) -> None:
    """Warm up all services, measure the capacity of each, and start their events shortly after each other."""
    step.of_each([measurement for measurement in step.left() if measurement.warmup_s], warm_up)
    capacities = dict[str, Capacity]()
    for measurement in step.left():
        # A failure only affects its own service.
        with suppress(Exception), step.noted(measurement.container):
            capacities[measurement.container] = _capacity(step.run, step.task(measurement.id))
    step.of_each(step.left(), lambda task, _: know(task, capacities[task.planned.container]))
    tasks = [step.task(measurement.id) for measurement in step.left()]
    processes = [get_context("fork").Process(target=_run, args=(step, task, len(tasks) - 1)) for task in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    check_room(step.run)
    if not step.left():
        raise Failed(TOOL_FAILED, "no service could be loaded")


def _run(step: Step, task: Task, beside: int) -> None:
    with suppress(Exception), step.noted(task.planned.container):
        run_event(task, beside)


def _capacity(run: Path, task: Task) -> Capacity:
    """The service's capacity: the one measured earlier in this run if possible, else a new one."""
    file, asked = run / CAPACITIES / f"{task.planned.service}.json", asked_of(task)
    earlier = read_or_none(dict[str, Capacity], as_object(read_bytes(str(file)) or b"")) or {}
    if (known := earlier.get(asked)) and task.event.most_rate is not None:
        return known
    capacity = find_capacity(task)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, json.dumps(as_plain(earlier | {asked: capacity})) + "\n")
    return capacity
