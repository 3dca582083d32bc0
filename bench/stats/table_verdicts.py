"""What a fitted table says: a word for every difference, ranks and tiers, and what more rounds would show.

- `faster` / `slower`: the simultaneous interval of the difference excludes 0, and the estimate is at least `least`. At
  most 5 % of tables have a false one, over all looks together (see `table_family`).
- `no difference shown`: the difference's own interval at the look's level lies inside +-margin. Two
  services that differ by the margin or more get it in at most 2.5 % of cases over all looks.
- `not enough data`: everything else.

A difference may also have a systematic error, which no number of rounds makes smaller: its intervals are wider by that
on both sides. `no difference shown` is asked of the interval without it, as else it could never be said.

Values are speeds as logarithms: larger is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bench.stats.estimates import Interval
from bench.stats.table_family import half_widths, projected_rounds
from bench.stats.table_fit import TableFit

MARGIN = math.log(1.03)
"""An own interval within this counts as no difference."""
LEAST = math.log(1.02)
"""The smallest estimate that is called a difference."""
FASTER, SLOWER, NO_DIFFERENCE, NOT_ENOUGH = "faster", "slower", "no difference shown", "not enough data"
TURNED = {FASTER: SLOWER, SLOWER: FASTER, NO_DIFFERENCE: NO_DIFFERENCE, NOT_ENOUGH: NOT_ENOUGH}
"""What the other one of two is."""
POWER = 0.9


@dataclass(frozen=True, slots=True)
class Difference:
    """One service relative to another on the logarithmic scale: i - j.

    `interval` is that which the word rests on: the own one for `no difference shown`, else the simultaneous one.
    `half_width` is that of the simultaneous one, always, without `systematic`, the largest systematic error.
    `more_rounds` is how many more rounds would decide it if the estimate and the spread stay (0 if decided, inf if
    unknown or if none would). `detectable` is the smallest difference that these rounds would have called with a
    probability of 0.9.
    """

    i: str
    j: str
    word: str
    estimate: float
    interval: Interval
    half_width: float
    more_rounds: float
    detectable: float
    systematic: float = 0.0

    @property
    def decided(self) -> bool:
        """Whether it has a verdict, or is shown to be smaller than its systematic error: no rounds would give one."""
        return self.word != NOT_ENOUGH or abs(self.estimate) + self.half_width <= self.systematic

    @property
    def turned(self) -> Difference:
        """The same, of j relative to i."""
        interval = Interval(0.0 - self.interval.high, 0.0 - self.interval.low, self.interval.confidence)
        estimate = 0.0 - self.estimate
        return replace(self, i=self.j, j=self.i, word=TURNED[self.word], estimate=estimate, interval=interval)


@dataclass(frozen=True, slots=True)
class RankedService:
    """A row of the ranking. All figures are ratios - 1: -0.05 is 5 % less than what it is compared with.

    `rank` counts from 1 (the fastest), `tier` too; services of a tier are tied with its best.
    `difference` with `low` and `high` is against the best of the ranking (simultaneous interval; 0, 0, 0 for itself).
    A service that no chain of windows connects with the largest component has rank and tier None, and nan.
    """

    rank: int | None
    service: str
    tier: int | None
    difference: float
    low: float
    high: float


def _no_error(i: str, j: str) -> float:
    return 0.0


def differences(
    fit: TableFit,
    level: float,
    margin: float = MARGIN,
    least: float = LEAST,
    systematic: Callable[[str, str], float] = _no_error,
) -> Mapping[tuple[str, str], Difference]:
    """The verdict on every difference i - j, both (i, j) and (j, i), at a look of this `level`.

    `margin` and `least` are logarithms, as is the largest systematic error of two services.
    """
    from scipy.special import nctdtrinc

    rounds, found = len(fit.rounds), dict[tuple[str, str], Difference]()
    for (i, j), (family, half) in half_widths(fit, level).items():
        own, off, size = fit.contrast(i, j), systematic(i, j), abs(family.estimate)
        interval, word = _around(family.estimate, half + off, level), NOT_ENOUGH
        plain = own.interval(level) if own else _around(family.estimate, half, level)
        if interval.sign and size >= least:
            word = FASTER if interval.sign > 0 else SLOWER
        elif plain.within(margin):
            interval, word = Interval(plain.low - off, plain.high + off, level), NO_DIFFERENCE
        more, detectable = 0.0, math.inf
        if family.error is not None:
            # Noncentral t: the error will not be exactly as large again.
            wanted = max(half, least - off)
            detectable = off + family.error * float(nctdtrinc(family.df, 1 - POWER, wanted / family.error))
        if word == NOT_ENOUGH:
            called = projected_rounds(half, size - off, rounds) if size >= least else math.inf
            same = projected_rounds((plain.high - plain.low) / 2, margin - size, rounds)
            needed = min(called, same)
            more = max(1.0, (math.ceil(needed) if math.isfinite(needed) else needed) - rounds)
        one = Difference(i, j, word, family.estimate, interval, half, more, detectable, off)
        found[i, j], found[j, i] = one, one.turned
    return found


def _around(estimate: float, half: float, level: float) -> Interval:
    return Interval(estimate - half, estimate + half, level)


def settled(found: Mapping[tuple[str, str], Difference], fit: TableFit) -> bool:
    """Whether more rounds would change nothing: all services are connected, and every difference is decided."""
    return fit.complete and all(one.decided for one in found.values())


def rank(fit: TableFit, found: Mapping[tuple[str, str], Difference]) -> tuple[RankedService, ...]:
    """The services from the fastest to the slowest, with differences from the best, and tiers.

    `found` are the differences at a look.
    A tier is the longest run of consecutive services without a `slower` against the first of the run.
    """
    if not fit.components:
        return ()
    ordered = sorted(fit.components[0], key=lambda name: (-fit.effects[name], name))
    rows, tier, head = [], 1, ordered[0]
    for number, name in enumerate(ordered, 1):
        if name != head and found[name, head].word == SLOWER:
            tier, head = tier + 1, name
        difference = low = high = 0.0
        if number > 1:
            against = found[name, ordered[0]]
            difference, low, high = map(_ratio, (against.estimate, against.interval.low, against.interval.high))
        rows.append(RankedService(number, name, tier, difference, low, high))
    lost = [name for part in fit.components[1:] for name in part]
    return (*rows, *(RankedService(None, name, None, *[math.nan] * 3) for name in lost))


def _ratio(logarithm: float) -> float:
    return math.expm1(logarithm) if logarithm < 700 else math.inf
