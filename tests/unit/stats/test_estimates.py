"""Estimates against scipy's own functions on random rounds, by simulation, and where there is nothing to estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from simulate_verdicts import coverage, normal, wild

from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import (
    CONFIDENCE,
    Estimate,
    Interval,
    corrected,
    estimate,
    last_look,
    log_ratio,
    percent_of,
)


def rounds(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Speeds of A and B in n rounds, with the noise that both share."""
    rng = np.random.default_rng(seed)
    host = rng.lognormal(9, 0.3, n)
    return host * rng.lognormal(0, 0.02, n), 1.03 * host * rng.lognormal(0, 0.02, n)


def of(a: np.ndarray, b: np.ndarray) -> Estimate:
    return Estimate(tuple(float(value) for value in np.log(b / a)))


@pytest.mark.parametrize("n", [2, 3, *LOOKS])
@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_paired_t_test(seed: int, n: int) -> None:
    a, b = rounds(seed, n)
    found, expected = of(a, b), stats.ttest_rel(np.log(b), np.log(a))
    assert found.n == n
    assert found.p == pytest.approx(expected.pvalue)
    assert found.ratio == pytest.approx(stats.gmean(b) / stats.gmean(a))
    for confidence in (0.95, CONFIDENCE, 0.999):
        interval = expected.confidence_interval(confidence)
        assert found.interval(confidence) == Interval(
            pytest.approx(interval.low), pytest.approx(interval.high), confidence
        )


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_excludes_0_where_p_is_below_its_level(seed: int) -> None:
    found = of(*rounds(seed, 8))
    for level in (found.p * 0.999, found.p * 1.001):
        assert (found.interval(1 - level).sign != 0) == (found.p < level)


@pytest.mark.parametrize("seed", range(10))
def test_hodges_lehmann_is_where_the_signed_ranks_balance(seed: int) -> None:
    found = Estimate(tuple(np.random.default_rng(seed).standard_t(2, 16).tolist()))
    centred = np.array(found.values) - found.hodges_lehmann
    ranks = stats.rankdata(abs(centred))
    assert ranks[centred > 0].sum() == pytest.approx(ranks.sum() / 2, abs=1)
    assert stats.wilcoxon(centred, mode="exact").pvalue > 0.9


def test_hodges_lehmann_is_the_one_of_r() -> None:
    # wilcox.test(x, conf.int = TRUE) in R's example of depression scores (Hollander & Wolfe 1973, p. 29f.): -0.46.
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = Estimate(tuple(y - x for x, y in zip(before, after, strict=True)))
    assert found.hodges_lehmann == pytest.approx(-0.46)


def test_hodges_lehmann_stays_where_one_round_went_wild() -> None:
    calm = (0.03, 0.031, 0.029, 0.032, 0.028, 0.03, 0.03)
    assert Estimate((*calm, 5.0)).hodges_lehmann == pytest.approx(0.03, abs=0.002)
    assert Estimate((*calm, 5.0)).mean > 0.6


@pytest.mark.parametrize("n", LOOKS)
@pytest.mark.parametrize("noise", [normal, wild])
def test_95_percent_intervals_hold_the_truth_in_95_percent(n: int, noise) -> None:
    assert 0.93 <= coverage(1500, n, 0.95, noise, seed=n) <= 0.97


def test_swapping_the_sides_only_turns_the_sign() -> None:
    a, b = rounds(1, 8)
    one, other = of(a, b), of(b, a)
    assert other.percent == pytest.approx(-one.percent)
    assert other.p == pytest.approx(one.p)
    assert other.interval().low == pytest.approx(-one.interval().high)
    assert other.hodges_lehmann == pytest.approx(-one.hodges_lehmann)


@pytest.mark.parametrize("ratio, percent", [(1.088, 8.8), (1 / 1.088, -8.8), (1.0, 0.0), (3.0, 200.0), (0.5, -100.0)])
def test_percent_says_how_much_more_the_better_one_does(ratio: float, percent: float) -> None:
    assert percent_of(math.log(ratio)) == pytest.approx(percent)


def test_percent_of_what_has_no_bound() -> None:
    assert percent_of(-math.inf) == -math.inf
    assert percent_of(1e6) == math.inf


@pytest.mark.parametrize("values", [(0.1,), (0.1,) * 8, (0.0,) * 30, (0.1, 0.1 + 1e-13)])
def test_without_noise_nothing_is_known(values: tuple[float, ...]) -> None:
    found = Estimate(values)
    assert (found.error, found.p, found.interval().sign) == (None, 1.0, 0)
    assert not found.interval().within(1e300)
    assert found.mean == pytest.approx(values[0]) == found.hodges_lehmann


@pytest.mark.parametrize("values", [(), (math.nan, 0.1), (0.1, math.inf)])
def test_what_is_no_number_is_no_round(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="no finite values"):
        Estimate(values)


def test_no_rounds_have_no_estimate() -> None:
    assert estimate(()) is None
    assert estimate([0.1, 0.2]) == Estimate((0.1, 0.2))


@pytest.mark.parametrize("b, a", [(0, 1), (1, 0), (-1, 1), (None, 1), (1, None), (math.nan, 1), (math.inf, 1)])
def test_a_ratio_of_nothing_is_none(b: float | None, a: float | None) -> None:
    assert log_ratio(b, a) is None


def test_a_ratio() -> None:
    assert log_ratio(110.0, 100.0) == pytest.approx(math.log(1.1))
    assert log_ratio(1e308, 1e-308) == pytest.approx(math.log(10) * 616)


@pytest.mark.parametrize(
    "n, look", [(0, None), (7, None), (8, 8), (9, 8), (15, 8), (16, 16), (29, 16), (30, 30), (99, 30)]
)
def test_there_are_three_interim_looks(n: int, look: int | None) -> None:
    assert last_look(n) == look


def test_p_is_corrected_for_the_looks() -> None:
    found = of(*rounds(3, 16))
    assert corrected(found) == pytest.approx(min(1, 3 * found.p))
    assert corrected(Estimate((0.1, -0.1, 0.05, -0.05))) == 1.0
