"""The mean of logarithms over rounds, with its interval.

The difference of two speeds is d = ln(B/A): positive if B is better, 0 if there is no difference, and swapping A and B
only changes the sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True)
class Estimate:
    """The mean of n values, with its standard error.

    A standard error needs at least two different values; without it, the interval is infinite.
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or not all(map(math.isfinite, self.values)):
            raise ValueError(f"no finite values: {self.values}")

    @property
    def n(self) -> int:
        """The number of values."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """The arithmetic mean; for logarithms, the logarithm of the geometric mean."""
        return fmean(self.values)

    @cached_property
    def error(self) -> float | None:
        """Standard error of the mean; None if the values have no spread."""
        if self.n < 2 or (spread := stdev(self.values)) < LEAST_SPREAD:
            return None
        return spread / math.sqrt(self.n)

    def interval(self, confidence: float) -> Interval:
        """The t interval of the mean."""
        return t_interval(self.mean, self.error, self.n - 1, confidence)


def t_quantile(confidence: float, df: float) -> float:
    """The half-width of the t interval, in standard errors with `df` degrees of freedom."""
    from scipy.special import stdtrit  # same as scipy.stats.t.ppf, but scipy.stats takes most of a second to load

    return float(stdtrit(df, (1 + confidence) / 2))


def t_interval(mean: float, error: float | None, df: float, confidence: float) -> Interval:
    """The t interval around `mean`; infinite without a standard error."""
    reach = math.inf if error is None else error * t_quantile(confidence, df)
    return Interval(mean - reach, mean + reach, confidence)


def estimate(values: Iterable[float]) -> Estimate | None:
    """The estimate from these values; None for no values."""
    kept = tuple(values)
    return Estimate(kept) if kept else None
