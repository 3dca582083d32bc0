"""Texts about searches for a knee: how often it held, which knees differ, and where the client was the limit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from turns_runs import record

from bench.analysis.findings import findings_of
from bench.records.record import Cause, Record
from bench.run.facts import RunFacts
from bench.tools.levels import Level
from bench.words.conclusions import knee_conclusions

LEVEL = "knee-p99-50ms"


def rounds(stack: str, rate: float, held: str, *, client: bool = False) -> list[Record]:
    """Records of a search and of later rounds; `held` has a `y` for each round in which the rate held."""
    found = []
    for number, letter in enumerate(f"y{held}", 1):
        one = replace(
            record(stack, round=number),
            mode="solo",
            tool="vegeta",
            level=Level.read(LEVEL),
            connections=None,
            rate=rate,
        )
        nulls = {name: why for name, why in one.nulls.items() if name != "knee_rate"}
        knee = rate if letter == "y" and not client else None
        if knee is None:
            nulls["knee_rate"] = "client-limited at it" if letter == "y" else "did not hold: p99 80 ms"
        limit = rate if client else None
        found.append(replace(one, id=f"{stack}-{number}", knee_rate=knee, nulls=nulls, client_limit=limit))
    return found


def said(*searches: list[Record]) -> list[str]:
    (one,) = knee_conclusions(findings_of([record for search in searches for record in search], RunFacts()))
    assert (one.question, one.where) == ("How many requests/s keep p99 within 50 ms?", "json")
    return [one.sentence, *one.more]


def test_how_often_each_held_and_which_takes_more() -> None:
    assert said(rounds("aiohttp", 4000, "yyy"), rounds("uvicorn-asgi", 5000, "yny")) == [
        "uvicorn-asgi sustains 5,000 requests/s (held in 2 of 3 later rounds);"
        " aiohttp sustains 4,000 requests/s (held in 3 of 3 later rounds).",
        "uvicorn-asgi sustains more than aiohttp, which failed at a rate that uvicorn-asgi held.",
    ]


def test_a_round_whose_window_does_not_count_is_one_in_which_it_did_not_hold() -> None:
    search = rounds("aiohttp", 4000, "yyy")
    bound = Cause("loadgen-bound", "vegeta waited for a CPU")
    search = [replace(one, causes=(bound,), valid=False) if one.round < 3 else one for one in search]
    assert said(search)[0].endswith("sustains 4,000 requests/s (held in 2 of 3 later rounds).")


def test_what_did_not_hold_again_is_above_none() -> None:
    assert said(rounds("aiohttp", 4000, "yyy"), rounds("uvicorn-asgi", 5000, "nny"))[1:] == [
        "No winner between uvicorn-asgi and aiohttp: the highest rate did not hold in most later rounds."
    ]


@pytest.mark.parametrize("rate", [4900, 4100])
def test_rates_that_two_searches_of_one_server_may_have_are_not_apart(rate: float) -> None:
    assert said(rounds("aiohttp", rate, "yyy"), rounds("uvicorn-asgi", 5000, "yyy"))[1:] == [
        "No winner between uvicorn-asgi and aiohttp: too close."
    ]


def test_where_the_load_generator_is_the_limit_it_is_a_lower_bound() -> None:
    assert said(rounds("aiohttp", 4000, "yyy", client=True), rounds("uvicorn-asgi", 5000, "yyy")) == [
        "uvicorn-asgi sustains 5,000 requests/s (held in 3 of 3 later rounds); aiohttp sustains at least 4,000"
        " requests/s (held in 3 of 3 later rounds, the load generator is the limit).",
        "No winner between uvicorn-asgi and aiohttp: the load generator ended a search.",
    ]


def test_a_search_that_found_none_says_why() -> None:
    lost = [replace(one, causes=(Cause("errors", "all"),), valid=False) for one in rounds("aiohttp", 84, "")]
    nulls = {**lost[0].nulls, "knee_rate": "it does not hold at 84/s"}
    lost = [replace(lost[0], knee_rate=None, nulls=nulls)]
    assert said(lost) == ["aiohttp-py313-debian: no such rate was found (it does not hold at 84/s)."]
