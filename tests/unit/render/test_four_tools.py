"""Disagreements between tools on one cell, from made-up raw files."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from make_plans import plan
from make_run import entry, output_of, write_measurement, write_run
from scipy import stats

from bench.analysis.cells.tool_agreement import MeanInterval, mean_interval
from bench.cli.report import build_verb

LOADS = (("wrk", "c32"), ("ab", "c32"), ("hey", "c32"), ("hey", "c32r200"), ("vegeta", "r200"))


def Report(folder: Path, rates: Mapping[tuple[str, str], float], *, noise: float = 0.01, rounds: int = 8) -> str:
    """The report of a run with these requests/s per load, varied by `noise`."""
    rng = random.Random(1)
    lines = [
        entry("uvicorn-asgi", "json", tool, level, number=number, round=round)
        for round in range(1, rounds + 1)
        for number, (tool, level) in enumerate(LOADS, 1)
    ]
    write_run(folder, lines, preset="four-tools", tables=["four-tools"])
    for line in lines:
        rate = rates[line["tool"], line["level"]]
        rps = rate if line["tool"] == "vegeta" else rate * (1 + noise * rng.uniform(-1, 1))
        # The same CPU time per request for all tools.
        write_measurement(folder, line, output_of(line, rps), cpu_s=0.0002 * rps * 5)
    assert build_verb([str(folder)]) == 0
    return (folder / "report.md").read_text()


# 32 connections at 4,000/s: 8 ms, which ab can print.
AGREED = {load: (200.0 if "r" in load[1] else 4000.0) for load in LOADS}


def disagreements(report: str) -> list[str]:
    table = report.partition("### Disagreements between tools")[2].partition("\n#")[0]
    assert table.startswith("\n\n| service |")
    return [line for line in table.splitlines() if line.startswith("| uvicorn-asgi")]


def test_tools_that_agree_are_reported_so(tmp_path: Path) -> None:
    report = Report(tmp_path / "run", AGREED)
    assert not disagreements(report)
    assert "There are no disagreements." in report


def test_ab_is_slower_and_the_cause_is_known(tmp_path: Path) -> None:
    found = disagreements(Report(tmp_path / "run", AGREED | {("ab", "c32"): 2500.0}))
    rates = [line for line in found if "| requests/s |" in line]
    assert len(rates) == 2  # vs wrk and vs hey
    assert all("ab is single-threaded and uses HTTP/1.0" in line for line in rates)
    assert any("wrk +59" in line and " vs ab" in line for line in rates)
    assert [line for line in found if "| mean latency |" in line and "HTTP/1.0" in line]


def test_a_tools_rounding_is_no_disagreement(tmp_path: Path) -> None:
    # 32 connections at 5,000/s: 6.4 ms, which ab prints as 6 in every round.
    report = Report(tmp_path / "run", AGREED | {load: 5000.0 for load in AGREED if load[1] == "c32"})
    assert "6.00 ms (5.50 ms to 6.50 ms)" in report
    assert not disagreements(report)


def test_a_difference_without_a_known_cause_says_so(tmp_path: Path) -> None:
    found = disagreements(Report(tmp_path / "run", AGREED | {("wrk", "c32"): 4500.0}))
    rates = [line for line in found if "| requests/s |" in line and " ab " not in line]
    assert len(rates) == 1
    assert rates[0].endswith("| none |")


def test_differences_within_noise_are_no_disagreement(tmp_path: Path) -> None:
    rates = AGREED | {("wrk", "c32"): 4500.0}
    found = disagreements(Report(tmp_path / "run", rates, noise=0.4))
    assert not [line for line in found if "| 32 connections | requests/s |" in line]


def test_one_round_disagrees_with_nothing(tmp_path: Path) -> None:
    report = Report(tmp_path / "run", AGREED | {("ab", "c32"): 100.0}, rounds=1)
    assert not disagreements(report)


def test_the_rate_that_hey_did_not_keep_is_heys(tmp_path: Path) -> None:
    found = disagreements(Report(tmp_path / "run", AGREED | {("hey", "c32r200"): 190.0}))
    held = [line for line in found if "target 200/s" in line and "| requests/s |" in line]
    assert len(held) == 1
    assert "limits the rate per connection" in held[0]


def test_bursts_are_a_known_cause_of_cheaper_requests(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Report(folder, AGREED)
    for number in range(1, 9):
        line = entry("uvicorn-asgi", "json", "vegeta", "r200", number=5, round=number)
        write_measurement(folder, line, output_of(line, 200), cpu_s=0.5 + 0.001 * number)
    assert build_verb([str(folder)]) == 0
    (found,) = disagreements((folder / "report.md").read_text())
    assert "| server CPU/request | vegeta +152." in found
    assert "in bursts" in found
    assert "evenly" in found


def test_vegeta_is_not_compared_with_peaks(tmp_path: Path) -> None:
    report = Report(tmp_path / "run", AGREED)
    peaks = report.partition("json, 32 connections")[2].partition("###")[0]
    held = report.partition("json, target 200/s")[2].partition("###")[0]
    assert "| wrk |" in peaks and "| vegeta |" not in peaks
    assert "| vegeta |" in held
    assert "not a peak" in held


def test_what_is_not_valid_is_counted_and_not_compared(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Report(folder, AGREED)
    for number in range(1, 9):
        line = entry("uvicorn-asgi", "json", "ab", "c32", number=2, round=number)
        write_measurement(folder, line, output_of(line, 100 + number, bad=200))
    assert build_verb([str(folder)]) == 0
    report = (folder / "report.md").read_text()
    assert "\n| ab | 0 of 8 |" in report
    assert not disagreements(report)


@pytest.mark.parametrize("count", [2, 8, 30])
def test_the_interval_is_scipys(count: int) -> None:
    rng = random.Random(count)
    values = [rng.gauss(100, 5) for _ in range(count)]
    found, expected = mean_interval(values), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_an_interval_of_rates_is_above_zero_and_a_factor_wide() -> None:
    found = mean_interval([100.0, 1000.0, 3000.0], logarithms=True)
    assert found.low is not None and found.high is not None
    assert found.low > 0
    assert found.mean**2 == pytest.approx(found.low * found.high)
    assert mean_interval([5.0, 5.0], logarithms=True) == MeanInterval(
        pytest.approx(5.0), pytest.approx(5.0), pytest.approx(5.0)
    )


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    rng = random.Random(3)
    held = 0
    for _ in range(2000):
        found = mean_interval([rng.gauss(10, 1) for _ in range(8)])
        assert found.low is not None and found.high is not None
        held += found.low <= 10 <= found.high
    assert 0.93 <= held / 2000 <= 0.97


def test_the_preset_has_the_same_cells_for_all_four_tools() -> None:
    made = plan(preset="four-tools")
    assert made.preset.rounds == 8
    for service in made.services:
        own = {(c.tool, c.level.name) for c in made.alone if c.service is service}
        assert own == set(LOADS)
