"""How much of k measured effects to believe, if all of them may be noise.

The effects are drawn from a normal distribution of unknown variance t, and each is measured with noise of variance v.
The best guess of an effect is share x its measurement, with share = t / (t + v). The share is unknown too; before the
data, every value from 0 to 1 is as likely as any other (Daniels, "A prior distribution for the hyperparameters in a
normal mixture", 1999: the uniform shrinkage prior). Then 1 - share has a gamma distribution that is cut off at 1, with
shape (k + 1) / 2 and rate (sum of squares) / 2v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """The mean and the variance of `share`, from 0 (all is noise) to 1 (all is real), given the data."""

    share: float
    variance: float


def shrinkage(effects: Sequence[float], noise: float) -> Shrinkage:
    """The share of `effects` (k numbers whose mean is 0) that is real, if `noise` is the variance of the noise of each.

    Without noise, all is real.
    """
    if noise <= 0:
        return Shrinkage(1.0, 0.0)
    from scipy.special import gammainc

    shape, rate = (len(effects) + 1) / 2, max(math.fsum(effect**2 for effect in effects) / (2 * noise), 1e-6)
    base = gammainc(shape, rate)
    first = shape / rate * gammainc(shape + 1, rate) / base
    second = shape * (shape + 1) / rate**2 * gammainc(shape + 2, rate) / base
    return Shrinkage(1 - float(first), max(0.0, float(second - first**2)))
