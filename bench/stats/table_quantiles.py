"""Comparison of latency percentiles of a table's services, which were loaded one after the other in each round.

Requests of one round are not independent, since a stall delays many of them, so the unit is the round. The reported
value is the percentile of all rounds merged. Intervals and verdicts use the logarithm of each round's own percentile,
compared like the speeds of a table (`table_fit`, `table_family`) with one window per round. The jackknife (merged
percentiles, leaving out one round at a time) is worse: with stalls in one round of three, it finds false differences in
up to 43 % of tables (p99, eight rounds), the rounds' own percentiles in at most 5 %
(tests/simulations/simulate_latency.py).

Intervals cover what happens in every round. A few rounds cannot cover stalls that are rarer than one per round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import fmean

from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import ERRORS, Interval, mean_interval
from bench.stats.table_fit import Observation, fit_table
from bench.stats.table_verdicts import FASTER, NO_WINNER, SLOWER, Difference, differences

LEAST_ROUNDS = 3
"""Minimum rounds for an interval."""
MARGIN, LEAST = math.log(1.1), math.log(1.05)
"""As in `table_verdicts`, but for latency."""

Values = Mapping[int, float]
"""One service's percentile in each round, in seconds."""


def merged_interval(merged: float, rounds: Iterable[float], confidence: float) -> Interval | None:
    """The interval of a merged percentile, in seconds, given that of each round.

    None for fewer than `LEAST_ROUNDS` rounds, or if they do not vary.
    """
    logs = [math.log(value) for value in rounds if value > 0]
    if len(logs) < LEAST_ROUNDS or merged <= 0 or (around := mean_interval(logs, confidence)) is None:
        return None
    mean = fmean(logs)
    return Interval(merged * math.exp(around.low - mean), merged * math.exp(around.high - mean), confidence)


def family_level(families: int) -> float:
    """The confidence of each of `families` percentiles, so that at most 5 % of tables have any false difference."""
    return 1 - ERRORS / max(1, families)


def differences_of(
    rounds: Mapping[str, Values], merged: Mapping[str, float], level: float
) -> dict[tuple[str, str], Difference]:
    """The verdict on every pair of services, in both directions, in terms of speed (1 / latency).

    There is none before the first look. A verdict is withheld if the merged percentiles do not agree.
    """
    known = {name: own for name, own in rounds.items() if len(own) >= LOOKS[0] and min(own.values()) > 0}
    if len(known) < 2:
        return {}
    values = [(turn, name, -math.log(value)) for name, own in known.items() for turn, value in own.items()]
    seen = [Observation(turn, turn, name, value) for turn, name, value in values]
    found = differences(fit_table(seen), level, margin=MARGIN, least=LEAST)
    return {pair: _shown(one, math.log(merged[one.j] / merged[one.i])) for pair, one in found.items()}


def _shown(difference: Difference, ahead: float) -> Difference:
    """The difference, without a verdict that merged percentiles contradict; by these, i is ahead of j by `ahead`."""
    called = difference.word in (FASTER, SLOWER)
    agree = ahead >= LEAST if difference.word == FASTER else ahead <= -LEAST
    return replace(difference, word=NO_WINNER, more_rounds=math.inf) if called and not agree else difference
