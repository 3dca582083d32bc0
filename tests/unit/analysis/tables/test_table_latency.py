"""Latency at a common rate: merged figures, verdicts, and why a service has neither."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rated_tables import (
    LATE,
    SPEEDS,
    TAILS_MS,
    distribution,
    late_text,
    rated,
    rated_ranking,
    rated_without,
    text_of_rated,
    with_rounds,
)
from rated_tables import p99_of as p99
from text_files import written
from turns_runs import service_of

from bench.analysis.cells.latency import Distribution
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.latency import read_at_common_rates
from bench.analysis.tables.ranking import Metric, Percentile, Ranking, TableLatency
from bench.export.judged_run import verdict_lines
from bench.records.record import Cause
from bench.run.common_rates import CommonRates, path_of
from bench.stats.table_verdicts import EQUAL, FASTER, NO_WINNER, SLOWER
from bench.tools.levels import Level, LoadKey
from bench.words.conclusions import describe_rankings

BEST, LIKE, SLOW = (service_of(stack) for stack in ("uvicorn-asgi", "aiohttp", "gunicorn-sync-flask"))


def latency(found: Ranking) -> TableLatency:
    (one,) = found.latencies
    return one


def test_merged_figures_and_which_services_are_apart() -> None:
    found = p99(rated_ranking())
    assert found.figures[BEST].mean == pytest.approx(2.1e-3, rel=0.1)
    assert found.figures[BEST].low < found.figures[BEST].mean < found.figures[BEST].high
    assert found.ordered == [service_of(stack) for stack in TAILS_MS]
    assert not found.apart(BEST, LIKE)
    gap = found.ahead(SLOW, BEST)
    assert gap is not None and gap.verdict == "slower"
    # Differences are in speed: 9.8 ms instead of 2.1 ms is 0.21 times as fast.
    assert 1 / (1 + gap.difference) == pytest.approx(9.8 / 2.1, rel=0.15)


@pytest.mark.parametrize(
    ("requests", "names", "confidence"),
    [(1440, ["p50", "p99"], 0.975), (8_400, ["p50", "p99", "p99.9"], 1 - 0.05 / 3), (800, ["p50"], 0.95)],
)
def test_percentiles_need_fifty_requests_above_and_share_the_errors(
    requests: int, names: list[str], confidence: float
) -> None:
    found = latency(rated_ranking(requests=requests))
    assert [str(one.metric) for one in found.percentiles] == names
    assert found.confidence == pytest.approx(confidence)


@pytest.mark.parametrize("rounds", [[2], [2, 3]])
def test_two_rounds_have_no_figure_and_no_verdict(rounds: Sequence[int]) -> None:
    found = latency(rated_ranking(rounds=rounds, requests=20_000))
    assert found.percentiles == () and found.rate == 1800 and set(found.rounds.values()) == {len(rounds)}


def test_five_rounds_have_figures_but_no_verdict() -> None:
    found = p99(rated_ranking(rounds=range(2, 7)))
    assert len(found.figures) == len(TAILS_MS) and found.contrasts == ()


def missing_of(stack: str, **how: Any) -> str:
    one = p99(text_of_rated(with_rounds(rated_without(stack), stack, TAILS_MS[stack], range(2, 8), **how)).ranking)
    assert service_of(stack) not in one.figures
    assert not any(service_of(stack) in (pair.a, pair.b) for pair in one.contrasts)
    return one.missing[service_of(stack)]


def test_why_a_service_has_no_p99() -> None:
    failed = Cause("errors", "3 of 1440 attempts")
    assert missing_of("aiohttp", causes=[failed]) == "round 2: errors: 3 of 1440 attempts"
    assert missing_of("aiohttp", behind_ms=5.0) == "the client was late"
    assert missing_of("aiohttp", requests=800) == "too few: 4,800 of 5,000"


def test_one_refused_round_leaves_no_percentile_of_the_others() -> None:
    facts, records, loaded = rated()
    bad = next(one for one in records if one.mode == "rate" and one.service == LIKE and one.round == 4)
    refused = replace(bad, valid=False, causes=(Cause("errors", "3 of 1440 attempts"),))
    (found,) = judge_tables(facts, [refused if one is bad else one for one in records], None, loaded)
    assert p99(found).missing == {LIKE: "round 4: errors: 3 of 1440 attempts"}
    # A round that did not run is no part of the figure, and the count says so.
    (found,) = judge_tables(facts, [one for one in records if one is not bad], None, loaded)
    assert LIKE in p99(found).figures and latency(found).rounds[LIKE] == 5
    assert not any(LIKE in (pair.a, pair.b) for pair in p99(found).contrasts)


def test_a_stall_of_the_client_in_one_round_does_not_drop_the_round() -> None:
    facts, records, loaded = rated()
    late = next(one for one in records if one.mode == "rate" and one.service == LIKE and one.round == 4)
    stalled = {2_200_000: 1140, 40_000_000: 300}
    known = loaded.distributions | {late.id: Distribution(1440, stalled, stalled, 0, 1440)}
    (found,) = judge_tables(facts, records, None, replace(loaded, distributions=known))
    assert p99(found).figures[LIKE].mean == pytest.approx(0.040)
    moved = {2_200_000: 1140, 60_000_000: 300}
    known[late.id] = replace(known[late.id], scheduled=moved)
    (found,) = judge_tables(facts, records, None, replace(loaded, distributions=known))
    assert LIKE not in p99(found).figures and p99(found).at_most[LIKE] == pytest.approx(0.060)
    assert latency(found).rounds[LIKE] == 6


def late_aiohttp(**how: Any) -> Percentile:
    return p99(late_text(**how).ranking)


def test_what_was_sent_too_late_has_an_upper_bound_and_no_verdict() -> None:
    one = late_aiohttp()
    assert one.at_most == {LIKE: pytest.approx(3.5e-3)}
    assert LIKE not in one.figures and one.missing[LIKE] == "the client was late"
    assert not any(LIKE in (pair.a, pair.b) for pair in one.contrasts)
    assert p99(rated_ranking()).at_most == {}


def test_no_bound_of_few_rounds_of_errors_or_where_it_tells_of_the_client() -> None:
    assert late_aiohttp(rounds=[2, 3]).at_most == {}
    assert late_aiohttp(causes=[*LATE, Cause("errors", "2 % of attempts")]).at_most == {}
    assert late_aiohttp(behind_ms=5.0).at_most == {}
    assert late_aiohttp(behind_ms=None).at_most == {}


def test_requests_that_were_never_sent_are_above_all_others() -> None:
    # 1,440 are due in each round; if more than 1 % of them are missing, p99 is unknown.
    assert LIKE in late_aiohttp(requests=1430).at_most
    assert late_aiohttp(requests=1420).at_most == {}


def test_a_percentile_of_bounds_only_takes_no_share_of_the_errors() -> None:
    found = latency(rated_ranking(causes=LATE, behind_ms=0.2))
    assert [(str(one.metric), one.figures) for one in found.percentiles] == [("p50", {}), ("p99", {})]
    assert found.of(Metric.P99) is None and found.confidence == 0.95


def test_noise_of_the_host_is_in_the_intervals() -> None:
    noisy = rated_ranking(causes=[Cause("host", "steal 4 %")])
    assert len(p99(noisy).figures) == len(TAILS_MS)


def test_a_service_that_is_left_out_is_named_with_its_reason() -> None:
    why = {service_of("tornado"): "left out: 49 requests/s would drag the rate down"}
    found = p99(rated_ranking(rates={"left_out": why}))
    assert found.missing[service_of("tornado")] == why[service_of("tornado")]
    assert len(found.figures) == 3


def test_the_client_may_limit_the_rate() -> None:
    assert not latency(rated_ranking()).by_client
    assert latency(rated_ranking(rates={"capped": ("share50",)})).by_client


def test_a_table_without_a_common_rate_has_no_latency() -> None:
    facts, records, _ = rated()
    (found,) = judge_tables(facts, records)
    assert found.latencies == () and found.latency is None
    none = rated_ranking(rates={"rates": {}, "reason": "no service has a speed"})
    assert latency(none).rate is None and latency(none).reason == "no service has a speed"


def test_loads_at_a_rate_are_no_windows_of_the_table() -> None:
    facts, records, loaded = rated()
    alone = [one for one in records if one.mode == "turns"]
    (with_rate,), (without,) = judge_tables(facts, records, None, loaded), judge_tables(facts, alone)
    assert (with_rate.rows, with_rate.contrasts) == (without.rows, without.contrasts)


def test_lines_of_verdicts_name_rate_and_reason() -> None:
    facts, records, loaded = rated(rates={"left_out": {service_of("tornado"): "left out: slow"}})
    (text,) = describe_rankings(judge_tables(facts, records, None, loaded), facts, records)
    lines = [*verdict_lines(text)]
    own = [one for one in lines if one["kind"] == "latency" and one["judge"] == "p99"]
    missing = dict.fromkeys(map(service_of, SPEEDS)) | {service_of("tornado"): "left out: slow"}
    assert {one["service"]: one["missing"] for one in own} == missing
    shared = [(one["rate"], one["tool"], one["level"], one["table"]) for one in own]
    assert {*shared} == {(1800, "vegeta", "share50", "wrk c16")}
    pairs = [one for one in lines if one["kind"] == "latency-contrast" and one["judge"] == "p99"]
    assert len(pairs) == 3 and {one["verdict"] for one in pairs} <= {FASTER, SLOWER, EQUAL, NO_WINNER}
    assert json.dumps(lines)


def test_what_is_read_from_a_run(tmp_path: Path) -> None:
    facts, records, _ = rated(rounds=[2, 3])
    rates = CommonRates(client="vegeta", rates={"share50": 1800}, slowest=SLOW)
    one = next(record for record in records if record.mode == "rate")
    saved = replace(distribution(1, 5), due=1440)
    made = {"requests": saved.requests, "max_ns": max(saved.counts)}
    made |= {"ns": [*saved.counts], "counts": [*saved.counts.values()]}
    place = path_of(LoadKey("json", "wrk", Level.read("c16")))
    file = written(tmp_path, {place: rates.text(), "latencies.json": json.dumps(made)}) / place
    found = read_at_common_rates(str(tmp_path), facts, [one, records[0]])
    assert found.distributions == {one.id: saved}
    assert {str(key): one for key, one in found.rates.items()} == {"json wrk c16": rates}
    file.write_text("{")
    assert read_at_common_rates(str(tmp_path), facts, []).rates == {}
