"""Steps that ran side by side: what reports say about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loop_runs import block, solo
from make_run import write_measured

from bench.__main__ import main
from bench.run.reader import read_run
from bench.words.setup import side_by_side


def a_run(folder: Path, **facts: Any) -> Path:
    return write_measured(folder, [*block(1, ("aiohttp", "tornado")), solo("aiohttp", 7)], 1000, **facts)


def test_a_report_names_what_pairs_of_nodes_shared(tmp_path: Path) -> None:
    lanes = {"most": 2, "left_out": ["node-6 (server: 8 CPUs)"], "shared": ["node-1 CPU 1"]}
    run = a_run(tmp_path / "a-run", lanes=lanes)
    found = dict(side_by_side(read_run(str(run)).facts.lanes))
    assert found["pairs of nodes"].startswith("In each round, every block of services in turns was assigned")
    assert found["pairs of nodes"].endswith("shared node-1 CPU 1: scenarios that use them share their noise.")
    assert found["nodes left out"].startswith("node-6 (server: 8 CPUs): figures of nodes of several kinds")
    assert main(["build", str(run), "--quiet"]) == 0
    assert "was assigned to a random pair of nodes" in (run / "report.md").read_text()


def test_a_run_on_one_pair_or_one_machine_says_nothing_of_it(tmp_path: Path) -> None:
    assert [*side_by_side(read_run(str(a_run(tmp_path / "one"))).facts.lanes)] == []
    entry = {"most": 1, "left_out": [], "shared": []}
    assert [*side_by_side(read_run(str(a_run(tmp_path / "two", lanes=entry))).facts.lanes)] == []
