"""Latency over rounds: merged, not averaged, and only reported if there are enough requests."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from built_runs import build, measured, report_of
from make_run import entry, output_of, plan_lines, sent_on_time, write_measured, write_measurement, write_run
from turns_runs import record

from bench.analysis.cells.latency import Distribution, merge, merged_latencies, read_distribution
from bench.records.record import Record
from bench.render.alone import note
from bench.tools.send_lag import SHARES, Attack, latency_facts, quantile

MS = 1_000_000


def distribution(took_ms: list[float], sent_ms: Iterable[float] = ()) -> Distribution:
    """A distribution of these latencies, with requests 1 ms apart unless `sent_ms` has other times."""
    sent = [*sent_ms] or range(len(took_ms))
    facts = latency_facts(Attack(*(array("q", (round(v * MS) for v in values)) for values in (sent, took_ms))), 1000)
    counts, due = (dict(zip(own["ns"], own["counts"], strict=True)) for own in (facts, facts["due"]))
    return Distribution(facts["requests"], counts, due)


def test_rounds_are_merged_and_not_averaged() -> None:
    quiet, stalled = [1.0] * 10_000, [1.0] * 9_700 + [100.0] * 300
    merged = merge([distribution(quiet), distribution(quiet), distribution(stalled)])
    # 300 of 30,000 are 1 %, so p99 is the slowest of the others. The average of the rounds' p99 would be 34 ms.
    assert merged.percentiles_s["p99"] == 0.001
    assert merge([distribution(quiet), distribution(stalled)]).percentiles_s["p99"] == 0.1
    assert merged.rounds == 3


def test_merged_percentiles_are_those_of_all_requests() -> None:
    rng = random.Random(5)
    rounds = [[rng.lognormvariate(number, 1) for _ in range(50_000)] for number in range(3)]
    merged, every = merge(map(distribution, rounds)), sorted(value for one in rounds for value in one)
    for name, share in SHARES.items():
        assert merged.percentiles_s[name] == pytest.approx(quantile(every, share) / 1000, rel=0.0051)


@pytest.mark.parametrize(
    "count, told",
    [(99, []), (100, ["p50"]), (4999, ["p50", "p90"]), (5000, ["p50", "p90", "p99"]), (50_000, [*SHARES])],
)
def test_percentiles_need_their_count_in_every_round(count: int, told: list[str]) -> None:
    merged = merge([distribution([1.0] * 60_000), distribution([1.0] * count)])
    assert [name for name, value in merged.percentiles_s.items() if value is not None] == told
    assert set(merged.missing) == set(SHARES) - set(told)
    assert all(f"too few: {count:,} of " in reason for reason in merged.missing.values())


@pytest.mark.parametrize("count, told", [(1666, ["p50", "p90"]), (1667, ["p50", "p90", "p99"])])
def test_three_rounds_may_have_the_count_together(count: int, told: list[str]) -> None:
    merged = merge([distribution([1.0] * count)] * 3)
    assert [name for name, value in merged.percentiles_s.items() if value is not None] == told
    assert merged.missing["p99.9"] == f"too few: {3 * count:,} of 50,000"


def test_lag_is_judged_over_all_rounds_where_each_has_too_few_requests_for_that() -> None:
    # The last 30 of 2,000 (1.5 %) were sent up to 30 ms late, so p99 counted from the due times is much longer.
    sent = [float(number + max(0, 30 - abs(1969 - number) if number > 1969 else 0)) for number in range(2000)]
    rounds = [distribution([1.0] * 2000, sent)] * 3
    assert merge(rounds).missing["p99"] == "the client was late"
    assert merge([replace(one, scheduled=one.counts) for one in rounds]).percentiles_s["p99"] == 0.001
    assert merge(rounds).curve[-1][0] < 0.99


def test_a_late_round_stays_in_and_makes_the_percentile_a_bound() -> None:
    quiet = distribution([1.0] * 2000)
    # The client stalled for 40 ms in one of four rounds; the server answered what came then in 2 ms.
    sent = [float(max(number, 1040) if number >= 1000 else number) for number in range(2000)]
    stalled = distribution([2.0 if 1000 <= number < 1040 else 1.0 for number in range(2000)], sent)
    merged = merge([quiet, quiet, quiet, stalled])
    assert merged.rounds == 4 and merged.percentiles_s["p50"] == 0.001
    assert merged.percentiles_s["p99"] == 0.001 and merged.percentiles_s["p99.9"] is None
    twice = merge([quiet, stalled, stalled])
    assert twice.percentiles_s["p99"] is None and twice.missing["p99"] == "the client was late"
    # A bound that is far above what was seen would describe the client.
    assert twice.bounds_s == {}
    slow = replace(stalled, counts={15 * MS: 2000})
    assert merge([slow] * 3).bounds_s["p99"] == 0.022


def test_requests_that_were_never_sent_are_above_all_others() -> None:
    one = replace(distribution([1.0] * 2000), due=2020)
    assert merge([one] * 3).percentiles_s["p99"] == 0.001
    late = merge([replace(one, due=2021)] * 3)
    assert late.percentiles_s["p99"] is None and "p99" not in late.bounds_s


def test_nothing_saved_is_null_with_that_reason() -> None:
    merged = merge([])
    assert set(merged.percentiles_s.values()) == {None}
    assert set(merged.missing) == {*SHARES} and all(merged.missing.values())


def lines_of(count: int, level: str = "r2000") -> list[dict[str, Any]]:
    return [entry(tool="vegeta", level=level, round=number) for number in range(1, count + 1)]


def measured_record(line: dict[str, Any]) -> Record:
    return replace(record("aiohttp"), raw_file=f"{line['dir']}/output.json")


def test_a_refused_round_is_not_merged_and_the_table_says_how_many_are(tmp_path: Path) -> None:
    lines = lines_of(3)
    write_run(tmp_path, lines)
    for line in lines:
        write_measurement(tmp_path, line, output_of(line, 2000, 500 if line["round"] == 2 else 0))
    # The round with errors would be visible in the percentiles.
    slow = sent_on_time(10_000, 2000, tail_ns=900 * MS)["latencies.json"]
    (tmp_path / lines[1]["dir"] / "latencies.json").write_text(slow)
    report = report_of(tmp_path)
    row = "| r2000 | 2,000 in 2 of 3 rounds | 1.90 ms (2 of 3 rounds) | 9.00 ms (2 of 3 rounds) | errors: 500 of"
    assert row in report


def test_a_cell_without_a_valid_round_has_its_cause(tmp_path: Path) -> None:
    (line,) = lines_of(1)
    measured(tmp_path, line, output_of(line, 2000, 500))
    assert "| r2000 | – | errors: 500 of 10000 attempts" in report_of(tmp_path)


def test_rounds_at_several_rates_have_no_percentile_together(tmp_path: Path) -> None:
    lines = lines_of(2, "knee70-p99-50ms")
    write_run(tmp_path, lines)
    for line, rate in zip(lines, (1000, 1400), strict=True):
        searched = line | {"rate": rate}
        write_measurement(tmp_path, searched, output_of(searched, rate))
        (tmp_path / line["dir"] / "knee.json").write_text(json.dumps({"rate": rate, "seconds": 5, "share": 0.7}))
    report = report_of(tmp_path)
    assert "| knee70-p99-50ms | 1,200 (1,000 to 1,400) | 0.171 ms | rates differ | rates differ |" in report


def test_every_percentile_of_a_closed_loop_stands_under_these_words(tmp_path: Path) -> None:
    loads = (("wrk", "c64"), ("hey", "c64"), ("ab", "c16n1000"), ("vegeta", "r2000"))
    lines = plan_lines(("aiohttp", "json", *load) for load in loads)
    report = report_of(write_measured(tmp_path, lines, 2000))
    assert report.count(note("closed_loop")) == report.count(note("open_loop")) == 1
    assert report.index(note("closed_loop")) < report.index("### json, measured alone")
    write_run(tmp_path, lines[-1:])
    assert note("closed_loop") not in report_of(tmp_path)


HOSTILE = [
    *("", "null", "{}"),
    '{"ns":[1],"counts":[],"requests":0,"max_ns":0}',
    '{"ns":[1],"counts":[2],"requests":1,"max_ns":0}',
    '{"ns":["1"],"counts":[1],"requests":1,"max_ns":1}',
    '{"ns":[-1],"counts":[1],"requests":1,"max_ns":1}',
    '{"ns":[1],"counts":[true],"requests":1,"max_ns":1}',
    '{"ns":[1],"counts":[1],"requests":1,"max_ns":null}',
    '{"ns":[1e999],"counts":[1],"requests":1,"max_ns":1}',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_such_file_is_no_distribution(text: str, tmp_path: Path) -> None:
    (line,) = lines_of(1)
    write_measured(tmp_path, [line], 2000)
    (tmp_path / line["dir"] / "latencies.json").write_text(text)
    assert read_distribution(str(tmp_path), measured_record(line)) is None
    assert "no latencies.json was saved" in report_of(tmp_path)


def test_an_empty_attack_merges(tmp_path: Path) -> None:
    (tmp_path / "latencies.json").write_text('{"ns":[],"counts":[],"requests":0,"max_ns":null}')
    assert read_distribution(str(tmp_path), measured_record(lines_of(1)[0] | {"dir": "."})) is None


def test_cells_are_found_by_their_records(tmp_path: Path) -> None:
    merged = merged_latencies(str(tmp_path), build(write_measured(tmp_path, lines_of(2), 2000)))
    assert [(str(key[2]), key[3], value.rounds) for key, value in merged.items()] == [("r2000", 2000.0, 2)]
