"""Synthetic latencies of a table's services at its common rate."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turns_runs import TURN_S, facts_of, measured, record, service_of, table

from bench.analysis.cells.latency import Distribution
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.latency import AtCommonRates
from bench.analysis.tables.ranking import Metric, Percentile, Ranking
from bench.records.record import Cause, Record
from bench.run.common_rates import CommonRates
from bench.run.facts import RunFacts
from bench.tools.levels import Level, LoadKey
from bench.words.conclusions import RankingText, describe_rankings

MS = 1e-3
SPEEDS = {"uvicorn-asgi": 9000, "aiohttp": 8900, "tornado": 5000, "gunicorn-sync-flask": 3600}
TAILS_MS = {"uvicorn-asgi": (0.5, 2.1), "aiohttp": (0.52, 2.2)}
TAILS_MS |= {"tornado": (0.9, 4.4), "gunicorn-sync-flask": (1.2, 9.8)}
"""(p50, p99) of stacks, in ms."""
Rated = tuple[RunFacts, list[Record], AtCommonRates]
"""(what run.json says, records, loads at a common rate)."""


def distribution(
    p50_ms: float,
    p99_ms: float,
    requests: int = 1440,
    behind_ms: float | None = None,
    moved: tuple[float, float] = (1.5, 1.5),
) -> Distribution:
    """97 % of the requests take p50, the others p99; with `behind_ms`, `moved` times that from when they were due."""
    slow, of_p50, of_p99 = round(0.03 * requests), round(p50_ms * 1e6), round(p99_ms * 1e6)
    counts = {of_p50: requests - slow, of_p99: slow}
    if behind_ms is None:
        return Distribution(requests, counts, counts)
    scheduled = {round(moved[0] * of_p50): requests - slow, round(moved[1] * of_p99): slow}
    return Distribution(requests, counts, scheduled, round(behind_ms * 1e6), 1440)


def rounds_of(
    stack: str,
    tails_ms: tuple[float, float],
    rounds: Sequence[int],
    *,
    spread: float = 0.05,
    causes: Sequence[Cause] = (),
    level: str = "share50",
    **how: Any,
) -> tuple[list[Record], dict[str, Distribution]]:
    """The records of a service in these rounds, and its latency distributions by record id."""
    rng, records, found = random.Random(stack), list[Record](), dict[str, Distribution]()
    for number in rounds:
        made = record(stack, round=number, causes=causes, loadgen_cpu_s=0.24 * TURN_S)
        made = replace(made, mode="rate", tool="vegeta", level=Level.read(level), asked_s=0.8)
        made = replace(made, id=f"{made.id}-{level}", connections=None, rate=1800.0, latency_kind="open loop")
        found[made.id] = distribution(*(one * (1 + rng.gauss(0, spread)) for one in tails_ms), **how)
        records.append(made)
    return records, found


def rated(
    tails_ms: Mapping[str, tuple[float, float]] = TAILS_MS,
    rounds: Sequence[int] = range(2, 8),
    rates: Mapping[str, Any] | None = None,
    services: Mapping[str, float] = SPEEDS,
    **how: Any,
) -> Rated:
    """(run.json, records, loads at a common rate) of a table of these services."""
    facts = facts_of(table(map(service_of, services)) | {"shares": ["share50"]})
    decided = {"client": "vegeta", "slowest": service_of("gunicorn-sync-flask"), "rates": {"share50": 1800}}
    common = {LoadKey("json", "wrk", Level.read("c16")): CommonRates(**(decided | dict(rates or {})))}
    made = facts, measured(services, 6), AtCommonRates({}, common)
    for stack, own in tails_ms.items():
        made = with_rounds(made, stack, own, rounds, **how)
    return made


def with_rounds(table: Rated, stack: str, tails_ms: tuple[float, float], rounds: Sequence[int], **how: Any) -> Rated:
    """The table with these rounds of a service too."""
    facts, records, loaded = table
    more, distributions = rounds_of(stack, tails_ms, rounds, **how)
    return facts, [*records, *more], AtCommonRates({**loaded.distributions, **distributions}, loaded.rates)


def rated_without(stack: str) -> Rated:
    """A table in which a service has no such rounds yet."""
    return rated({name: own for name, own in TAILS_MS.items() if name != stack})


def rated_ranking(*how: Any, **named: Any) -> Ranking:
    """The ranking of such a table."""
    return rated_text(*how, **named).ranking


def rated_text(*how: Any, **named: Any) -> RankingText:
    """The ranking of such a table, in words."""
    return text_of_rated(rated(*how, **named))


def text_of_rated(made: Rated) -> RankingText:
    """The ranking of a table, in words."""
    facts, records, loaded = made
    (found,) = describe_rankings(judge_tables(facts, records, None, loaded), facts, records)
    return found


def p99_of(found: Ranking) -> Percentile:
    """The p99 of a ranking, which has a figure of it."""
    (latency,) = found.latencies
    one = latency.of(Metric.P99)
    assert one is not None
    return one


def noisy_ranking() -> Ranking:
    """The ranking of such a table, in which the p99 of gunicorn-sync-flask varies from round to round."""
    made = rated_without("gunicorn-sync-flask")
    for number, p99_ms in enumerate((2.0, 90.0, 2.5, 120.0, 3.0, 110.0), 2):
        made = with_rounds(made, "gunicorn-sync-flask", (1.2, p99_ms), [number], spread=0)
    return text_of_rated(made).ranking


LATE = (Cause("load not as requested", "late by 12 ms (p99)"),)


def late_text(**how: Any) -> RankingText:
    """aiohttp was always loaded too late: p99 is 2.2 ms since sent, and 3.3 ms + 0.2 ms since due."""
    how = {"rounds": range(2, 8), "spread": 0, "causes": LATE, "behind_ms": 0.2} | how
    return text_of_rated(with_rounds(rated_without("aiohttp"), "aiohttp", TAILS_MS["aiohttp"], **how))
