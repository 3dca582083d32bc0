"""How much of measured effects is believed: against the posterior, integrated numerically."""

from __future__ import annotations

import numpy as np
import pytest

from bench.stats.shrinkage import shrinkage


@pytest.mark.parametrize("effects", [[0.01, -0.01], [0.02, -0.02, 0.0], [0.05, -0.01, -0.04, 0.0], [0.0, 0.0]])
@pytest.mark.parametrize("noise", [1e-5, 1e-4, 4e-4])
def test_it_is_the_posterior_under_a_uniform_prior(effects: list[float], noise: float) -> None:
    share = np.linspace(0, 1, 200_001)[:-1]
    # The effects' differences are normal with variance noise / (1 - share), and k - 1 of them are independent.
    density = (1 - share) ** ((len(effects) - 1) / 2) * np.exp(-sum(e**2 for e in effects) * (1 - share) / (2 * noise))
    mean = float((share * density).sum() / density.sum())
    variance = float((share**2 * density).sum() / density.sum()) - mean**2
    found = shrinkage(effects, noise)
    assert (found.share, found.variance) == (pytest.approx(mean, abs=1e-4), pytest.approx(variance, abs=1e-4))


def test_without_noise_all_is_real() -> None:
    assert shrinkage([0.1, -0.1], 0.0).share == 1
    assert shrinkage([1e3, -1e3], 1e-12).share == pytest.approx(1)
