"""What a fitted table says: a word for every difference, ranks and tiers, and what more rounds would show.

- `faster` / `slower`: the simultaneous interval of the difference excludes 0, and the estimate is at least `least`. At
  most 5 % of tables have a false one, over all looks together (see `table_family`).
- `no difference shown`: the difference's own interval at the look's level lies inside +-margin. As for pairs: two
  services that differ by the margin or more get it in at most 2.5 % of cases over all looks.
- `not enough data`: everything else.

Values are speeds as logarithms: larger is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bench.stats.estimates import ERRORS, Interval
from bench.stats.table_fit import TableFit

MARGIN = math.log(1.03)
"""An own interval within this counts as no difference."""
LEAST = math.log(1.02)
"""The smallest estimate that is called a difference."""
FASTER, SLOWER, NO_DIFFERENCE, NOT_ENOUGH = "faster", "slower", "no difference shown", "not enough data"
POWER = 0.9


@dataclass(frozen=True, slots=True)
class Difference:
    """One service relative to another on the logarithmic scale: i - j.

    `interval` is that which the word rests on: the own one for `no difference shown`, else the simultaneous one.
    `more_rounds` is how many more rounds would decide it if the estimate and the spread stay (0 if decided, inf if
    unknown). `detectable` is the smallest difference that these rounds would have called with a probability of 0.9.
    """

    i: str
    j: str
    word: str
    estimate: float
    interval: Interval
    more_rounds: float
    detectable: float

    @property
    def decided(self) -> bool:
        """Whether it has a verdict."""
        return self.word != NOT_ENOUGH


@dataclass(frozen=True, slots=True)
class RankedService:
    """A row of the ranking. All figures are ratios - 1: -0.05 is 5 % less than what it is compared with.

    `rank` counts from 1 (the fastest), `tier` too; services of a tier cannot be told apart from its best.
    `difference` with `low` and `high` is against the best of the ranking (simultaneous interval; 0, 0, 0 for itself).
    `own`, `own_low`, `own_high` are against the geometric mean of the ranked services, by the interval of this service
    alone. A service that no chain of windows connects with the largest component has rank and tier None, and nan.
    """

    rank: int | None
    service: str
    tier: int | None
    difference: float
    low: float
    high: float
    own: float
    own_low: float
    own_high: float


def differences(
    fit: TableFit, level: float, margin: float = MARGIN, least: float = LEAST
) -> Mapping[tuple[str, str], Difference]:
    """The verdict on every difference i - j, both (i, j) and (j, i), at a look of this `level`."""
    raise NotImplementedError


def settled(found: Mapping[tuple[str, str], Difference], fit: TableFit) -> bool:
    """Whether more rounds would change nothing: all services are connected, and every difference is decided."""
    return fit.complete and all(one.decided for one in found.values())


def rank(fit: TableFit, level: float, margin: float = MARGIN, least: float = LEAST) -> tuple[RankedService, ...]:
    """The services from the fastest to the slowest, with differences from the best, and tiers.

    A tier is the longest run of consecutive services without a `faster` or `slower` against the first of the run.
    """
    raise NotImplementedError
