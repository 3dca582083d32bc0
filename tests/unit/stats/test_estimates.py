"""Estimates compared with scipy's functions on random rounds, by simulation, and without data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bench.stats.estimates import Estimate, Interval, estimate


def rounds(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Speeds of A and B in n rounds, with shared noise."""
    rng = np.random.default_rng(seed)
    host = rng.lognormal(9, 0.3, n)
    return host * rng.lognormal(0, 0.02, n), 1.03 * host * rng.lognormal(0, 0.02, n)


def of(a: np.ndarray, b: np.ndarray) -> Estimate:
    return Estimate(tuple(float(value) for value in np.log(b / a)))


@pytest.mark.parametrize("n", [2, 3, 8, 30])
@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_paired_t_test(seed: int, n: int) -> None:
    a, b = rounds(seed, n)
    found, expected = of(a, b), stats.ttest_rel(np.log(b), np.log(a))
    assert found.n == n
    assert math.exp(found.mean) == pytest.approx(stats.gmean(b) / stats.gmean(a))
    for confidence in (0.95, 0.999):
        low, high = map(pytest.approx, expected.confidence_interval(confidence))
        assert found.interval(confidence) == Interval(low, high, confidence)


@pytest.mark.parametrize("values", [(0.1,), (0.1,) * 8, (0.0,) * 30, (0.1, 0.1 + 1e-13)])
def test_without_noise_nothing_is_known(values: tuple[float, ...]) -> None:
    found = Estimate(values)
    assert (found.error, found.interval(0.95).sign) == (None, 0)
    assert not found.interval(0.95).within(1e300)
    assert found.mean == pytest.approx(values[0])


@pytest.mark.parametrize("values", [(), (math.nan, 0.1), (0.1, math.inf)])
def test_what_is_no_number_is_no_round(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="no finite values"):
        Estimate(values)


def test_no_rounds_have_no_estimate() -> None:
    assert estimate(()) is None
    assert estimate([0.1, 0.2]) == Estimate((0.1, 0.2))
