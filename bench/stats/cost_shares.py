"""Differences in the cost of single functions between two profiles (samples of stacks), with confidence intervals.

A function's cost is its share of the samples times the total cost per request. Both have an error: the share because
the number of samples is limited, and the total costs because their difference is an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from bench.stats.estimates import t_quantile

CONFIDENCE = 0.95
"""Simultaneous confidence of all intervals of a comparison."""
LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Apart:
    """Total cost per request of base and head; `error` is the standard error of log(head / base)."""

    base: float
    head: float
    error: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Shift:
    """The cost of one function in base and head, and the interval of head - base."""

    base: float
    head: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Head - base."""
        return self.head - self.base

    @property
    def shown(self) -> bool:
        """Whether the difference is significant."""
        return self.low > 0 or self.high < 0


def apart(pairs: Sequence[tuple[float, float]]) -> Apart | None:
    """Compare the total costs, given as one (base, head) per round; None for fewer than three rounds.

    The comparison is paired: noise that affects both in a round does not add to the error.
    """
    if len(pairs) < LEAST_ROUNDS:
        return None
    base, head = (math.exp(fmean(math.log(pair[side]) for pair in pairs)) for side in (0, 1))
    spread = stdev(math.log(pair[1] / pair[0]) for pair in pairs)
    return Apart(base, head, spread / math.sqrt(len(pairs)), len(pairs) - 1)


def shift(costs: Apart, base: tuple[float, float], head: tuple[float, float], of: int) -> Shift:
    """The shift of one function; its interval is corrected for `of` comparisons.

    `base` and `head` are (independent samples in the function, independent samples in total).
    """
    # Half of the error rate goes to the shares (divided among the functions), half to the total costs.
    error = (1 - CONFIDENCE) / 2
    base_cost, head_cost = costs.base * base[0] / base[1], costs.head * head[0] / head[1]
    (base_low, base_high), (head_low, head_high) = (
        tuple(cost * share for share in share_bounds(*side, error / of))
        for cost, side in ((costs.base, base), (costs.head, head))
    )
    whole = costs.error * t_quantile(1 - error, costs.freedom) * (base_cost + head_cost) / 2
    # Newcombe's method: combines the distances of both estimates to their own limits.
    low = math.hypot(head_cost - head_low, base_high - base_cost, whole)
    high = math.hypot(head_high - head_cost, base_cost - base_low, whole)
    return Shift(base_cost, head_cost, head_cost - base_cost - low, head_cost - base_cost + high)


def share_bounds(count: float, of: float, error: float) -> tuple[float, float]:
    """The Clopper-Pearson interval of a share at confidence 1 - `error`."""
    from scipy.special import betaincinv

    low = float(betaincinv(count, of - count + 1, error / 2)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - error / 2)) if count < of else 1.0
    return low, high


LEAST_EXPECTED = 5.0
"""Functions with fewer samples per part, on average, are pooled (the usual limit of a chi-square test)."""


def dispersion(parts: Sequence[Mapping[str, int]]) -> float:
    """The overdispersion of the parts of a sample, at least 1: their variance relative to that of independent samples.

    Samples are not independent: a process that waits for a CPU is sampled many times at the same place.
    """
    from scipy.stats import chi2_contingency

    sizes = [sum(part.values()) for part in parts]
    names = {name for part in parts for name in part}
    counts = {name: [part.get(name, 0) for part in parts] for name in names}
    rare = [name for name in names if sum(counts[name]) < LEAST_EXPECTED * len(parts)]
    rows = [counts[name] for name in names if name not in rare]
    rows += [[sum(counts[name][place] for name in rare) for place in range(len(parts))]] * bool(rare)
    rows = [[count for count, size in zip(row, sizes, strict=True) if size] for row in rows if sum(row)]
    if len(rows) < 2 or len(rows[0]) < 2:
        return 1.0
    result = chi2_contingency(rows, correction=False)
    return max(1.0, float(result.statistic / result.dof))
