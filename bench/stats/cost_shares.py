"""Costs that are shares of a total: how far two samples of stacks are apart in one function, beyond chance.

A function's cost is its share of the samples times the whole cost per request. Both err: the share by the number of
samples, and the whole costs by how far the two are known to be apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95
"""Of all intervals of a comparison at once."""
LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Apart:
    """What a request costs on either side, in the same rounds: `error` is the standard error of log(head / base)."""

    base: float
    head: float
    error: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Shift:
    """What one function costs on either side, and head - base with its interval."""

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
        """Whether chance alone does not explain it."""
        return self.low > 0 or self.high < 0


def apart(pairs: Sequence[tuple[float, float]]) -> Apart | None:
    """The costs of base and head by round -> how far they are apart; None for fewer than three rounds.

    What moves both in a round is no part of the error.
    """
    if len(pairs) < LEAST_ROUNDS:
        return None
    base, head = (math.exp(fmean(math.log(pair[side]) for pair in pairs)) for side in (0, 1))
    spread = stdev(math.log(pair[1] / pair[0]) for pair in pairs)
    return Apart(base, head, spread / math.sqrt(len(pairs)), len(pairs) - 1)


def shift(costs: Apart, base: tuple[float, float], head: tuple[float, float], of: int) -> Shift:
    """The shift of one of `of` functions that are compared, with intervals corrected for multiple comparisons.

    A side is (independent samples in the function, independent samples in all).
    """
    from scipy.special import stdtrit  # scipy.stats takes most of a second to load

    # Half of what may be wrong is for the shares, of which there are many, and half for the whole costs.
    error = (1 - CONFIDENCE) / 2
    one, other = costs.base * base[0] / base[1], costs.head * head[0] / head[1]
    (one_low, one_high), (other_low, other_high) = (
        tuple(cost * share for share in share_bounds(*side, error / of))
        for cost, side in ((costs.base, base), (costs.head, head))
    )
    whole = costs.error * float(stdtrit(costs.freedom, 1 - error / 2)) * (one + other) / 2
    # Newcombe's method: from each side the distance to that end which is farthest from the other side's.
    low = math.hypot(other - other_low, one_high - one, whole)
    high = math.hypot(other_high - other, one - one_low, whole)
    return Shift(one, other, other - one - low, other - one + high)


def share_bounds(count: float, of: float, error: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share, which `error` of such intervals may miss."""
    from scipy.special import betaincinv

    low = float(betaincinv(count, of - count + 1, error / 2)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - error / 2)) if count < of else 1.0
    return low, high


LEAST_EXPECTED = 5.0
"""Samples that a function must have in each part on average to say how much the parts differ."""


def dispersion(parts: Sequence[Mapping[str, int]]) -> float:
    """How many times as much parts of a sample differ as they would if its samples were independent; at least 1.

    A process that waits for a CPU is found at one place many times.
    """
    sizes = [sum(part.values()) for part in parts]
    total = sum(sizes)
    names = {name for part in parts for name in part}
    counts = {name: [part.get(name, 0) for part in parts] for name in names}
    rare = [name for name in names if sum(counts[name]) < LEAST_EXPECTED * len(parts)]
    rows = [counts[name] for name in names if name not in rare]
    rows += [[sum(counts[name][place] for name in rare) for place in range(len(parts))]] * bool(rare)
    rows = [row for row in rows if sum(row)]
    freedom = (sum(size > 0 for size in sizes) - 1) * (len(rows) - 1)
    if freedom < 1:
        return 1.0
    expected = [[sum(row) * size / total for size in sizes] for row in rows]
    pairs = ((n, e) for row, means in zip(rows, expected, strict=True) for n, e in zip(row, means, strict=True) if e)
    return max(1.0, sum((n - e) ** 2 / e for n, e in pairs) / freedom)
