"""The window in which a service of a table is profiled (--profile): under the table's load, alone."""

from __future__ import annotations

from dataclasses import replace

from bench.core.errors import UserError
from bench.plan.cells import OVERHEAD_S, Plan
from bench.plan.measurement import Measurement, window_folder

FOLDER = "raw/profiles"
UNDER_WAY = ".part"
"""The suffix of a step's folder until its window is complete."""
LOAD_S = 10.0
"""Seconds of load: stacks are sampled for five of them (driver/steps/sampler.py), and py-spy takes time to start."""
MOST = 8
"""The most services of a table that are profiled."""
STACKS, SAID = "stacks.txt", "sampler.txt"
"""The files with the sampled stacks and with the sampler's messages."""


def window_of(planned: Measurement) -> Measurement:
    """The profiling window of a service, given any of its windows in turns."""
    name = f"{planned.service}-{planned.scenario}-{planned.tool}-{planned.level}"
    window = replace(
        planned,
        id=f"profile-{name}",
        mode="solo",
        unit="",
        window=None,
        slot=None,
        block=None,
        turn_s=None,
        host_network=False,
        count=None,
        duration_s=LOAD_S,
        seconds=planned.warmup_s + LOAD_S + OVERHEAD_S,
    )
    return replace(window, dir=window_folder(f"{FOLDER}/{name}", window))


def check_profile(plan: Plan) -> None:
    """UserError if a plan has nothing to profile."""
    if not any(not cell.service.url for table in plan.tables for cell in table.cells):
        raise UserError(
            "--profile samples the services of a table in turns, and this selection has none: select two services or"
            " more, without --mode solo (a server that already runs, --target, is not sampled)"
        )


def words(plan: Plan) -> str:
    """How many profiling windows there are, and how long they take."""
    count = sum(min(MOST, sum(not cell.service.url for cell in table.cells)) for table in plan.tables)
    seconds = count * (plan.preset.warmup + LOAD_S + OVERHEAD_S)
    return f"profiles after the tables: {count} windows, about {seconds:.0f} s"
