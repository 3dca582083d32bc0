"""A cell that its tool cannot load gets no more rounds, and the report says so once per tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loop_runs import ask, finish, solo, step_id
from make_run import output_of, write_measurement, write_run

from bench.analysis.findings import findings_of
from bench.export.judged_run import judge_run
from bench.render.report import Report
from bench.validity.run_rules import BOUND_AFTER
from bench.words.advice import advice

Capture = pytest.CaptureFixture[str]
ROUNDS = 4


def plan(rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """The null server with each tool in the first round, and one service with two tools in every round."""
    lines = []
    for number, tool in enumerate(("hey", "wrk"), 1):
        line = solo("aiohttp", number, 1, tool=tool)
        lines.append(line | {"mode": "null", "service": "null", "dir": f"raw/r01/null/json/{tool}-c64"})
    for number in range(1, rounds + 1):
        for position, tool in enumerate(("hey", "wrk"), 3):
            place = f"raw/r{number:02}/aiohttp-py313-debian/json/{tool}-c64"
            lines.append(solo("aiohttp", position, number, tool=tool, dir=place))
    return lines


def measure(folder: Path, lines: list[dict[str, Any]], capsys: Capture, rates: dict[str, float]) -> list[str]:
    """The ids of the steps that a run makes if the null server answers 8,000 requests/s."""
    by_id, done = {line["id"]: line for line in lines}, []
    status, now = ask(folder, capsys, 0, "--begin")[0], 0
    while status == 0:
        line, now = by_id[step_id(folder)], now + 10
        done.append(line["id"])
        finish(folder, [line], [8000 if line["service"] == "null" else rates[line["tool"]]])
        status = ask(folder, capsys, now)[0]
    assert status == 3
    return done


def test_rounds_after_the_first_bound_ones_are_left_out(tmp_path: Path, capsys: Capture) -> None:
    lines = plan()
    folder = write_run(tmp_path / "run", lines)
    done = measure(folder, lines, capsys, {"hey": 5000.0, "wrk": 1000.0})
    tools = [line["tool"] for name in done for line in lines if line["id"] == name and line["service"] != "null"]
    assert (tools.count("hey"), tools.count("wrk")) == (BOUND_AFTER, ROUNDS)
    found = judge_run(folder)
    source, services, records, judged = found.source, found.services, found.records, found.rankings
    left = [record for record in records if record.outcome == "not run"]
    assert len(left) == ROUNDS - BOUND_AFTER
    assert all(record.causes[0].cause == "loadgen-bound" for record in left)
    assert all(record.causes[0].detail.endswith("; not measured again") for record in left)
    findings = findings_of(records, source.facts, services)
    said = [line for line in advice(source.facts, [told.ranking for told in judged], findings) if "hey" in line]
    assert said == [
        "hey was the bottleneck for aiohttp-py313-debian measured alone, so it has no requests/s and was measured in 2"
        " rounds at most. wrk could saturate it. More CPUs for the load generator (LOADGEN_CPUS) would help."
    ]
    report = Report(source, services, findings, judged, {}).markdown()
    assert report.count("hey was the bottleneck for") == 1
    assert "the run was stopped before this measurement" not in report
    # A resumed run leaves out the same cells.
    assert ask(folder, capsys, 0, "--begin")[0] == 3


def test_a_cell_that_was_bound_once_by_accident_is_measured_on(tmp_path: Path, capsys: Capture) -> None:
    lines = plan()
    folder = write_run(tmp_path / "run", lines)
    first = next(line for line in lines if line["tool"] == "hey" and line["service"] != "null")
    write_measurement(folder, first, output_of(first, 5000))
    assert json.loads((folder / first["dir"] / "meta.json").read_text())["outcome"] == "measured"
    done = measure(folder, lines, capsys, {"hey": 1000.0, "wrk": 1000.0})
    assert len(done) == len(lines) - 1


def test_two_rounds_are_all_measured(tmp_path: Path, capsys: Capture) -> None:
    lines = plan(BOUND_AFTER)
    folder = write_run(tmp_path / "run", lines)
    assert len(measure(folder, lines, capsys, {"hey": 5000.0, "wrk": 1000.0})) == len(lines)
