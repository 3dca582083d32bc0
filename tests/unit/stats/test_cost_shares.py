"""Costs by function: their intervals cover the truth, and differences are found."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy import stats

from bench.stats.cost_shares import Apart, apart, dispersion, share_bounds, shift


@pytest.mark.parametrize(("count", "of"), [(0, 500), (3, 500), (250, 500), (500, 500)])
def test_bounds_of_a_share_are_clopper_and_pearsons(count: int, of: int) -> None:
    wanted = stats.binomtest(count, of).proportion_ci(0.99, method="exact")
    assert share_bounds(count, of, 0.01) == pytest.approx((wanted.low, wanted.high))


def test_what_moves_both_in_a_round_is_no_part_of_the_error() -> None:
    costs = apart([(100.0, 140.0), (120.0, 168.0), (90.0, 126.0)])
    assert costs is not None and costs.error == pytest.approx(0, abs=1e-9) and costs.freedom == 2
    assert costs.head / costs.base == pytest.approx(1.4)
    own = apart([(100.0, 140.0), (100.0, 150.0), (100.0, 130.0)])
    assert own is not None and own.error == pytest.approx(np.std([log(1.4), log(1.5), log(1.3)], ddof=1) / 3**0.5)
    assert apart([(100.0, 140.0)] * 2) is None


def test_forty_of_three_hundred_are_found_in_the_function_that_costs_them() -> None:
    found = shift(Apart(340.0, 380.0, 0.005, 7), (1765, 2000), (1789, 2000), 40)
    assert found.shown and found.low < 40 < found.high
    assert found.difference == pytest.approx(380 * 1789 / 2000 - 340 * 1765 / 2000)
    assert not shift(Apart(340.0, 380.0, 0.005, 7), (100, 2000), (90, 2000), 40).shown


def test_costs_that_are_not_known_to_be_apart_explain_it() -> None:
    assert not shift(Apart(340.0, 380.0, 0.05, 7), (1765, 2000), (1789, 2000), 40).shown


@pytest.mark.parametrize("samples, spread, rounds", [(1500, 0.0, 4), (1500, 0.02, 4), (200, 0.02, 8), (1500, 0.1, 6)])
def test_equal_services_rarely_have_a_finding(samples: int, spread: float, rounds: int) -> None:
    rng, tables, wrong = np.random.default_rng(4), 300, 0
    shares = 0.7 ** np.arange(30)
    shares /= shares.sum()
    for _ in range(tables):
        both = 300 * np.exp(0.1 * rng.normal(size=(rounds, 1)) + spread * rng.normal(size=(rounds, 2)))
        costs = apart([(float(a), float(b)) for a, b in both])
        assert costs is not None
        pairs = rng.multinomial(samples, shares, size=2).T.tolist()
        wrong += any(shift(costs, (a, samples), (b, samples), len(shares)).shown for a, b in pairs)
    assert stats.binomtest(wrong, tables, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize(("extra", "least"), [(40.0, 0.95), (10.0, 0.3)])
def test_an_extra_cost_is_found_where_it_is(extra: float, least: float) -> None:
    """A function with 50 of 100 microseconds, in five seconds of samples and six rounds on a quiet machine."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(100):
        costs = Apart(100.0, 100.0 + extra, 0.005, 5)
        a, b = rng.binomial(2000, [0.5, (50 + extra) / (100 + extra)]).tolist()
        one = shift(costs, (a, 2000), (b, 2000), 40)
        found += one.shown and one.low < extra < one.high
    assert found >= 100 * least


def test_independent_samples_are_taken_for_that_and_repeated_ones_are_not() -> None:
    rng, shares = np.random.default_rng(6), [0.4, 0.3, 0.2, 0.05, 0.05]
    for repeats, low, high in ((1, 1.0, 1.6), (4, 2.5, 5.5)):
        found = []
        for _ in range(30):
            parts = [dict(enumerate(rng.multinomial(240 // repeats, shares) * repeats)) for _ in range(5)]
            found.append(dispersion([{str(name): int(count) for name, count in part.items()} for part in parts]))
        assert low <= np.mean(found) < high
    assert dispersion([]) == dispersion([{"a": 5}]) == dispersion([{"a": 5}, {"a": 9}]) == 1.0
