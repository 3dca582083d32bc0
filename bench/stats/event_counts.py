"""Whether two services lose different shares of their requests, from counts of a few events each.

The losses of one event come together: a worker that ends takes along what it was serving. A round's event is
therefore the unit, not the request. With rounds enough, a difference needs both of two exact tests:

- the rank sum of the rounds' shares, over all ways to divide the rounds between the two: right however the losses of a
  round cluster;
- one total given both (binomial): right where one of the two sent more requests, so that it more often loses any.

Both must say the same of which one loses more. With fewer rounds, which could not call anything by their ranks, how
much rounds differ is taken from all services under the same event: the quasi-likelihood F test of the totals (McCullagh
and Nelder, Generalized Linear Models, 4.5 and 9.2; for few repetitions and many rows Lund et al., Stat. Appl. Genet.
Mol. Biol. 11(5), 2012). It is right where the losses of no service vary far more from round to round than those of the
others.

Holm's correction keeps the probability of any false difference in a table below `ERRORS`. Two services that both
lost nothing cannot be called different, and are none of the tests that it is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice, pairwise
from math import comb, log

from bench.stats.estimates import ERRORS, t_quantile

LEAST_ROUNDS = 2
"""Fewer rounds of either side give no verdict, whatever they show."""
LEAST_OF_SPREAD = 3
"""As many for the F test: of two services that lose much in every second event, and else nothing, two rounds of each
show the one to lose each time and the other one never once in eight runs, three rounds once in 32.
"""
MOST_ROUNDS = 40
"""A verdict that would need more rounds than this is not promised."""

Counts = tuple[tuple[float, float], ...]
"""(lost, sent) of each round."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How much the rounds of each service under one event differ: Pearson's statistic, its degrees of freedom, and of
    how many services that is.
    """

    x2: float = 0.0
    freedom: int = 0
    services: int = 0

    def repeated(self, before: int, rounds: int) -> Spread:
        """As it would be if so many rounds were like those `before`."""
        return Spread(self.x2 * rounds / before, self.services * (rounds - 1), self.services)


def spread_of(services: Iterable[Counts]) -> Spread:
    """The spread of those that lost anything."""
    x2, freedom, known = 0.0, 0, 0
    for counts in services:
        if part := share(counts):
            known += 1
            freedom += len(counts) - 1
            if part < 1:
                x2 += sum((lost - sent * part) ** 2 / (sent * part * (1 - part)) for lost, sent in counts if sent)
    return Spread(x2, freedom, known)


def p_differ(a: Counts, b: Counts, tests: int = 1, spread: Spread = Spread()) -> float:
    """The p value of "both lose the same share"; 1 with too few rounds.

    `tests`: how many of them the table has, and so how much its rounds must be able to show by their ranks alone.
    """
    if min(len(a), len(b)) < LEAST_ROUNDS or not all(sent for _, sent in (*a, *b)):
        return 1.0
    one, other = (tuple(lost / sent for lost, sent in side) for side in (a, b))
    # A single round of many losses has the larger total, and may have the smaller ranks.
    if (_more_often(one, other) > 0) != (share(a) > share(b)):
        return 1.0
    if 2 / comb(len(a) + len(b), len(a)) * tests > ERRORS:
        return _spread_p(a, b, spread)
    return max(rank_sum_p(one, other), _totals_p(a, b))


def _spread_p(a: Counts, b: Counts, spread: Spread) -> float:
    """The p value of the quasi-likelihood F test of both totals."""
    from scipy.stats import f

    if min(len(a), len(b)) < LEAST_OF_SPREAD or not spread.freedom:
        return 1.0
    both = _deviance((*a, *b)) - _deviance(a) - _deviance(b)
    # Rounds differ by chance at least as much as independent losses do.
    return float(f.sf(both / max(1.0, spread.x2 / spread.freedom), 1, spread.freedom))


def _deviance(counts: Counts) -> float:
    """Twice the negative log likelihood of a total, at its own share."""
    lost, sent = (sum(parts) for parts in zip(*counts, strict=True))
    return -2.0 * float(sum(part * log(part / sent) for part in (lost, sent - lost) if part > 0))


def _more_often(one: Sequence[float], other: Sequence[float]) -> int:
    """Pairs of rounds in which the first loses more, less those in which the other one does."""
    return sum((x > y) - (x < y) for x in one for y in other)


@cache
def rank_sum_p(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The exact two-sided p value of the rank sum; with ties, mean ranks. scipy's exact test knows no ties."""
    import numpy as np
    from scipy.stats import rankdata

    # Mean ranks may end in a half.
    ranks = (2 * rankdata([*a, *b])).astype(int)
    ways = np.zeros((len(a) + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    middle = len(a) * ranks.sum() / len(ranks)
    reach = abs(np.arange(ways.shape[1]) - middle)
    found = abs(ranks[: len(a)].sum() - middle)
    return float(ways[-1, reach >= found - 1e-9].sum() / ways[-1].sum())


@cache
def _totals_p(a: Counts, b: Counts) -> float:
    """The exact p value of the first total, given that of both: binomial where both lose the same share."""
    from scipy.stats import binomtest

    lost, both = round(sum(one for one, _ in a)), round(sum(one for one, _ in (*a, *b)))
    sent = sum(one for _, one in a) / sum(one for _, one in (*a, *b))
    return float(binomtest(lost, both, sent).pvalue) if both else 1.0


def corrected(pairs: Sequence[tuple[Counts, Counts, Spread]]) -> tuple[list[float], int]:
    """(the p value of each pair, corrected for the whole table by Holm's method; how many tests that is)."""
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
    """How many rounds would call it, if those to come are like those that were; None: not even `MOST_ROUNDS` would."""
    if not a or not b or share(a) == share(b):
        return None
    first = max(LEAST_ROUNDS, len(a), len(b))
    for rounds in range(first, MOST_ROUNDS + 1):
        more = (tuple(islice(cycle(a), rounds)), tuple(islice(cycle(b), rounds)))
        if p_differ(*more, tests, spread.repeated(len(a), rounds)) * max(1, tests) <= ERRORS:
            return rounds
    return None


def share(counts: Counts) -> float:
    """What was lost of all that was sent."""
    sent = sum(one for _, one in counts)
    return sum(lost for lost, _ in counts) / sent if sent else 0.0


GROWS, STEADY, NOT_ENOUGH = "grows", "steady", "not enough data"
LEAST_STEPS = 4
"""Fewer steps between samples have no slope."""
NEGLIGIBLE = 16.0
"""Bytes per request: Python allocates no less, so that whatever a request leaves behind each time is more."""
LEAST_DESCRIPTORS = 0.5
"""File descriptors per reload."""
WARM = 0.3
"""The share of the samples that belongs to the start, when caches and heaps fill."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth per unit with its 95 % interval, and the word for it."""

    word: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None


def slope(rounds: Sequence[Sequence[tuple[float, float]]], negligible: float = NEGLIGIBLE) -> Slope:
    """The growth of samples (amount of work so far, figure) of each round.

    It is the mean of the steps between samples: heaps grow in steps that stay, so that samples are not independent of
    those before, and the interval of a fitted line would be too narrow.
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
