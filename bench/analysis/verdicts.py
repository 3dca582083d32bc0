"""Which of two is faster: the verdicts of a table of pairs.

A pair's rounds are looked at up to three times (see `report.estimates`), a table holds many pairs, and a pair
that has its verdict is not measured on. What keeps the errors of all this together:

- A pair enters its table with p of its last look times the number of looks. That is a p value for any rule of stopping,
  one that reads the other pairs too.
- Who cannot be `faster` or `slower` anyhow (below 2 %, contradicted, invalid, before the first look) enters with p = 1
  and is counted among the m pairs. So the pairs that Benjamini and Hochberg (1995) reject at 5 % are exactly those
  that the table calls faster or slower, and of these at most 5 % are wrong, in their direction too (expected share).
- A rejected pair's interval has the confidence 1 - 5 % * R/m, R of m pairs being rejected, shared out to the looks:
  1 - 5 % * R/(3 m). It excludes 0, and of the intervals shown with `faster` and `slower` at most 5 % miss the truth
  (expected share), though they were chosen by what they show: Benjamini and Yekutieli, "False discovery rate-adjusted
  multiple confidence intervals for selected parameters", JASA 100 (2005). With R = m it is the plain interval of one
  look. A pair not rejected shows the interval that it would have had, with R + 1 for R: it holds 0, unless
  something else than the interval refused the pair.
- Rejected pairs stop all at once, and their p stays what it was. More of them only raise R. So no pair loses the
  verdict for which its measuring was stopped: asking the whole table at each look, as `verdicts` does, is what makes
  stopping and correcting agree. A pair asked by itself would stop at p = 5 % / 3 and be refused by its table later.
  (The floor of the A/A pairs may still rise and take it away: that is `not enough data`, and the truth.)
- `no difference shown` rests on the plain interval of the look: a pair that differs by delta or more gets it
  in at most 2.5 % of cases over all looks, since only the near end of the interval can fail.

The A/A pairs are no part of the table. They set its `Limits`.
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
    final_look,
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
    """What may be said of a pair, with what it rests on.

    `word` is one of the four, or `invalid: CAUSE`. `estimate` and `interval` are those of the rounds that were
    looked at, None before the first look. `p` holds for all looks (1: no candidate), `adjusted_p` for the table too.
    `reason` says what is missing where the data is not enough; `flags` what a reader should know.
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
        """Whether more rounds are of no use: there is a verdict, or no look is left."""
        return self.word != NOT_ENOUGH or self.rounds >= LOOKS[-1]

    def words(self) -> str:
        """`faster 8.8 % (7.1 to 10.4 %, 16 rounds)`; with signs where the verdict has no direction."""
        if self.word.startswith(INVALID):
            return self.word
        if self.estimate is None or self.interval is None:
            return f"{self.word} ({rounds_words(self.rounds)} of {LOOKS[0]})"
        turn = -1 if self.word == SLOWER else 1
        sign = "+" if self.word in (NO_DIFFERENCE, NOT_ENOUGH) else ""
        low, high = sorted((turn * self.interval.low, turn * self.interval.high))
        mean, low, high = (percent_of(d) for d in (turn * self.estimate.mean, low, high))
        if not math.isfinite(low + high):
            return f"{self.word} ({rounds_words(self.estimate.n)})"
        interval = f"{low:{sign}z.1f} to {high:{sign}z.1f} %"
        return f"{self.word} {mean:{sign}z.1f} % ({interval}, {rounds_words(self.estimate.n)})"


def verdicts(table: Sequence[Comparison], *, ended: bool = False) -> tuple[Verdict, ...]:
    """The verdict of every pair of one table, at the looks that they have reached.

    Pairs that are not `settled` are to be measured on. `ended` says that there will be no more rounds: pairs that are
    still open are then looked at with all that they have.
    """
    looks = [last_look(len(pair.values)) for pair in table]
    found = _verdicts(table, looks)
    if ended:
        looks = [
            look if verdict.decided else final_look(len(pair.values))
            for pair, look, verdict in zip(table, looks, found, strict=True)
        ]
        found = _verdicts(table, looks)
    return found


@dataclass(frozen=True, slots=True)
class Winner:
    """The service that is faster than all others, or None; `rivals` are those that it was not shown to beat."""

    service: str | None
    rivals: tuple[str, ...] = ()


def winner(table: Sequence[Comparison], found: Sequence[Verdict]) -> Winner:
    """The single winner among the services of a table, at 5 % for the whole claim (Holm over all of its pairs).

    All pairs are in the family, so it does not matter that the figures chose the candidate. Who beats a service
    beats those that it beats: with 95 % all rejected pairs are right at once. Services without a valid pair are
    not ranked. Without a winner, `rivals` are the services that nobody beats.
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
    """A pair at one look, before its table is asked."""

    pair: Comparison
    estimate: Estimate | None
    contradiction: str
    flags: tuple[str, ...]

    @property
    def p(self) -> float:
        """The p value over the looks, or 1 where the pair cannot be called different."""
        found = self.estimate
        if (
            found is None
            or self.pair.cause is not None
            or self.contradiction
            or abs(found.mean) < self.pair.limits.least
        ):
            return 1.0
        return corrected(found)


def _verdicts(table: Sequence[Comparison], looks: Sequence[int | None]) -> tuple[Verdict, ...]:
    if not table:
        return ()
    cases = [_case(pair, look) for pair, look in zip(table, looks, strict=True)]
    adjusted = _false_discovery_control([case.p for case in cases])
    rejected = sum(p <= ERRORS for p in adjusted)
    return tuple(_verdict(case, p, rejected, len(cases)) for case, p in zip(cases, adjusted, strict=True))


def _false_discovery_control(ps: Sequence[float]) -> list[float]:
    if min(ps) == 1:
        # Before the first look: asked after each round, and scipy.stats takes most of a second to load.
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
            flags.append(f"goodput does not judge: B's CPU time to A's is {percent_of(share):+.1f} %")
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
        word, reason = NOT_ENOUGH, f"{rounds_words(len(pair.values))}, the first look is at {LOOKS[0]}"
    elif different:
        word = FASTER if found.mean > 0 else SLOWER
    elif case.contradiction:
        word, reason = NOT_ENOUGH, case.contradiction
    elif (plain := found.interval(CONFIDENCE)).within(pair.limits.delta):
        word, interval = NO_DIFFERENCE, plain
    else:
        word, reason = NOT_ENOUGH, _missing(found, interval, pair.limits)
    if found is not None and abs(found.hodges_lehmann - found.mean) > LEAST_DIFFERENCE:
        flags = (*flags, f"a few rounds stand far out: Hodges-Lehmann says {percent_of(found.hodges_lehmann):+.1f} %")
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
        return "the rounds are copies of each other"
    if interval.sign == 0:
        return f"the interval holds 0 and does not lie within {percent_of(limits.delta):.1f} %"
    below = f"the estimate is below {percent_of(limits.least):.1f} %"
    return f"{below}, the interval not within {percent_of(limits.delta):.1f} %"
