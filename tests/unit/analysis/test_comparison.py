"""From windows of pairs to one value per round, and from A/A pairs to thresholds."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from verdict_values import pair, rounds, word

from bench.analysis.comparison import (
    DELTA,
    LEAST_DIFFERENCE,
    Metric,
    PairWindow,
    Side,
    Thresholds,
    comparison,
    thresholds_of,
)
from bench.analysis.verdicts import FASTER, NO_DIFFERENCE, verdicts
from bench.stats.estimates import Estimate


def window(
    good: tuple[int, int], cpu: tuple[float | None, float | None] = (1.0, 1.0), seconds: float = 1.0
) -> PairWindow:
    return Side(good[0], seconds, cpu[0]), Side(good[1], seconds, cpu[1])


def test_a_round_is_the_sum_of_its_windows() -> None:
    found = comparison("a", "b", [[window((2000, 2500)), window((3000, 3000), (1.0, 1.1))]], cpu_bound=True)
    assert found.values == (pytest.approx(math.log(5500 / 2.1) - math.log(5000 / 2.0)),)
    assert found.goodput == (pytest.approx(math.log(5500 / 5000)),)
    assert found.shares == (pytest.approx(math.log(2.1 / 2.0)),)
    assert (found.a, found.b, found.metric, found.flags) == ("a", "b", Metric.CPU, ())


def test_goodput_is_cpu_per_request_and_share() -> None:
    found = comparison("a", "b", [[window((2000, 2500), (0.9, 1.2))]], cpu_bound=True)
    assert found.goodput[0] == pytest.approx(found.values[0] + found.shares[0])


def test_goodput_is_the_metric_of_servers_that_wait() -> None:
    found = comparison("a", "b", [[window((2000, 2500), (None, None))]], cpu_bound=False)
    assert found.values == (pytest.approx(math.log(1.25)),)
    assert (found.metric, found.goodput, found.shares) == (Metric.GOODPUT, (), ())


@pytest.mark.parametrize(
    "good, cpu, counts",
    [
        ((1000, 1000), (0.1, 0.1), True),
        ((1000, 999), (0.1, 0.1), False),
        ((999, 5000), (0.1, 0.1), False),
        ((10, 10), (0.5, 0.5), True),
        ((10, 10), (0.5, 0.49), False),
        ((1000, 10), (0.1, 0.5), True),
    ],
)
def test_a_window_needs_enough_in_it(good: tuple[int, int], cpu: tuple[float, float], counts: bool) -> None:
    found = comparison("a", "b", [[window(good, cpu)]] * 2, cpu_bound=True)
    assert len(found.values) == (2 if counts else 0)
    assert found.flags == (() if counts else ("2 rounds with too few responses",))


def test_a_round_keeps_the_window_that_has_enough() -> None:
    found = comparison("a", "b", [[window((2000, 2500)), window((999, 5000), (0.1, 0.1))]], cpu_bound=False)
    assert found.values == (pytest.approx(math.log(1.25)),)
    assert found.flags == ()


@pytest.mark.parametrize(
    "bad, cpu_bound",
    [
        (window((0, 2000), (1.0, 1.0)), True),
        (window((0, 2000), (1.0, 1.0)), False),
        (window((2000, 2000), (None, 1.0)), True),
        (window((2000, 2000), (0.0, 1.0)), True),
        (window((2000, 2000), (1.0, 1.0), 0.0), False),
    ],
)
def test_a_round_without_a_value_is_left_out_and_flagged(bad: PairWindow, cpu_bound: bool) -> None:
    found = comparison("a", "b", [[bad], [window((2000, 2000))], []], cpu_bound=cpu_bound)
    assert found.values == (0.0,)
    assert found.flags == ("1 round with too few responses", f"1 round without a value for {found.metric}")
    assert verdicts([found])[0].flags == found.flags


def test_thresholds_are_those_of_the_metric() -> None:
    limits = {Metric.GOODPUT: Thresholds(0.1, 0.1)}
    assert comparison("a", "b", [], cpu_bound=False, limits=limits).limits == Thresholds(0.1, 0.1)
    assert comparison("a", "b", [], cpu_bound=True, limits=limits).limits == Thresholds()


# Thresholds from A/A pairs


def test_the_noise_floor_raises_both_thresholds() -> None:
    quiet, loud = Estimate(rounds(0.5, 16)), Estimate(rounds(-4, 16))
    assert thresholds_of([]) == thresholds_of([quiet]) == Thresholds(LEAST_DIFFERENCE, DELTA)
    assert thresholds_of([quiet, loud]) == Thresholds(pytest.approx(math.log(1.04)), pytest.approx(math.log(1.04)))
    assert thresholds_of([Estimate(rounds(2.5, 8))]) == Thresholds(pytest.approx(math.log(1.025)), DELTA)


def test_before_the_first_interim_look_there_is_no_noise_floor() -> None:
    assert thresholds_of([Estimate(rounds(-4, 7))]) == Thresholds()


def test_a_difference_below_the_noise_floor_is_none() -> None:
    values = rounds(3.5, 16, 0.001)
    assert word(pair(values)) == FASTER
    loud = replace(pair(values), limits=thresholds_of([Estimate(rounds(4, 16))]))
    assert word(loud) == NO_DIFFERENCE
