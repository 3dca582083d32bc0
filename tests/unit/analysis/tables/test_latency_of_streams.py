"""Streams with a pace of their own: the windows of their table are at a common rate, and have latencies themselves."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rated_tables import distribution
from turns_runs import facts_of, measured, record, service_of, table

from bench.analysis.cells.latency import Distribution, merge, read_distribution, read_distributions
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.latency import AtCommonRates
from bench.analysis.tables.ranking import Metric, TableLatency
from bench.records.record import Record
from bench.render.columns import latency_columns
from bench.tools.levels import Level
from bench.tools.parsed import Timed
from bench.words.conclusions import RankingText, describe_rankings

SPEEDS = {"uvicorn-asgi": 6400.0, "aiohttp": 6400.0, "tornado": 6400.0}
LATE_MS = {"uvicorn-asgi": (0.5, 2.1), "aiohttp": (0.52, 2.2), "tornado": (1.2, 9.8)}
"""(p50, p99) of how late events are, and of the time to the first event."""


def streamed(level: str = "c64", client_late: Mapping[int, int] | None = None) -> RankingText:
    """A table of streams, in words; `client_late`: of the load generator, beside one service."""
    cell = {"tool": "streams", "level": level}
    facts = facts_of(
        table(map(service_of, SPEEDS), scenario="sse-tokens", rounds=6) | cell, kinds={"sse-tokens": "sse"}
    )
    records = [
        replace(one, id=f"{one.id}-s", scenario="sse-tokens", tool="streams", level=Level.read(level))
        for one in measured(SPEEDS, 6)
    ]
    stacks = {service_of(stack): stack for stack in SPEEDS}
    events = {one.id: _varied(one, LATE_MS[stacks[one.service]], 60_000) for one in records}
    first = {one.id: _varied(one, LATE_MS[stacks[one.service]], 128) for one in records}
    for one in records:
        if client_late and one.service == service_of("aiohttp"):
            events[one.id] = replace(events[one.id], client_late=client_late)
    loaded = AtCommonRates(paced={Timed.FIRST_EVENT: first, Timed.EVENT: events})
    (found,) = describe_rankings(judge_tables(facts, records, None, loaded), facts, records)
    return found


def _varied(one: Record, late_ms: tuple[float, float], count: int) -> Distribution:
    rng = random.Random(one.id)
    return distribution(*(ms * (1 + rng.gauss(0, 0.02)) for ms in late_ms), requests=count)


def late(text: RankingText) -> TableLatency:
    return next(one for one in text.ranking.latencies if one.timed is Timed.EVENT)


def test_a_table_has_the_time_to_the_first_event_and_how_late_the_others_are() -> None:
    text = streamed()
    assert [one.timed for one in text.ranking.latencies] == [Timed.FIRST_EVENT, Timed.EVENT]
    names = [column.name for column in latency_columns(text.ranking)]
    assert names == ["p50 to the first event", "p99 lateness", "p99.9 lateness"]
    short = [column.short for column in latency_columns(text.ranking) if column.short]
    assert short == ["first\np50\nms", "late\np99\nms"]
    slow = service_of("tornado")
    assert (found := late(text).of(Metric.P99)) and found.figures[slow].mean == pytest.approx(9.8e-3, rel=0.05)
    assert [slow in (pair.a, pair.b) for pair in found.contrasts if pair.called] == [True, True]


def test_the_sentences_say_what_was_timed_and_with_how_many_streams() -> None:
    said = [words for words in streamed().sentences if "streams open" in words]
    assert said[0].startswith("Time to the first event, 64 streams open: p50 of uvicorn-asgi is 0.5")
    assert said[1].startswith("How late events are, 64 streams open: p99 of uvicorn-asgi is 2.")
    assert "too few streams for p99" in said[0]
    assert any("13 streams begun per second" in words for words in streamed("r13").sentences)


def test_where_the_client_was_late_itself_there_is_only_a_bound() -> None:
    usual = {60_000: 2000}
    one = late(streamed(client_late=usual)).of(Metric.P99)
    assert one and service_of("aiohttp") in one.figures
    one = late(streamed(client_late=usual | {200_000_000 - 5_000_000 * step: 1 for step in range(40)})).of(Metric.P99)
    assert one and one.at_most == {service_of("aiohttp"): pytest.approx(2.2e-3, rel=0.05)}
    assert not any(service_of("aiohttp") in (pair.a, pair.b) for pair in one.contrasts)


def test_a_median_of_a_client_that_is_always_as_late_is_known() -> None:
    one = replace(distribution(0.5, 2.1, 60_000), client_late={5_000_000: 2000})
    assert merge([one] * 3).missing == {}


def test_what_was_timed_is_read_from_the_output(tmp_path: Path) -> None:
    def times(*ns: int) -> dict[str, object]:
        known = {"mean": 0.001, "max": 0.001, "percentiles": {}}
        return {"count": len(ns), "ns": [*ns], "counts": [1] * len(ns)} | known

    report = {"kind": "sse", "duration_s": 1, "units": 3, "bytes": 90, "errors": {}, "negotiated": {}}
    report["streams"] = {"due": 1, "begun": 1, "complete": 1, "cut": 0, "open": 0}
    report["times"] = {"latency": times(900), "sent": times(800), "late": times(10, 20), "waking": times(7)}
    (tmp_path / "a").mkdir()
    (tmp_path / "a/output.txt").write_text(json.dumps(report) + "\n")
    one = replace(record("uvicorn-asgi"), tool="streams", raw_file="a/output.txt", rate=2.0, asked_s=3.0)
    first = Distribution(1, {800: 1}, {900: 1}, 0, 6)
    assert read_distributions(str(tmp_path), one) == {
        Timed.FIRST_EVENT: first,
        Timed.EVENT: Distribution(2, {10: 1, 20: 1}, {10: 1, 20: 1}, 0, 0, {7: 1}),
    }
    assert read_distribution(str(tmp_path), one) == first
    assert read_distributions(str(tmp_path), replace(one, raw_file="b/output.txt")) == {}
