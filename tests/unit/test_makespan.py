"""The simulation of runs on several machines, checked against properties of every schedule."""

from __future__ import annotations

import io
import json
import math
import random
import tarfile
from pathlib import Path

import pytest
from simulate_nodes import drawn, makespan, measured_ratios, pairs_of, planned_units, read_begins, simulated

from bench.cli.arguments import parse_selection
from bench.cli.plan import plan_of
from bench.core.errors import UserError


def test_pairs() -> None:
    assert [pairs_of(machines) for machines in (2, 3, 5, 8, 32)] == [1, 1, 2, 3, 15]


def test_one_pair_measures_one_thing_after_the_other() -> None:
    assert makespan([[3.0, 1.0, 2.0], [4.0]], 1) == 10.0


def test_two_pairs_share_a_round_and_wait_for_each_other() -> None:
    assert makespan([[3.0, 1.0, 2.0], [4.0]], 2) == 3.0 + 2.0 + 4.0


@pytest.mark.parametrize("pairs", [1, 3, 15])
def test_no_schedule_is_faster_than_its_work_or_slower_than_its_longest_units(pairs: int) -> None:
    rng = random.Random(1)
    rounds = [[rng.uniform(10, 30) for _ in range(23)] for _ in range(30)]
    took = makespan(rounds, pairs)
    least = sum(max(sum(units) / pairs, *units) for units in rounds)
    most = sum(math.ceil(len(units) / pairs) * max(units) for units in rounds)
    assert least <= took + 1e-6
    assert took <= most + 1e-6


def test_the_simulation_with_exact_costs_is_the_plan() -> None:
    planned = [[17.6] * 23] * 30
    assert simulated(planned, [1.0], 2, 3) == pytest.approx([17.6 * 23 * 30] * 3)
    # 23 blocks on 15 pairs of machines take two rounds of steps.
    assert simulated(planned, [1.0], 32, 1) == pytest.approx([17.6 * 2 * 30])


def test_costs_are_drawn_from_those_measured() -> None:
    (units,) = drawn([[10.0] * 500], [0.9, 1.3], random.Random(1))
    assert set(units) == {9.0, 13.0}


def test_the_units_of_a_plan_take_as_long_as_the_planner_says() -> None:
    words = ["--stack", "aiohttp,tornado,uvicorn-asgi,bjoern-*", "--scenario", "json,delay-20", "--rounds", "6"]
    plan, _, _ = plan_of(parse_selection(words))
    planned = planned_units(plan)
    assert len(planned) == plan.rounds == 6
    assert sum(map(sum, planned)) == pytest.approx(plan.total_seconds(6))


def test_what_was_measured_is_read_from_a_published_run(tmp_path: Path) -> None:
    lines = [
        {"id": f"r01-b{n}-{slot}", "unit": f"r01-b{n}", "round": 1, "seconds": 10.0}
        for n in (1, 2, 3)
        for slot in (1, 2)
    ]
    files = {"plan.jsonl": "\n".join(map(json.dumps, lines))}
    for line in lines:
        block = int(str(line["unit"])[-1])
        meta = {"id": line["id"], "begin_ns": (100 + 12 * block) * 10**9}
        files[f"raw/r01/b{block}/json/wrk-c16/w1/{line['id']}/meta.json"] = json.dumps(meta)
    with tarfile.open(tmp_path / "raw.tar.xz", "w:xz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    assert measured_ratios(read_begins(tmp_path / "raw.tar.xz")) == pytest.approx([1.2, 1.2])


def test_a_run_without_blocks_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "raw.tar.xz", "w:xz"):
        pass
    with pytest.raises(UserError, match="no blocks"):
        read_begins(tmp_path / "raw.tar.xz")
