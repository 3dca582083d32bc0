"""The verdict on one pair: each rule with a case that just meets it and one that just does not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from verdict_values import pair, rounds, word

from bench.analysis.comparison import Comparison
from bench.analysis.verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER, verdicts
from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import CONFIDENCE, Estimate


@pytest.mark.parametrize(
    "percent, n, spread, expected",
    [
        (8.8, 16, 0.02, FASTER),
        (-8.8, 16, 0.02, SLOWER),
        (2.01, 30, 0.001, FASTER),
        (-2.01, 30, 0.001, SLOWER),
        (1.99, 30, 0.001, NO_DIFFERENCE),
        (0.0, 8, 0.02, NO_DIFFERENCE),
        (1.99, 30, 0.02, NO_DIFFERENCE),
        (1.99, 16, 0.02, NOT_ENOUGH),
        (0.0, 8, 0.03, NOT_ENOUGH),
        (8.8, 8, 0.1, NOT_ENOUGH),
    ],
)
def test_words(percent: float, n: int, spread: float, expected: str) -> None:
    assert word(pair(rounds(percent, n, spread))) == expected


def test_a_verdict_reads_as_in_the_tables() -> None:
    (found,) = verdicts([pair(rounds(8.8, 16, 0.024))])
    low, high = (100 * math.expm1(d) for d in (found.interval.low, found.interval.high))
    assert found.words() == f"faster 8.8 % ({low:.1f} to {high:.1f} %, 16 rounds)"
    (turned,) = verdicts([pair(tuple(-value for value in rounds(8.8, 16, 0.024)))])
    assert turned.words() == "slower 8.8 % (7.1 to 10.6 %, 16 rounds)"


def test_a_verdict_without_direction_has_signs() -> None:
    assert verdicts([pair(rounds(-0.001, 16))])[0].words() == "no difference shown +0.0 % (-0.7 to +0.7 %, 16 rounds)"
    assert verdicts([pair(rounds(-5, 8, 0.1))])[0].words() == "not enough data -5.0 % (-17.3 to +6.4 %, 8 rounds)"


def test_before_the_first_interim_look_there_is_no_verdict() -> None:
    (found,) = verdicts([pair(rounds(50, 7))])
    assert (found.word, found.estimate, found.interval, found.p) == (NOT_ENOUGH, None, None, 1.0)
    assert found.words() == "not enough data (7 of 8 rounds)"
    assert not found.decided
    assert verdicts([pair(())])[0].words() == "not enough data (0 of 8 rounds)"


def test_rounds_after_an_interim_look_wait_for_the_next() -> None:
    values = rounds(8.8, 8, 0.02)
    (first,), (later,) = verdicts([pair(values)]), verdicts([pair((*values, *[-9.0] * 7))])
    assert later.estimate == first.estimate and later.word == FASTER
    assert later.rounds == 15
    assert word(pair((*values, *[-9.0] * 8))) == SLOWER


def test_after_the_last_interim_look_a_pair_is_decided_without_a_verdict() -> None:
    values = rounds(2.5, 30, 0.1)
    (found,) = verdicts([pair((*values, 0.0, 0.0))])
    assert found.word == NOT_ENOUGH and found.decided
    assert found.estimate == Estimate(values)
    assert not verdicts([pair(values[:29])])[0].decided


@pytest.mark.parametrize("n", [8, 16, 30])
def test_a_pair_gets_its_verdict_at_an_interim_look(n: int) -> None:
    values = rounds(8.8, n, 0.02)
    (found,) = verdicts([pair(values)])
    assert found.decided and found.word == FASTER
    assert found.interval == Estimate(values).interval(CONFIDENCE)
    assert verdicts([pair(values[: n - 1])])[0].decided == (n > LOOKS[0])


@pytest.mark.parametrize("values", [(), rounds(8.8, 7), rounds(3, 8, 0.05)])
def test_a_pair_without_a_verdict_needs_more_rounds(values: tuple[float, ...]) -> None:
    assert not verdicts([pair(values)])[0].decided


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_identical_rounds_are_not_enough_data(value: float) -> None:
    (found,) = verdicts([pair((value,) * 30)])
    assert (found.word, found.reason) == (NOT_ENOUGH, "all rounds are identical")
    assert found.words() == "not enough data (30 rounds)"


def test_a_pair_that_is_not_valid_has_no_other_verdict() -> None:
    (found,) = verdicts([pair(rounds(8.8, 16), cause="loadgen-bound")])
    assert found.word == found.words() == "invalid: loadgen-bound"
    assert found.decided and found.p == 1.0
    assert word(pair((), cause="errors")) == "invalid: errors"


def test_outlier_rounds_are_reported() -> None:
    (found,) = verdicts([pair((*rounds(5, 15, 0.001), 4.0))])
    assert found.word == NOT_ENOUGH
    assert found.flags == ("outlier rounds: the Hodges-Lehmann estimate is +5.0 %",)
    assert not verdicts([pair((*rounds(5, 15, 0.001), 0.3))])[0].flags


def judged(cpu: float, goodput: float, share: float, n: int = 16) -> Comparison:
    return replace(
        pair(rounds(cpu, n)), goodput=rounds(goodput, n, 0.01, 1), shares=tuple(share + value for value in rounds(0, n))
    )


def test_metrics_that_contradict_each_other_give_no_verdict() -> None:
    (found,) = verdicts([judged(4, -4, 0.029)])
    assert (found.word, found.p) == (NOT_ENOUGH, 1.0)
    assert found.reason == "the metrics contradict each other: goodput -4.0 %, CPU per request +4.0 %"
    assert not found.decided


def test_goodput_is_not_a_check_if_cpu_time_was_unequal() -> None:
    (found,) = verdicts([judged(4, -4, -0.031)])
    assert found.word == FASTER
    assert found.flags == ("goodput was not used as a check: CPU times differ by -3.1 %",)


@pytest.mark.parametrize("goodput", [4, 0, -0.3])
def test_goodput_without_a_difference_does_not_contradict(goodput: float) -> None:
    (found,) = verdicts([judged(4, goodput, 0.0)])
    assert (found.word, found.flags) == (FASTER, ())


def test_goodput_alone_is_no_verdict_on_a_cpu_bound_pair() -> None:
    assert word(judged(0, 8, 0.0)) == NO_DIFFERENCE
