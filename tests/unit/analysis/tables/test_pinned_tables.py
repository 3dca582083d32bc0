"""Tables of a common rate and of held connections: ranked by CPU per request, with memory; late responses count."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from turns_runs import facts_of, measured, record, service_of, table

from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.planned import tables_of
from bench.analysis.tables.ranking import Metric, Ranking
from bench.records.record import Cause, Record
from bench.words.conclusions import tell

COSTS_US = {"uvicorn-asgi": 100.0, "aiohttp": 101.0, "gunicorn-sync-flask": 300.0}
LATE = Cause("not the asked load", "late by 9 ms")


def windows(level: str, rounds: Sequence[int], *, tool: str = "vegeta", **changes: Any) -> list[Record]:
    rng, found = random.Random(level), list[Record]()
    for number in rounds:
        common = rng.gauss(0, 0.03)
        for stack, cost_us in COSTS_US.items():
            cpu_s = 1e-6 * cost_us * (1 + common) * (1 + rng.gauss(0, 0.01))
            one = record(stack, round=number, goodput=250.0, cpu_s=cpu_s, sent_rate=250.0)
            mode = "rate" if tool == "vegeta" else "turns"
            one = replace(one, id=f"{one.id}-{level}", mode=mode, tool=tool, level=level, rate=250.0)
            found.append(replace(one, connections=None if tool == "vegeta" else 1000, **changes))
    return found


def facts(rounds: int) -> dict[str, Any]:
    one = table(map(service_of, COSTS_US), rounds) | {"looks": [rounds], "shares": ["share10", "share90"]}
    return facts_of(one)


def judged(records: Sequence[Record], of: Mapping[str, Any]) -> dict[str, Ranking]:
    return {one.level: one for one in judge_tables(of, records)}


def test_a_rate_is_a_table_where_its_rounds_are_enough_for_a_look() -> None:
    assert [one.key for one in tables_of(facts(6))] == [("json", "wrk", "c16")]
    seven = tables_of(facts(7))
    assert [one.level for one in seven] == ["c16", "share10", "share90"]
    # The first round has no such load. In the other six, each service is loaded alone.
    assert [(one.rounds, one.looks, one.bias is None) for one in seven[1:]] == [(6, (6,), True)] * 2


def test_a_rate_is_ranked_by_what_a_request_costs() -> None:
    records = measured(dict.fromkeys(COSTS_US, 4000.0), 7) + windows("share10", range(2, 8))
    records = [replace(one, window_end=None) if one.mode == "rate" else one for one in records]
    found = judged(records, facts(7))["share10"]
    # Services loaded alone have no turns, so no response is counted after the end of one.
    assert not found.late
    assert (found.metric, found.rate, found.look) == (Metric.CPU, 250.0, 6)
    cheap, alike, dear = map(service_of, COSTS_US)
    assert found.rows[-1].service == dear and found.apart(cheap, dear) and not found.apart(cheap, alike)


@pytest.mark.parametrize(("sent", "ranked"), [(250.0, True), (230.0, True), (200.0, False)])
def test_requests_that_left_late_cost_the_same_but_not_at_another_rate(sent: float, ranked: bool) -> None:
    late = windows("share10", range(2, 8), causes=(LATE,), valid=False, sent_rate=sent)
    found = judged(late, facts(7))["share10"]
    assert all((row.rank is not None) == ranked for row in found.rows)


def test_held_connections_are_ranked_by_cpu_and_their_memory_is_told() -> None:
    kilobytes = dict(zip(map(service_of, COSTS_US), (2.0, 6.0, 9.0), strict=True))
    rng = random.Random(3)
    idle = [
        replace(one, memory_held_bytes=round(1e6 * kilobytes[one.service] * (1 + rng.gauss(0, 0.02))))
        for one in windows("c1000r10", range(1, 8), tool="hold")
    ]
    of = facts_of({**table(map(service_of, COSTS_US), 7), "tool": "hold", "level": "c1000r10", "looks": [7]})
    found = judged(idle, of)["c1000r10"]
    # Even with fewer successes than connections, because most connections are idle.
    assert found.metric is Metric.CPU and found.look == 7 and found.bias is None
    assert [row.connection_kb and round(row.connection_kb.mean) for row in found.rows] == [2, 6, 9]
    assert found.lightest is not None and found.lightest.services == (service_of("uvicorn-asgi"),)
    (told,) = tell([found], of, idle)
    assert any("need" in words and "least memory per connection (" in words for words in told.sentences)


def test_what_kept_a_server_from_holding_them_is_said() -> None:
    closed = Cause("not the asked load", "it closed 1,000 of 1,000 connections after 2.0 s")
    lost = Cause("errors", "1 of 23 attempts")
    idle = [
        replace(one, causes=(lost, closed), valid=False) if "sync" in one.service else one
        for one in windows("c1000r10", range(1, 8), tool="hold")
    ]
    of = facts_of({**table(map(service_of, COSTS_US), 7), "tool": "hold", "level": "c1000r10", "looks": [7]})
    (told,) = tell(judge_tables(of, idle), of, idle)
    assert "(it closed 1,000 of 1,000 connections after 2.0 s)" in told.sentences[0]
