"""Makes a synthetic run with --profile: tables in turns, and sampled stacks of their services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loop_runs import block, tables_of, write_window
from make_run import mark_measured, output_of, write_measurement, write_run

from bench.plan.measurement import planned_of
from bench.plan.profile import SAID, STACKS, window_of

SAMPLER = "Sampling process 400 times a second for 5 seconds. Press Control-C to exit.\n"
RATES = {"aiohttp": 3000.0, "tornado": 2600.0}
RUN = "run_forever (asyncio/base_events.py:683);_run_once (asyncio/base_events.py:2050)"
STACKS_OF = {
    "aiohttp": f"{RUN};handle (app.py:12) 1500\n{RUN};dumps (json/__init__.py:3) 300\n{RUN} 200\n",
    "tornado": f"{RUN};handle (app.py:12) 1200\n{RUN};dumps (json/__init__.py:3) 260\n{RUN};slow (app.py:40) 540\n",
}


def write_profiled(
    folder: Path,
    stacks: Mapping[str, str] = STACKS_OF,
    rates: Mapping[str, float] = RATES,
    *,
    rounds: int = 6,
    profiles: bool = True,
    **facts: Any,
) -> Path:
    """Writes a run with complete tables, and profiles of `stacks`."""
    plan = [line for number in range(1, rounds + 1) for line in block(number, tuple(rates), windows=1)]
    # A CPU whose bias of turns is smaller than the difference of the two services.
    host = {"cpu": "Intel(R) Xeon(R) Processor", "cpus": 2}
    known = {"tables_in_turns": tables_of(plan, rounds), "profile": True, "mode": "turns", "host": host}
    write_run(folder, plan, **(known | facts))
    for line in plan:
        stack = line["service"].removesuffix("-py313-debian")
        # Each service varies differently.
        ripple = 1 + 0.004 * ((line["round"] * (3 if stack == "aiohttp" else 5)) % 7 - 3)
        write_window(folder, line, rates[stack] * ripple, cpu_s=0.9)
        mark_measured(folder, line)
    if profiles:
        for stack, text in stacks.items():
            write_profile(folder, first_of(plan, stack), text, rates[stack])
    return folder


def first_of(plan: Sequence[Mapping[str, Any]], stack: str) -> Mapping[str, Any]:
    """The first line of a stack."""
    return next(line for line in plan if line["service"].startswith(f"{stack}-py"))


def write_profile(folder: Path, line: Mapping[str, Any], stacks: str, rate: float, said: str = SAMPLER) -> Path:
    """Writes the profiled window of a service whose server used a whole CPU."""
    window = window_of(planned_of(line)).as_dict()
    write_measurement(folder, window, output_of(window, rate), cpu_s=window["duration_s"])
    place = folder / window["dir"]
    if stacks:
        (place / STACKS).write_text(stacks)
    (place / SAID).write_text(said)
    return place
