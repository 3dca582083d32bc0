"""Steps that ran side by side: what reports say about them, and how much faster the run was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loop_runs import block, solo
from make_run import output_of, write_measurement, write_run

from bench.__main__ import main
from bench.analysis.runs.side_by_side import SpeedUp, speed_up
from bench.run.reader import read_run
from bench.words.setup import side_by_side

MINUTE = 60 * 10**9


def test_the_steps_own_time_against_the_time_in_which_any_was_under_way() -> None:
    s = 10**9
    assert speed_up([(0, 10 * s), (0, 10 * s)]) == SpeedUp(20, 10, 2)
    assert speed_up([(0, 10 * s), (5 * s, 15 * s)]) == SpeedUp(20, 15, 2)
    # One after another; pauses between them do not count.
    assert speed_up([(0, 10 * s), (10 * s, 20 * s), (100 * s, 110 * s)]) == SpeedUp(30, 30, 1)
    found = speed_up([(0, 30 * s), (1 * s, 2 * s), (3 * s, 4 * s)])
    assert found is not None
    assert found.ratio == pytest.approx(32 / 30)
    assert (speed_up([]), speed_up([(5, 5)])) == (None, None)


def a_run(folder: Path, **facts: Any) -> Path:
    in_turns, alone = block(1, ("aiohttp", "tornado")), solo("aiohttp", 7)
    run = write_run(folder, [*in_turns, alone], **facts)
    for line, (begin, end) in zip([*in_turns, alone], [(0, 3), (0, 3), (0, 1)], strict=True):
        write_measurement(run, line, output_of(line, 1000), meta={"begin_ns": begin * MINUTE, "end_ns": end * MINUTE})
    return run


def test_a_block_counts_once_in_the_report_of_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lanes = {"most": 2, "left_out": ["node-6 (server: 8 CPUs)"], "shared": ["node-1 CPU 1"]}
    run = a_run(tmp_path / "a-run", lanes=lanes)
    found = dict(side_by_side(read_run(str(run))))
    assert found["pairs of nodes"].startswith(
        "1.33 times as fast as on one pair: steps of 4.0 min in 3.0 min, up to 2 at once."
    )
    assert found["pairs of nodes"].endswith("shared node-1 CPU 1: scenarios that use them share their noise.")
    assert found["nodes left out"].startswith("node-6 (server: 8 CPUs): figures of nodes of several kinds")
    assert main(["lanes-speed-up", str(run)]) == 0
    assert capsys.readouterr().out.startswith("1.33 times as fast as on one pair")
    assert main(["build", str(run), "--quiet"]) == 0
    assert "1.33 times as fast as on one pair" in (run / "report.md").read_text()


def test_a_run_on_one_pair_or_one_machine_says_nothing_of_it(tmp_path: Path) -> None:
    assert [*side_by_side(read_run(str(a_run(tmp_path / "one"))))] == []
    entry = {"most": 1, "left_out": [], "shared": []}
    assert [*side_by_side(read_run(str(a_run(tmp_path / "two", lanes=entry))))] == []
