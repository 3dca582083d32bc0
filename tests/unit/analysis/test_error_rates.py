"""How often verdicts are wrong: a few of the cases of simulate_verdicts.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from simulate_verdicts import NO_LIMITS, Tally, normal, simulate, wild

from bench.analysis.comparison import DELTA, Thresholds
from bench.analysis.verdicts import FASTER, NO_DIFFERENCE, SLOWER


def plausibly_below(most: float, hits: int, of: int) -> bool:
    return bool(stats.binomtest(hits, of, most, alternative="greater").pvalue > 0.01)


def differences(tally: Tally) -> int:
    return tally.words.get(FASTER, 0) + tally.words.get(SLOWER, 0)


@pytest.mark.parametrize("noise", [normal, wild])
def test_three_looks_at_nothing_find_it_in_5_percent_at_most(noise) -> None:
    tally = simulate(600, [0.0], 0.024, NO_LIMITS, noise=noise)
    assert plausibly_below(0.05, differences(tally), tally.pairs)
    assert differences(tally) > 0


def test_identical_services_are_rarely_called_different() -> None:
    tally = simulate(300, [0.0], 0.024)
    assert tally.share(NO_DIFFERENCE) > 0.95
    assert plausibly_below(0.01, differences(tally), tally.pairs)


def test_intervals_at_the_stop_hold_the_truth() -> None:
    tally = simulate(400, [math.log(1.03)], 0.05, NO_LIMITS)
    assert plausibly_below(0.05, tally.shown - tally.covered, tally.shown)


def test_a_slowdown_is_found() -> None:
    tally = simulate(150, [-math.log(1.03)], 0.024)
    assert tally.words[SLOWER] >= 0.9 * tally.pairs
    assert abs(np.mean(tally.excess)) < 0.3


def test_a_difference_of_delta_is_rarely_denied() -> None:
    tally = simulate(300, [DELTA], 0.012, Thresholds(1.0, DELTA))
    assert plausibly_below(0.025, tally.denied, tally.different)


def test_a_table_has_few_false_differences_and_loses_no_verdict() -> None:
    truths = [0.0] * 15 + [math.log(1 + percent / 100) for percent in (2.5, 3, 4, 6, 10)]
    tally = simulate(60, truths, 0.024, NO_LIMITS)
    assert np.mean(tally.false) < 0.05 and np.mean(tally.missed) < 0.05
    assert tally.lost == 0 and tally.found > 0
