"""What a run says would help, where something stayed undecided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from turns_runs import measured, ranking_of

from bench.analysis.tables.ranking import Contrast, Ranking
from bench.words.advice import advice

FACTS = {"run": "RUN", "expected": ["Other programs use 34 % of the CPUs: stop them."]}
SPEEDS = {"aiohttp": 5000, "tornado": 3000, "uvicorn-asgi": 4000}


def with_open(ranking: Ranking, *more_rounds: int | None, bias: float = 0.0) -> Ranking:
    """With so many undecided differences."""
    left = [
        replace(one, verdict="not enough data", more_rounds=more, smallest_visible=0.04 + bias, systematic=bias)
        for one, more in zip(ranking.contrasts, more_rounds, strict=False)
    ]
    contrasts: tuple[Contrast, ...] = (*left, *ranking.contrasts[len(left) :])
    return replace(ranking, contrasts=contrasts)


def lines(ranking: Ranking, facts: dict[str, object] | None = None) -> tuple[str, ...]:
    return advice(facts or {"run": "RUN"}, (ranking,), [])


def test_nothing_is_said_where_everything_is_decided() -> None:
    ranking = ranking_of(SPEEDS, 6, 6)
    assert lines(ranking, dict(FACTS)) == ()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((3,), "1 of 3 differences has no verdict; --rounds 9 would most likely settle it."),
        ((3, 40), "2 of 3 differences have no verdict; --rounds 46 would most likely settle all of them."),
        ((3, None), "--rounds 9 would most likely settle 1 of them; the rest is too close to call."),
        ((None,), "more rounds would hardly help: it is too close to call."),
        ((94,), "more rounds would hardly help: it is too close to call."),
    ],
)
def test_the_rounds_that_would_decide_are_named(more: tuple[int | None, ...], says: str) -> None:
    (line,) = lines(with_open(ranking_of(SPEEDS, 6, 6), *more))
    assert line.startswith("json wrk c16: ") and says in line


def test_noise_is_named_where_it_is_the_reason() -> None:
    ranking = with_open(ranking_of(SPEEDS, 6, 6), None)
    wide = replace(ranking, contrasts=tuple(replace(one, smallest_visible=0.4) for one in ranking.contrasts))
    (line,) = lines(wide)
    assert line.endswith("more rounds would hardly help: it needs a quieter machine.")


def test_the_bias_of_turns_is_named_where_it_is_the_reason() -> None:
    (line,) = lines(with_open(ranking_of(SPEEDS, 6, 6), None, None, bias=0.13))
    assert line.endswith("each lies within the bias of turns, which --mode solo does not have.")


def test_what_is_open_for_two_reasons_has_both() -> None:
    found = with_open(ranking_of(SPEEDS, 6, 6), None, None, bias=0.13)
    first = replace(found.contrasts[0], systematic=0.0, smallest_visible=0.4)
    mixed = replace(found, contrasts=(first, *found.contrasts[1:]))
    (line,) = lines(mixed)
    assert line.endswith("each lies within the bias of turns or needs a quieter machine.")


def test_tables_share_a_line() -> None:
    ranking = with_open(ranking_of(SPEEDS, 6, 6), 3)
    (line,) = advice({}, (ranking, ranking), [])
    assert line == "2 tables: 2 of 6 differences have no verdict; --rounds 9 would most likely settle all of them."


def test_a_run_that_was_cut_says_how_to_go_on() -> None:
    (early,) = lines(ranking_of(SPEEDS, 2, 8))
    assert early == "json wrk c16: 2 rounds of the 4 before the first look; scripts/matrix.sh --resume RUN goes on."
    (cut,) = lines(with_open(ranking_of(SPEEDS, 4, 8), 3))
    assert cut.endswith("no verdict after 4 rounds; scripts/matrix.sh --resume RUN goes on to 8.")


def test_what_was_expected_is_said_again_and_noise_that_came_later() -> None:
    ranking = with_open(ranking_of(SPEEDS, 6, 6), 3)
    assert lines(ranking, dict(FACTS))[1:] == ("Other programs use 34 % of the CPUs: stop them.",)
    noisy = [
        replace(one, foreign_ratio=0.2, nulls={name: why for name, why in one.nulls.items() if name != "foreign_ratio"})
        for one in measured(SPEEDS, 2)
    ]
    found = advice({"run": "RUN"}, (ranking,), noisy)
    assert found[-1].startswith("Other programs or the hypervisor took CPU in 12 of 12 windows")


def test_a_run_without_a_comparison_repeats_what_was_expected() -> None:
    assert advice({"expected": ["--mode solo measures alone"]}, (), []) == ("--mode solo measures alone",)


def test_the_rounds_come_from_the_fit() -> None:
    near = ranking_of({"aiohttp": 5000, "tornado": 4880}, 4, 4, spread=0.03, noise=0.02, seed=3)
    (contrast,) = near.contrasts
    assert contrast.verdict != "not enough data" or contrast.more_rounds is None or contrast.more_rounds > 0
