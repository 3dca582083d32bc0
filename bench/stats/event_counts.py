"""Tests whether two services lose different shares of their requests, from counts of a few events each.

Losses come in bursts: a worker that ends takes along all that it was serving. So a service's losses, and what it was
sent, are counted in bursts instead of requests, and the two counts are compared by the binomial test of one given the
sum of both. How large a service's bursts are is taken from its own rounds only:

- from how much they differ (Pearson's statistic divided by its degrees of freedom);
- at least a third of its worst round, less with many rounds: a few that look alike do not show regular losses;
- the service that loses less may have bursts of `UNSEEN` requests that no round has shown, since rounds without one
  look calm. Two releases or settings of one server (`alike`) are presumed to have bursts of the same size instead.

So the test is valid for bursts of up to `UNSEEN` requests, however rare; not for a service that loses far more at once
in rare rounds. Holm's correction keeps the probability of any false difference in a table below `ERRORS`. Pairs of
services that both lost nothing cannot differ, so they do not count as tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.stats.estimates import ERRORS, t_quantile

LEAST_ROUNDS = 3
"""Minimum rounds of each service for a verdict."""
MOST_ROUNDS = 40
"""The highest number of rounds that is suggested to reach a verdict."""
UNSEEN, UNSEEN_SHARE = 40, 0.04
"""The largest burst that may have stayed unseen: this many requests, and this share of those of one event."""
OF_WORST = 1 / 3
"""The smallest burst, as a share of the losses in a service's worst round; from six rounds on, two by their number."""

Counts = tuple[tuple[float, float], ...]
"""(lost, sent) of each round."""


def p_differ(a: Counts, b: Counts, *, alike: bool = False) -> float:
    """The p value of "both lose the same share on average"; 1 with too few rounds.

    `alike`: both have bursts of the same size, such as two releases of one server.
    """
    if min(len(a), len(b)) < LEAST_ROUNDS or not all(sent for _, sent in (*a, *b)) or share(a) == share(b):
        return 1.0
    return float(_p_after(a, b, 1.0, alike=alike))


def _p_after(a: Counts, b: Counts, times: Any, *, alike: bool) -> Any:
    """The p value of unequal shares after so many times the rounds, if further ones are like these."""
    from scipy.special import betainc

    more, less = (a, b) if share(a) > share(b) else (b, a)
    size, fewer = _burst(more), _burst(less)
    (lost, sent), (lost_less, sent_less) = _sums(more), _sums(less)
    if alike:
        size = fewer = max(size, fewer)
    else:
        fewer = max(fewer, min(UNSEEN, UNSEEN_SHARE * sent_less / len(less)))
    exposed = sent / size / (sent / size + sent_less / fewer)
    # The binomial tail, for numbers of bursts that are not whole.
    return 2 * betainc(times * lost / size, times * lost_less / fewer + 1, exposed)


def _burst(counts: Counts) -> float:
    """How many requests a burst of losses takes, from one service's rounds; at least 1, as if each was lost alone."""
    part = share(counts) or 1.0
    differ = sum((lost - sent * part) ** 2 / (sent * part) for lost, sent in counts) / max(1, len(counts) - 1)
    worst = max(lost for lost, _ in counts)
    # Shares near 1 cannot vary much: a service that is gone after each event loses all the rest each time.
    return max(1.0, differ, worst * (1 - part) * min(OF_WORST, 2 / len(counts))) if worst else 1.0


def _sums(counts: Counts) -> tuple[float, float]:
    """(lost, sent) of all rounds."""
    return sum(lost for lost, _ in counts), sum(sent for _, sent in counts)


def corrected(pairs: Sequence[tuple[Counts, Counts, bool]]) -> tuple[list[float], int]:
    """(p value of each pair (a, b, alike), corrected for the whole table by Holm's method; number of tests)."""
    values = {place: p_differ(a, b, alike=alike) for place, (a, b, alike) in enumerate(pairs) if _testable(a, b)}
    adjusted, last = [1.0] * len(pairs), 0.0
    for rank, place in enumerate(sorted(values, key=values.__getitem__)):
        adjusted[place] = last = max(last, min(1.0, values[place] * (len(values) - rank)))
    return adjusted, len(values)


def _testable(a: Counts, b: Counts) -> bool:
    return min(len(a), len(b)) >= LEAST_ROUNDS and any(lost for lost, _ in (*a, *b))


def rounds_needed(a: Counts, b: Counts, tests: int, *, alike: bool = False) -> int | None:
    """The number of rounds needed for a verdict if new rounds resemble the old; None if more than `MOST_ROUNDS`."""
    if not a or not b or share(a) == share(b):
        return None
    import numpy as np

    so_far = max(len(a), len(b))
    rounds = np.arange(max(LEAST_ROUNDS, so_far), MOST_ROUNDS + 1)
    enough = rounds[_p_after(a, b, rounds / so_far, alike=alike) <= ERRORS / max(1, tests)]
    return int(enough[0]) if len(enough) else None


def unseen_one_in(rounds: int) -> int:
    """What happens in one of this many events is missed by every second run of `rounds` rounds."""
    return round(1 / (1 - math.pow(0.5, 1 / rounds)))


def share(counts: Counts) -> float:
    """The share of the requests sent that was lost."""
    lost, sent = _sums(counts)
    return lost / sent if sent else 0.0


GROWS, STEADY, NOT_ENOUGH, TOO_SHORT = "grows", "steady", "not enough data", "too short to tell"
LEAST_S, LEAST_WORK = 120, 25_000
"""The seconds of load, and the requests from sample to sample, from which growth is no heap that still fills."""
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


def slope(
    rounds: Sequence[Sequence[tuple[float, float]]], negligible: float = NEGLIGIBLE, seconds: float | None = None
) -> Slope:
    """The growth over the samples (amount of work so far, figure) of each round.

    `seconds`: how long the shortest round's load took; None if the figure is none that fills at first.
    It is the mean of the steps between samples. A heap that has grown stays large, so samples depend on earlier ones,
    and the interval of a fitted line would be too narrow.
    """
    kept = [[*one][int(WARM * len(one)) :] for one in rounds]
    taken = [(after[0] - before[0], after[1] - before[1]) for one in kept for before, after in pairwise(one)]
    steps = [more / work for work, more in taken if work > 0]
    if len(steps) < LEAST_STEPS:
        return Slope(NOT_ENOUGH)
    mean = sum(steps) / len(steps)
    error = (sum((step - mean) ** 2 for step in steps) / (len(steps) - 1) / len(steps)) ** 0.5
    reach = error * t_quantile(0.95, len(steps) - 1)
    low, high = mean - reach, mean + reach
    word = GROWS if low > 0 and mean >= negligible else STEADY if max(abs(low), abs(high)) < negligible else NOT_ENOUGH
    if word == GROWS and seconds is not None and (seconds < LEAST_S or min(taken)[0] < LEAST_WORK):
        word = TOO_SHORT
    return Slope(word, mean, low, high)
