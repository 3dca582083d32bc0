"""What the rounds of one pair say about its ratio.

Every round gives one value, d = ln(B/A) of a speed: more is better for B, and 0 is no difference. All that is
judged is judged on this scale, where swapping A and B only turns the sign. In words it is percent: `+8.8 %` says that
B does 8.8 % more than A out of the same time, `-8.8 %` that A does 8.8 % more than B.

The rounds are looked at when there are 8, 16 and 30 of them and at no other time. Each look may spend a third of the
5 %, so that p times three is a p value whatever made the measuring stop at one of them (Bonferroni: the chance that
any look is below its third is at most the sum). More values than a look needs are left out of it.
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
"""Share of wrong differences that all looks together may give."""
CONFIDENCE = 1 - ERRORS / len(LOOKS)
"""Of the interval at one look; the intervals of all three looks hold the truth together in 95 %."""
LEAST_SPREAD = 1e-9
"""Standard deviation below which rounds are copies of each other: a measurement has noise."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, on the scale of d."""

    low: float
    high: float
    confidence: float

    @property
    def sign(self) -> int:
        """1 or -1 where all of it lies above or below 0, else 0."""
        return (self.low > 0) - (self.high < 0)

    def within(self, most: float) -> bool:
        """Whether all of it is nearer to 0 than `most`."""
        return -most < self.low and self.high < most


@dataclass(frozen=True)
class Estimate:
    """The mean of n values with its standard error, and the paired t test's p that there is no difference.

    Two values that differ are the least that has an error; without one, nothing is known (p is 1, the interval all).
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
        """Standard error of the mean; None where the values show no noise."""
        if self.n < 2 or (spread := stdev(self.values)) < LEAST_SPREAD:
            return None
        return spread / math.sqrt(self.n)

    @cached_property
    def p(self) -> float:
        """Two-sided p value of the paired t test, at this one look."""
        if self.error is None:
            return 1.0
        from scipy.stats import ttest_1samp  # scipy.stats takes most of a second to load

        return float(ttest_1samp(self.values, 0.0).pvalue)

    @cached_property
    def hodges_lehmann(self) -> float:
        """The median of all means of two values (Walsh averages): what a few wild rounds do not move."""
        return median((one + other) / 2 for one, other in combinations_with_replacement(self.values, 2))

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The paired t interval of the mean."""
        if self.error is None:
            return Interval(-math.inf, math.inf, confidence)
        from scipy.stats import t

        low, high = t.interval(confidence, self.n - 1, self.mean, self.error)
        return Interval(float(low), float(high), confidence)


def estimate(values: Iterable[float]) -> Estimate | None:
    """The estimate of these values, or None where there are none."""
    kept = tuple(values)
    return Estimate(kept) if kept else None


def log_ratio(b: float | None, a: float | None) -> float | None:
    """ln(B/A); None where one of them is unknown, or nothing that has a logarithm."""
    if a is None or b is None or not (0 < a < math.inf and 0 < b < math.inf):
        return None
    return math.log(b) - math.log(a)


def percent_of(d: float) -> float:
    """How much more the better one does, in percent; negative where that is A."""
    return math.copysign(100 * math.expm1(abs(d)), d) if abs(d) < 700 else math.copysign(math.inf, d)


def last_look(n: int) -> int | None:
    """The look that n rounds have reached, as its number of rounds; None before the first."""
    return max((look for look in LOOKS if look <= n), default=None)


def corrected(at_one_look: Estimate) -> float:
    """The p value that holds whatever made the measuring stop: for the number of looks."""
    return min(1.0, len(LOOKS) * at_one_look.p)
