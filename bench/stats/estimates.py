"""Estimates of the ratio of a pair from its rounds.

Each round gives one value, d = ln(B/A) of a speed: positive if B is better, 0 if there is no difference. All decisions
are made on this scale, where swapping A and B only changes the sign. It is printed in percent: `+8.8 %` means that B
does 8.8 % more than A in the same time, `-8.8 %` that A does 8.8 % more than B.

There are interim looks at 8, 16 and 30 rounds and at no other time. Each look may use a third of the 5 % error rate,
so three times p is a valid p value whichever look ends the measuring (Bonferroni). Rounds beyond a look do not enter
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from statistics import fmean, median, stdev

from bench.plan.interim_looks import LOOKS

ERRORS = 0.05
"""The largest probability of a false difference, over all looks together."""
CONFIDENCE = 1 - ERRORS / len(LOOKS)
"""Of the interval at one look; those of all three looks cover the true value simultaneously in 95 % of cases."""
LEAST_SPREAD = 1e-9
"""A smaller standard deviation means that values are copies of each other: measurements have noise."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, on the scale of d."""

    low: float
    high: float
    confidence: float

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval lies above or below 0, else 0."""
        return (self.low > 0) - (self.high < 0)

    def within(self, most: float) -> bool:
        """Whether the whole interval is closer to 0 than `most`."""
        return -most < self.low and self.high < most


@dataclass(frozen=True)
class Estimate:
    """The mean of n values, with its standard error and the p value of a paired t test against no difference.

    A standard error needs at least two different values; without one p is 1 and the interval infinite.
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or not all(map(math.isfinite, self.values)):
            raise ValueError(f"no finite values: {self.values}")

    @property
    def n(self) -> int:
        """The number of rounds."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean of d: the logarithm of the geometric mean of the ratios."""
        return fmean(self.values)

    @property
    def ratio(self) -> float:
        """B/A."""
        return math.exp(self.mean)

    @property
    def percent(self) -> float:
        """The difference in percent, by the module's convention."""
        return percent_of(self.mean)

    @cached_property
    def error(self) -> float | None:
        """Standard error of the mean; None where there is no spread to compute it from."""
        if self.n < 2 or (spread := stdev(self.values)) < LEAST_SPREAD:
            return None
        return spread / math.sqrt(self.n)

    @cached_property
    def p(self) -> float:
        """Two-sided p value of the paired t test, not corrected for the number of looks."""
        if self.error is None:
            return 1.0
        from scipy.stats import t  # imported here: it takes most of a second

        return float(2 * t.sf(abs(self.mean) / self.error, self.n - 1))

    @cached_property
    def hodges_lehmann(self) -> float:
        """The Hodges-Lehmann estimate (median of the means of all pairs of values), which outliers hardly affect."""
        return median((one + other) / 2 for one, other in combinations_with_replacement(self.values, 2))

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The paired t interval of the mean."""
        if self.error is None:
            return Interval(-math.inf, math.inf, confidence)
        from scipy.stats import t

        reach = self.error * float(t.ppf((1 + confidence) / 2, self.n - 1))
        return Interval(self.mean - reach, self.mean + reach, confidence)


def estimate(values: Iterable[float]) -> Estimate | None:
    """The estimate of these values; None where there are none."""
    kept = tuple(values)
    return Estimate(kept) if kept else None


def log_ratio(b: float | None, a: float | None) -> float | None:
    """ln(B/A); None unless both are positive and finite."""
    if a is None or b is None or not (0 < a < math.inf and 0 < b < math.inf):
        return None
    return math.log(b) - math.log(a)


def percent_of(d: float) -> float:
    """How much more the better side does, in percent; negative if that is A."""
    return math.copysign(100 * math.expm1(abs(d)), d) if abs(d) < 700 else math.copysign(math.inf, d)


def last_look(n: int) -> int | None:
    """The last look that n rounds have reached, in rounds; None before the first."""
    return max((look for look in LOOKS if look <= n), default=None)


def corrected(at_one_look: Estimate) -> float:
    """The p value corrected for the number of looks."""
    return min(1.0, len(LOOKS) * at_one_look.p)
