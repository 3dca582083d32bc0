"""How much of measured effects is believed: against the posterior of equal noises in closed form, and simulated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammainc

from bench.stats.shrinkage import shrinkage


@pytest.mark.parametrize("effects", [[0.01, -0.01], [0.02, -0.02, 0.0], [0.05, -0.01, -0.04, 0.0], [0.001, -0.001]])
@pytest.mark.parametrize("noise", [1e-5, 1e-4, 4e-4])
def test_equal_noises_have_the_posterior_that_is_known(effects: list[float], noise: float) -> None:
    # 1 - share has a gamma distribution that is cut off at 1.
    shape, rate = (len(effects) + 1) / 2, sum(effect**2 for effect in effects) / (2 * noise)
    base = gammainc(shape, rate)
    first = shape / rate * gammainc(shape + 1, rate) / base
    second = shape * (shape + 1) / rate**2 * gammainc(shape + 2, rate) / base
    found = shrinkage(effects, [noise] * len(effects))
    assert found.share == pytest.approx(1 - first, abs=2e-3)
    assert found.variance == pytest.approx(second - first**2, abs=2e-3)
    assert found.mean == pytest.approx(0, abs=1e-9)


def test_what_is_measured_badly_is_believed_less_and_spoils_nothing() -> None:
    good = [0.03, -0.03, 0.02, -0.02, 0.01]
    found = shrinkage([*good, 0.5], [1e-6] * 5 + [0.1])
    assert (found.share[:5] > 0.99).all() and found.share[5] < 0.1
    assert found.mean == pytest.approx(np.mean(good), abs=0.002)


def test_a_guess_is_better_than_the_measurement_and_than_none() -> None:
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(400):
        true = rng.normal(0, 0.01, 8)
        noise = rng.choice([0.005, 0.02], 8)
        measured = true + noise * rng.normal(size=8)
        found = shrinkage(measured.tolist(), (noise**2).tolist())
        guess = found.mean + found.share * (measured - found.mean)
        errors.append([((guess - true) ** 2).mean(), ((measured - true) ** 2).mean(), (true**2).mean()])
    guessed, plain, none = np.mean(errors, axis=0)
    assert guessed < 0.8 * min(plain, none)
