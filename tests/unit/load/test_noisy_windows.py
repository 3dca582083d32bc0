"""Windows in turns spoiled by noise, by the host's counters: repeated, up to a limit, if requests/s rank the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from loop_runs import block, tables_of
from make_run import write_run

from bench.load.in_turns import Retries, is_spoiled, retries_of
from bench.load.turns import Turns
from bench.plan.measurement import Measurement, planned_of
from bench.run.reader import read_run
from bench.run.retries import set_aside
from bench.validity.run_rules import NoiseLimits

STACKS, ROUNDS = ("aiohttp", "tornado"), 4
SECOND = 10**9


def turns(idle: int, steal: int = 0, used_s: float = 1.0) -> Turns:
    """One second of turns on two CPUs; ticks are hundredths of a second."""
    ticks = [200 - idle - steal, 0, 0, idle, 0, 0, 0, steal]
    return Turns(load_ns=SECOND, host_ticks=ticks, cpu_ns={"aiohttp": int(used_s * SECOND)})


def exact(all_s: float, **told: Any) -> Turns:
    """Turns for which the CPU time of all tasks is known."""
    made = turns(**told)
    made.cpu_ns["host"] = int(all_s * SECOND)
    return made


WINDOWS: dict[str, tuple[list[Turns], bool]] = {
    "quiet": ([turns(idle=100)], False),
    "4.5 % foreign": ([turns(idle=91)], False),
    "5.5 % foreign": ([turns(idle=89)], True),
    "steal": ([turns(idle=95, steal=5)], True),
    "one noisy turn of two": ([turns(idle=85), turns(idle=100)], False),
    "very noisy": ([turns(idle=70), turns(idle=100)], True),
    "idle states": ([exact(1.09, idle=70)], False),
    "tasks": ([exact(1.11, idle=100)], True),
    "one unknown": ([exact(1.09, idle=100), turns(idle=70)], True),
    "no turns": ([], False),
}


@pytest.mark.parametrize("window", WINDOWS)
def test_other_programs_and_the_hypervisor_spoil_a_window(window: str) -> None:
    taken, spoiled = WINDOWS[window]
    assert is_spoiled(taken, NoiseLimits(), (2,)) is spoiled


def test_noise_of_several_machines_counts_as_if_one_had_it_all() -> None:
    # 3 % of two CPUs are within the limit of 5 %, but 6 % of the only CPU of one machine are not.
    for idle, cpus, spoiled in ((94, (2,), False), (94, (1, 1), True), (98, (1, 1), False)):
        assert is_spoiled([turns(idle=idle)], NoiseLimits(), cpus) is spoiled


def made(folder: Path, waits: Iterable[str]) -> tuple[Retries, dict[str, list[Measurement]]]:
    lines = [line for n in range(1, ROUNDS + 1) for line in block(n, STACKS, ("json", "delay-20"))]
    tables = [table | {"waits": table["scenario"] in waits} for table in tables_of(lines)]
    write_run(folder, lines, tables_in_turns=tables)
    found: dict[str, list[Measurement]] = {}
    for one in map(planned_of, lines[:4]):
        found.setdefault(one.scenario, []).append(one)
    return retries_of(folder), found


def test_only_where_requests_per_second_judge_and_for_half_as_many_windows(tmp_path: Path) -> None:
    retries, windows = made(tmp_path, ["delay-20"])
    noisy = [turns(idle=20)]
    assert not retries.wanted(windows["json"], noisy)
    assert not retries.wanted(windows["delay-20"], [turns(idle=100)])
    for number in range(1, ROUNDS // 2 + 1):
        assert retries.wanted(windows["delay-20"], noisy)
        place = (tmp_path / windows["delay-20"][0].dir).parent
        place.mkdir(parents=True)
        set_aside(place)
        assert (place.with_name(f"w1.spoiled-{number}")).exists()
    assert not retries.wanted(windows["delay-20"], noisy), "the budget is spent"
    assert read_run(str(tmp_path)).measured_again == ROUNDS // 2


def test_a_run_without_tables_that_wait_measures_nothing_again(tmp_path: Path) -> None:
    retries, windows = made(tmp_path, [])
    assert retries.most == {} and not retries.wanted(windows["delay-20"], [turns(idle=20)])
    (tmp_path / "run.json").write_text(json.dumps([]))
    assert retries_of(tmp_path).most == {}
