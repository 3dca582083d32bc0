"""How much of k measured effects to believe, if all of them may be noise.

The effects are drawn from a normal distribution of unknown mean and variance t, and effect i is measured with noise of
variance v[i]. Given t, the best guess is the mean plus share[i] x the measurement's distance from it, with share[i] =
t / (t + v[i]). Before the data, every value from 0 to 1 of this share is as likely as any other, for an effect with the
harmonic mean of the noises (the uniform shrinkage prior: Daniels, "A prior distribution for the hyperparameters in a
normal mixture", Canadian Journal of Statistics 27, 1999). Integrated numerically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

STEPS = 400
"""Values of the share that are summed over."""


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Given the data: the effects' mean, and [k] the mean and the variance of each effect's share (0: all is noise).

    `spread`: the standard deviation of the effects.
    """

    mean: float
    share: Any
    variance: Any
    spread: float


def shrinkage(effects: Sequence[float], noises: Sequence[float]) -> Shrinkage:
    """The real share of k >= 2 measured `effects`, if `noises` are the variances of their noise; all above 0."""
    import numpy as np

    measured, noise = np.array(effects), np.array(noises)
    usual = (np.arange(STEPS) + 0.5) / STEPS
    t = (usual / (1 - usual) * len(noise) / (1 / noise).sum())[:, None]
    weight = 1 / (t + noise)
    total = weight.sum(axis=1)
    means = (weight * measured).sum(axis=1) / total
    chi = (weight * (measured - means[:, None]) ** 2).sum(axis=1)
    logs = np.log(weight).sum(axis=1) / 2 - np.log(total) / 2 - chi / 2
    likely = np.exp(logs - logs.max())
    likely /= likely.sum()
    shares = t * weight
    share = likely @ shares
    spread = float(np.sqrt(likely @ t[:, 0]))
    return Shrinkage(float(likely @ means), share, likely @ (shares - share) ** 2, spread)
