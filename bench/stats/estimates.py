"""Intervals of the t distribution.

The difference of two speeds is d = ln(B/A): positive if B is better, 0 if there is no difference, and swapping A and B
only changes the sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

ERRORS = 0.05
"""The highest accepted probability of a false difference, over all looks together."""
LEAST_SPREAD = 1e-9
"""A smaller standard deviation means that the values are copies: real measurements have noise."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval on the scale of d."""

    low: float
    high: float
    confidence: float

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval lies above or below 0, else 0."""
        return (self.low > 0) - (self.high < 0)

    def within(self, most: float) -> bool:
        """Whether the whole interval is within +-`most`."""
        return -most < self.low and self.high < most


def t_quantile(confidence: float, df: float) -> float:
    """The half-width of the t interval, in standard errors with `df` degrees of freedom."""
    from scipy.special import stdtrit  # same as scipy.stats.t.ppf, but scipy.stats takes most of a second to load

    return float(stdtrit(df, (1 + confidence) / 2))


def t_interval(mean: float, error: float | None, df: float, confidence: float) -> Interval:
    """The t interval around `mean`; infinite without a standard error."""
    reach = math.inf if error is None else error * t_quantile(confidence, df)
    return Interval(mean - reach, mean + reach, confidence)


def mean_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """The t interval of the mean of these values; None if they have no spread."""
    if len(values) < 2 or (spread := stdev(values)) < LEAST_SPREAD:
        return None
    return t_interval(fmean(values), spread / math.sqrt(len(values)), len(values) - 1, confidence)
