"""Intervals compared with scipy's functions on random rounds, and without data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bench.stats.estimates import Interval, t_interval
from bench.stats.table_quantiles import merged_interval


def rounds(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Speeds of A and B in n rounds, with shared noise."""
    rng = np.random.default_rng(seed)
    host = rng.lognormal(9, 0.3, n)
    return host * rng.lognormal(0, 0.02, n), 1.03 * host * rng.lognormal(0, 0.02, n)


@pytest.mark.parametrize("n", [3, 8, 30])
@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_paired_t_test(seed: int, n: int) -> None:
    a, b = rounds(seed, n)
    expected = stats.ttest_rel(np.log(b), np.log(a))
    for confidence in (0.95, 0.999):
        interval = expected.confidence_interval(confidence)
        low, high = math.exp(interval.low), math.exp(interval.high)
        assert merged_interval(float(stats.gmean(b / a)), (b / a).tolist(), confidence) == Interval(
            pytest.approx(low), pytest.approx(high), confidence
        )


@pytest.mark.parametrize("values", [(), (0.1,), (0.1,) * 8, (0.1, 0.1 + 1e-13, 0.1)])
def test_without_noise_nothing_is_known(values: tuple[float, ...]) -> None:
    assert merged_interval(0.1, values, 0.95) is None
    infinite = t_interval(0.1, None, len(values), 0.95)
    assert infinite.sign == 0 and not infinite.within(1e300)
