"""Tests whether two services lose different shares of their requests, from counts of a few events each.

The losses of one event are correlated: a worker that ends loses all the requests it was serving. So the unit is the
round's event, not the request. With enough rounds, a difference must be significant in two exact tests:

- the rank sum of the rounds' shares (permutation test): valid however the losses of a round cluster;
- one total given the sum of both (binomial): accounts for one service having sent more requests and therefore being
  more likely to lose any.

Both must agree on which one loses more. With fewer rounds, where ranks could never be significant, the variation
between rounds is estimated from all services under the same event: the quasi-likelihood F test of the totals (McCullagh
and Nelder, Generalized Linear Models, 4.5 and 9.2; for few repetitions and many rows Lund et al., Stat. Appl. Genet.
Mol. Biol. 11(5), 2012). It is valid as long as no service's losses vary far more from round to round than those of the
others.

Holm's correction keeps the probability of any false difference in a table below `ERRORS`. Pairs of services that both
lost nothing cannot differ, so they do not count as tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice, pairwise
from math import comb, gcd, log
from typing import Any

from bench.stats.estimates import ERRORS, t_quantile

LEAST_ROUNDS = 2
"""Minimum rounds of each service for a verdict."""
LEAST_OF_SPREAD = 3
"""Minimum rounds of each service for the F test. If two equal services lose much in every second event and nothing in
the others, then one loses in all rounds and the other in none by chance: with two rounds in one run of eight, with
three in one of 32.
"""
MOST_ROUNDS = 40
"""The highest number of rounds that is suggested to reach a verdict."""

Counts = tuple[tuple[float, float], ...]
"""(lost, sent) of each round."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The variation between the rounds of each service under one event: Pearson's statistic, its degrees of freedom,
    and the number of services.
    """

    x2: float = 0.0
    freedom: int = 0
    services: int = 0

    def repeated(self, before: int, rounds: int) -> Spread:
        """The expected value for `rounds` rounds, if they vary like the `before` rounds so far."""
        return Spread(self.x2 * rounds / before, self.services * (rounds - 1), self.services)


def spread_of(services: Iterable[Counts]) -> Spread:
    """The spread of the services that lost some of their requests; it cannot be seen in those that lost all."""
    x2, freedom, known = 0.0, 0, 0
    for counts in services:
        if 0 < (part := share(counts)) < 1:
            known += 1
            freedom += len(counts) - 1
            x2 += sum((lost - sent * part) ** 2 / (sent * part * (1 - part)) for lost, sent in counts if sent)
    return Spread(x2, freedom, known)


def p_differ(a: Counts, b: Counts, tests: int = 1, spread: Spread = Spread(), limit: float = 1.0) -> float:
    """The p value of "both lose the same share"; 1 with too few rounds.

    `tests` is the number of tests in the table; it decides whether the rounds are enough for the rank sum. A p value
    above `limit` may be given too low, but still above it, which takes less time.
    """
    if min(len(a), len(b)) < LEAST_ROUNDS or not all(sent for _, sent in (*a, *b)):
        return 1.0
    one, other = (tuple(lost / sent for lost, sent in side) for side in (a, b))
    # Totals and ranks can disagree: a single round with many losses makes a large total but not large ranks.
    if _more_often(one, other) * (share(a) - share(b)) <= 0:
        return 1.0
    if 2 / comb(len(a) + len(b), len(a)) * tests > ERRORS:
        return _spread_p(a, b, spread)
    ranked = rank_sum_p(one, other)
    return ranked if ranked > limit else max(ranked, _totals_p(a, b, limit))


def _spread_p(a: Counts, b: Counts, spread: Spread) -> float:
    """The p value of the quasi-likelihood F test of both totals."""
    from scipy.stats import f

    if min(len(a), len(b)) < LEAST_OF_SPREAD or not spread.freedom:
        return 1.0
    both = _deviance((*a, *b)) - _deviance(a) - _deviance(b)
    # Never below 1, the dispersion of independent losses.
    return float(f.sf(both / max(1.0, spread.x2 / spread.freedom), 1, spread.freedom))


def _deviance(counts: Counts) -> float:
    """Twice the negative log likelihood of the total, at its own share."""
    lost, sent = (sum(parts) for parts in zip(*counts, strict=True))
    return -2.0 * float(sum(part * log(part / sent) for part in (lost, sent - lost) if part > 0))


def _more_often(one: Sequence[float], other: Sequence[float]) -> int:
    """The number of pairs of rounds in which `one` loses more, minus those in which `other` does."""
    return sum((x > y) - (x < y) for x in one for y in other)


def rank_sum_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The exact two-sided p value of the rank sum, with mean ranks for ties (scipy's exact test cannot handle ties)."""
    import numpy as np
    from scipy.stats import rankdata

    # Doubled, because mean ranks can be half-integers. Only their distances matter, and small numbers take less time.
    doubled = (2 * rankdata([*a, *b])).astype(int)
    above: list[int] = (doubled - doubled.min()).tolist()
    step = max(1, gcd(*above))
    ranks = [rank // step for rank in above]
    ways = _rank_sums(tuple(sorted(ranks)), len(a))
    middle = len(a) * sum(ranks) / len(ranks)
    found = abs(sum(ranks[: len(a)]) - middle)
    return float(ways[abs(np.arange(len(ways)) - middle) >= found - 1e-9].sum() / ways.sum())


@cache
def _rank_sums(ranks: tuple[int, ...], count: int) -> Any:
    """In how many ways `count` of the ranks have each sum. Few sets of ranks occur, however many pairs a table has."""
    import numpy as np

    ways = np.zeros((count + 1, sum(ranks) + 1))
    ways[0, 0] = 1
    highest = 0  # sum so far
    for before, rank in enumerate(ranks):
        most = min(before + 1, count)
        ways[1 : most + 1, rank : highest + rank + 1] += ways[:most, : highest + 1].copy()
        highest += rank
    return ways[-1]


@cache
def _totals_p(a: Counts, b: Counts, limit: float) -> float:
    """The exact p value of the first total given the sum of both: binomial if both lose the same share.

    Above `limit`, only the tail on its own side, which is smaller and takes little time.
    """
    from scipy.special import bdtr, bdtrc
    from scipy.stats import binomtest

    lost, both = round(sum(one for one, _ in a)), round(sum(one for one, _ in (*a, *b)))
    sent = sum(one for _, one in a) / sum(one for _, one in (*a, *b))
    tail = min(bdtr(lost, both, sent), bdtrc(lost - 1, both, sent)) if lost else bdtr(lost, both, sent)
    return float(tail if tail > limit else binomtest(lost, both, sent).pvalue) if both else 1.0


def corrected(pairs: Sequence[tuple[Counts, Counts, Spread]]) -> tuple[list[float], int]:
    """(p value of each pair, corrected for the whole table by Holm's method; number of tests)."""
    tested = [place for place, (a, b, _) in enumerate(pairs) if _testable(a, b)]
    values = {place: p_differ(*pairs[place][:2], len(tested), pairs[place][2]) for place in tested}
    found, last = [1.0] * len(pairs), 0.0
    for rank, place in enumerate(sorted(values, key=values.__getitem__)):
        found[place] = last = max(last, min(1.0, values[place] * (len(values) - rank)))
    return found, len(values)


def _testable(a: Counts, b: Counts) -> bool:
    return min(len(a), len(b)) >= LEAST_ROUNDS and any(lost for lost, _ in (*a, *b))


@cache
def rounds_needed(a: Counts, b: Counts, tests: int, spread: Spread = Spread()) -> int | None:
    """The number of rounds needed for a verdict if new rounds resemble the old; None if more than `MOST_ROUNDS`."""
    if not a or not b or share(a) == share(b):
        return None
    first = max(LEAST_ROUNDS, len(a), len(b))
    for rounds in range(first, MOST_ROUNDS + 1):
        more = (tuple(islice(cycle(a), rounds)), tuple(islice(cycle(b), rounds)))
        limit = ERRORS / max(1, tests)
        if p_differ(*more, tests, spread.repeated(len(a), rounds), limit) <= limit:
            return rounds
    return None


def share(counts: Counts) -> float:
    """The share of the requests sent that was lost."""
    sent = sum(one for _, one in counts)
    return sum(lost for lost, _ in counts) / sent if sent else 0.0


GROWS, STEADY, NOT_ENOUGH = "grows", "steady", "not enough data"
LEAST_STEPS = 4
"""Minimum steps between samples for a slope."""
NEGLIGIBLE = 16.0
"""Growth below this many bytes per request is negligible: Python allocates no less, so a leak per request is more."""
LEAST_DESCRIPTORS = 0.5
"""Growth below this many file descriptors per reload is negligible."""
WARM = 0.3
"""The share of the samples that is dropped at the start, when caches and heaps fill."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth per unit of work with its 95 % interval, and its verdict (`word`)."""

    word: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None


def slope(rounds: Sequence[Sequence[tuple[float, float]]], negligible: float = NEGLIGIBLE) -> Slope:
    """The growth over the samples (amount of work so far, figure) of each round.

    It is the mean of the steps between samples. A heap that has grown stays large, so samples depend on earlier ones,
    and the interval of a fitted line would be too narrow.
    """
    kept = [[*one][int(WARM * len(one)) :] for one in rounds]
    steps = [
        (after[1] - before[1]) / (after[0] - before[0])
        for one in kept
        for before, after in pairwise(one)
        if after[0] > before[0]
    ]
    if len(steps) < LEAST_STEPS:
        return Slope(NOT_ENOUGH)
    mean = sum(steps) / len(steps)
    error = (sum((step - mean) ** 2 for step in steps) / (len(steps) - 1) / len(steps)) ** 0.5
    reach = error * t_quantile(0.95, len(steps))
    low, high = mean - reach, mean + reach
    word = GROWS if low > 0 and mean >= negligible else STEADY if max(abs(low), abs(high)) < negligible else NOT_ENOUGH
    return Slope(word, mean, low, high)
