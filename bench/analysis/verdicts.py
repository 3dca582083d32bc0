"""Which of two services is faster: the verdicts on a table of pairs.

A pair has up to three interim looks (see `bench.stats.estimates`), a table holds many pairs, and a pair with a verdict
is not measured any further. How the error rates are controlled:

- A pair enters its table with the p value of its last look times the number of looks (Bonferroni). That is valid
  for any stopping rule, including one that depends on the other pairs.
- A pair that cannot be `faster` or `slower` (below 2 %, contradicting metrics, invalid, before the first look) enters
  with p = 1 and counts among the m pairs. So the pairs that Benjamini and Hochberg (1995) reject at 5 % are exactly
  those that the table calls faster or slower, and the expected share of wrong ones (including a wrong direction) is
  at most 5 %.
- The interval of a rejected pair has the confidence 1 - 5 % * R/m if R of m pairs are rejected, split over the looks:
  1 - 5 % * R/(3 m). It excludes 0, and the expected share of `faster` and `slower` intervals that miss the true value
  is at most 5 %, although they were selected by their result: Benjamini and Yekutieli, "False discovery rate-adjusted
  multiple confidence intervals for selected parameters", JASA 100 (2005). With R = m it is the plain interval of one
  look. A pair that is not rejected shows the interval that it would have had, with R + 1 in place of R: it contains 0,
  unless the pair was excluded for another reason than its interval.
- Rejected pairs stop at the same look, and their p stays fixed. More of them only raise R. So no pair loses the verdict
  for which its measurement was stopped: testing the whole table at each look, as `verdicts` does, keeps stopping
  and correction consistent. A pair tested alone would stop at p = 5 % / 3, and its table might reject that later.
  (The noise floor may still rise and turn the verdict into `not enough data`, which is then correct.)
- `no difference shown` uses the plain interval of the look: a pair that differs by delta or more gets it in at most
  2.5 % of cases over all looks, since only one end of the interval can fail.

The A/A pairs are not in the table. They set its `Thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.analysis.comparison import (
    LEAST_DIFFERENCE,
    SAME_CPU,
    Comparison,
    Metric,
    Thresholds,
    contradiction_of,
    rounds_words,
)
from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import (
    CONFIDENCE,
    ERRORS,
    Estimate,
    Interval,
    corrected,
    estimate,
    last_look,
    percent_of,
)

FASTER, SLOWER, NO_DIFFERENCE, NOT_ENOUGH, INVALID = (
    "faster",
    "slower",
    "no difference shown",
    "not enough data",
    "invalid",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on a pair, and what it is based on.

    `word` is one of the four, or `invalid: CAUSE`. `estimate` and `interval` cover the rounds up to the last interim
    look and are None before the first. `p` is corrected for the looks (1: not tested), `adjusted_p` for the table too.
    `reason` says what is missing if there is not enough data; `flags` are notes for the reader.
    """

    word: str
    metric: Metric
    rounds: int
    estimate: Estimate | None
    interval: Interval | None
    p: float
    adjusted_p: float
    reason: str
    flags: tuple[str, ...]

    @property
    def decided(self) -> bool:
        """Whether more rounds would change nothing: there is a verdict, or no interim look is left."""
        return self.word != NOT_ENOUGH or self.rounds >= LOOKS[-1]

    def words(self) -> str:
        """`faster 8.8 % (7.1 to 10.4 %, 16 rounds)`; signed if the verdict has no direction."""
        if self.word.startswith(INVALID):
            return self.word
        if self.estimate is None or self.interval is None:
            return f"{self.word} ({self.rounds} of {LOOKS[0]} rounds)"
        turn = -1 if self.word == SLOWER else 1
        sign = "+" if self.word in (NO_DIFFERENCE, NOT_ENOUGH) else ""
        low, high = sorted((turn * self.interval.low, turn * self.interval.high))
        mean, low, high = (percent_of(d) for d in (turn * self.estimate.mean, low, high))
        if not math.isfinite(low + high):
            return f"{self.word} ({rounds_words(self.estimate.n)})"
        interval = f"{low:{sign}z.1f} to {high:{sign}z.1f} %"
        return f"{self.word} {mean:{sign}z.1f} % ({interval}, {rounds_words(self.estimate.n)})"


def verdicts(table: Sequence[Comparison]) -> tuple[Verdict, ...]:
    """The verdict on every pair of one table, at the interim look that each has reached.

    Pairs that are not `decided` need more rounds.
    """
    if not table:
        return ()
    cases = [_case(pair, last_look(len(pair.values))) for pair in table]
    adjusted = _false_discovery_control([case.p for case in cases])
    rejected = sum(p <= ERRORS for p in adjusted)
    return tuple(_verdict(case, p, rejected, len(cases)) for case, p in zip(cases, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Winner:
    """The service that is faster than all others, or None; `rivals` are then the unbeaten services."""

    service: str | None
    rivals: tuple[str, ...] = ()


def winner(table: Sequence[Comparison], found: Sequence[Verdict]) -> Winner:
    """The single winner among the services of a table, at 5 % for the whole claim (Holm over all of its pairs).

    All pairs are in the family, so selecting the candidate by its figures does no harm. Beating is transitive: with
    95 % confidence all rejected pairs are correct at once. Services without a valid pair are not ranked.
    """
    from statsmodels.stats.multitest import multipletests  # scipy has no Holm; this one loads pandas

    ranked = [(pair, verdict) for pair, verdict in zip(table, found, strict=True) if pair.cause is None]
    services = dict.fromkeys(name for pair, _ in ranked for name in (pair.a, pair.b))
    if not ranked:
        return Winner(None)
    rejected = multipletests([verdict.p for verdict in found], alpha=ERRORS, method="holm")[0]
    beaten: dict[str, set[str]] = {name: set() for name in services}
    for pair, verdict, sure in zip(table, found, rejected, strict=True):
        if sure and verdict.estimate is not None:
            better, worse = (pair.b, pair.a) if verdict.estimate.mean > 0 else (pair.a, pair.b)
            beaten[better].add(worse)
    for name in services:
        todo = [*beaten[name]]
        while todo:
            fresh = beaten[todo.pop()] - beaten[name]
            beaten[name] |= fresh
            todo += fresh
    for name in services:
        if beaten[name] == services.keys() - {name}:
            return Winner(name)
    losers = set().union(*beaten.values())
    return Winner(None, tuple(name for name in services if name not in losers))


@dataclass(frozen=True, slots=True)
class _Case:
    """A pair at one interim look, before the correction for its table."""

    pair: Comparison
    estimate: Estimate | None
    contradiction: str
    flags: tuple[str, ...]

    @property
    def p(self) -> float:
        """The p value corrected for the looks, or 1 if the pair cannot be called different."""
        found = self.estimate
        if (
            found is None
            or self.pair.cause is not None
            or self.contradiction
            or abs(found.mean) < self.pair.limits.least
        ):
            return 1.0
        return corrected(found)


def _false_discovery_control(ps: Sequence[float]) -> list[float]:
    if min(ps) == 1:
        # Before the first look: this runs after each round, and scipy.stats takes most of a second to load.
        return [*ps]
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(ps, method="bh")]


def _case(pair: Comparison, look: int | None) -> _Case:
    if look is None:
        return _Case(pair, None, "", pair.flags)
    found = estimate(pair.values[:look])
    flags, contradiction = [*pair.flags], ""
    if found is not None and pair.shares:
        share = fmean(pair.shares[:look])
        if abs(share) < SAME_CPU:
            contradiction = contradiction_of(found, estimate(pair.goodput[:look]))
        else:
            flags.append(f"goodput was not used as a check: CPU times differ by {percent_of(share):+.1f} %")
    return _Case(pair, found, contradiction, tuple(flags))


def _verdict(case: _Case, adjusted: float, rejected: int, pairs: int) -> Verdict:
    found, pair = case.estimate, case.pair
    different = adjusted <= ERRORS
    interval, flags, reason = None, case.flags, ""
    if found is not None:
        share = (rejected if different else rejected + 1) / pairs
        interval = found.interval(1 - ERRORS * min(1.0, share) / len(LOOKS))
    if pair.cause is not None:
        word = f"{INVALID}: {pair.cause}"
    elif found is None or interval is None:
        word, reason = NOT_ENOUGH, f"{len(pair.values)} of the {LOOKS[0]} rounds that the first interim look needs"
    elif different:
        word = FASTER if found.mean > 0 else SLOWER
    elif case.contradiction:
        word, reason = NOT_ENOUGH, case.contradiction
    elif (plain := found.interval(CONFIDENCE)).within(pair.limits.delta):
        word, interval = NO_DIFFERENCE, plain
    else:
        word, reason = NOT_ENOUGH, _missing(found, interval, pair.limits)
    if found is not None and abs(found.hodges_lehmann - found.mean) > LEAST_DIFFERENCE:
        flags = (*flags, f"outlier rounds: the Hodges-Lehmann estimate is {percent_of(found.hodges_lehmann):+.1f} %")
    return Verdict(
        word=word,
        metric=pair.metric,
        rounds=len(pair.values),
        estimate=found,
        interval=interval,
        p=case.p,
        adjusted_p=adjusted,
        reason=reason,
        flags=flags,
    )


def _missing(found: Estimate, interval: Interval, limits: Thresholds) -> str:
    if found.error is None:
        return "all rounds are identical"
    if interval.sign == 0:
        return f"the interval contains 0 and is not within ±{percent_of(limits.delta):.1f} %"
    below = f"the estimate is below {percent_of(limits.least):.1f} %"
    return f"{below} and the interval is not within ±{percent_of(limits.delta):.1f} %"
