"""Tables of a common rate: ranked by CPU per request; late responses count."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from turns_runs import facts_of, measured, record, service_of, table

from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.ranking import Metric, Ranking
from bench.records.record import Cause, Record
from bench.run.facts import RunFacts
from bench.tools.levels import Level

COSTS_US = {"uvicorn-asgi": 100.0, "aiohttp": 101.0, "gunicorn-sync-flask": 300.0}
LATE = Cause("load not as requested", "late by 9 ms")


def windows(level: str, rounds: Sequence[int], **changes: Any) -> list[Record]:
    rng, found = random.Random(level), list[Record]()
    for number in rounds:
        common = rng.gauss(0, 0.03)
        for stack, cost_us in COSTS_US.items():
            cpu_s = 1e-6 * cost_us * (1 + common) * (1 + rng.gauss(0, 0.01))
            one = record(stack, round=number, goodput=250.0, cpu_s=cpu_s, sent_rate=250.0)
            one = replace(one, id=f"{one.id}-{level}", mode="rate", tool="vegeta", level=Level.read(level), rate=250.0)
            found.append(replace(one, connections=None, **changes))
    return found


def facts(rounds: int) -> RunFacts:
    return facts_of(table(map(service_of, COSTS_US), rounds) | {"looks": [rounds], "shares": ["share10", "share90"]})


def judged(records: Sequence[Record]) -> Ranking:
    return next(one for one in judge_tables(facts(7), records) if str(one.level) == "share10")


def test_a_rate_is_a_table_where_its_rounds_are_enough_for_a_look() -> None:
    assert [str(one.key) for one in facts(6).tables] == ["json wrk c16"]
    seven = facts(7).tables
    assert [str(one.level) for one in seven] == ["c16", "share10", "share90"]
    # The first round has no such load. In the other six, each service is loaded alone.
    assert [(one.rounds, one.looks) for one in seven[1:]] == [(6, (6,))] * 2


def test_a_rate_is_ranked_by_what_a_request_costs() -> None:
    records = measured(dict.fromkeys(COSTS_US, 4000.0), 7) + windows("share10", range(2, 8))
    found = judged(records)
    assert (found.metric, found.rate, found.look) == (Metric.CPU, 250.0, 6)
    cheap, alike, dear = map(service_of, COSTS_US)
    assert found.rows[-1].service == dear and found.apart(cheap, dear) and not found.apart(cheap, alike)


@pytest.mark.parametrize(("sent", "ranked"), [(250.0, True), (230.0, True), (200.0, False)])
def test_requests_that_left_late_cost_the_same_but_not_at_another_rate(sent: float, ranked: bool) -> None:
    late = windows("share10", range(2, 8), causes=(LATE,), valid=False, sent_rate=sent)
    assert {row.rank is not None for row in judged(late).rows} == {ranked}
