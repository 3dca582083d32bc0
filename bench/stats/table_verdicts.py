"""Verdicts from a fitted table: a word for every difference, ranks and tiers, and the number of rounds still needed.

- `faster` / `slower`: the simultaneous interval of the difference excludes 0, and the estimate is at least `least`. At
  most 5 % of tables have a false one, over all looks together (see `table_family`).
- `equal`: the difference's own interval at the look's level lies within +-`margin`. If two services
  differ by the margin or more, the probability of this verdict is at most 2.5 % over all looks.
- `no winner`: everything else.

Values are logarithms of speeds: larger is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.stats.estimates import Interval
from bench.stats.table_family import half_widths, projected_rounds
from bench.stats.table_fit import TableFit

MARGIN = math.log(1.03)
"""If a difference's own interval is within +-this, it counts as no difference."""
LEAST = math.log(1.02)
"""The smallest estimate that counts as a difference."""
FASTER, SLOWER, EQUAL, NO_WINNER = "faster", "slower", "equal", "no winner"
TURNED = {FASTER: SLOWER, SLOWER: FASTER, EQUAL: EQUAL, NO_WINNER: NO_WINNER}
"""The verdict seen from the other service."""
POWER = 0.9
MOST_NEEDED = 10_000
"""No run has more rounds, and a larger number is mostly rounding error: the estimate is too close to the threshold."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One service relative to another on the logarithmic scale: i - j.

    - `interval`: the one behind `word`: the difference's own for `equal`, else the simultaneous one.
    - `half_width`: always that of the simultaneous interval.
    - `more_rounds`: how many more rounds would decide it if estimate and spread stay the same (0 if decided, inf if
      unknown or more than MOST_NEEDED).
    - `detectable`: the smallest difference that these rounds detect with a power of 0.9.
    """

    i: str
    j: str
    word: str
    estimate: float
    interval: Interval
    half_width: float
    more_rounds: float
    detectable: float

    @property
    def turned(self) -> Difference:
        """The same difference in the other direction: j relative to i."""
        interval = Interval(0.0 - self.interval.high, 0.0 - self.interval.low, self.interval.confidence)
        estimate = 0.0 - self.estimate
        return replace(self, i=self.j, j=self.i, word=TURNED[self.word], estimate=estimate, interval=interval)


@dataclass(frozen=True, slots=True)
class RankedService:
    """A row of the ranking; `rank` and `tier` count from 1 (the fastest).

    No service of a tier is shown to be slower than its first. A service that no chain of windows connects with the
    largest component has neither; nor has one that no error is known for (`thin`), as it has figures in one round only.
    """

    rank: int | None
    service: str
    tier: int | None
    thin: bool = False


def differences(
    fit: TableFit, level: float, margin: float = MARGIN, least: float = LEAST
) -> Mapping[tuple[str, str], Difference]:
    """The verdict on every difference i - j, both (i, j) and (j, i), at a look with confidence `level`.

    `margin` and `least` are logarithms.
    """
    from scipy.special import nctdtrinc

    rounds, by_pair = len(fit.rounds), dict[tuple[str, str], Difference]()
    for (i, j), (family, half) in half_widths(fit, level).items():
        own, size = fit.contrast(i, j), abs(family.estimate)
        interval, word = _around(family.estimate, half, level), NO_WINNER
        plain = own.interval(level) if own else _around(family.estimate, half, level)
        if interval.sign and size >= least:
            word = FASTER if interval.sign > 0 else SLOWER
        elif plain.within(margin):
            interval, word = plain, EQUAL
        more, detectable = 0.0, math.inf
        if family.error is not None:
            # Noncentral t, because in another run the standard error would vary too.
            wanted = max(half, least)
            detectable = family.error * float(nctdtrinc(family.df, 1 - POWER, wanted / family.error))
        if word == NO_WINNER:
            called = projected_rounds(half, size, rounds) if size >= least else math.inf
            same = projected_rounds((plain.high - plain.low) / 2, margin - size, rounds)
            needed = min(called, same)
            more = max(1.0, math.ceil(needed) - rounds) if needed <= MOST_NEEDED else math.inf
        difference = Difference(i, j, word, family.estimate, interval, half, more, detectable)
        by_pair[i, j], by_pair[j, i] = difference, difference.turned
    return by_pair


def _around(estimate: float, half: float, level: float) -> Interval:
    return Interval(estimate - half, estimate + half, level)


def settled(differences: Mapping[tuple[str, str], Difference], fit: TableFit) -> bool:
    """Whether more rounds would change nothing: all services are connected and all differences decided."""
    return len(fit.components) == 1 and all(one.word != NO_WINNER for one in differences.values())


def rank(
    fit: TableFit, differences: Mapping[tuple[str, str], Difference], order: Sequence[str] = ()
) -> tuple[RankedService, ...]:
    """The services from the fastest to the slowest, with tiers.

    `differences` are those at a look. A new tier starts at each service that is `slower` than the first of the
    current tier. `order`: of all services, if it is not that of the fit's effects.
    """
    if not fit.components:
        return ()
    linked = fit.components[0]
    known = [one for one in linked if any(math.isfinite(differences[one, i].half_width) for i in linked if i != one)]
    # In the first round no error is known for any of them: their order is shown all the same.
    ordered = sorted(known or linked, key=lambda name: (-fit.effects[name], name))
    ordered = [name for name in order if name in ordered] or ordered
    rows, tier, head = [], 1, ordered[0]
    for number, name in enumerate(ordered, 1):
        if name != head and differences[name, head].word == SLOWER:
            tier, head = tier + 1, name
        rows.append(RankedService(number, name, tier))
    others = (name for part in fit.components for name in part if name not in ordered)
    return (*rows, *(RankedService(None, name, None, thin=name in linked) for name in others))


def ratio(logarithm: float) -> float:
    """A difference on the logarithmic scale as a ratio - 1."""
    return math.expm1(logarithm) if logarithm < 700 else math.inf
