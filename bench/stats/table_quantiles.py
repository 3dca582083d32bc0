"""Percentiles of the latency of a table's services, which were loaded one after the other in each of several rounds.

Requests of one round are not independent, since a stall delays many of them: rounds are the unit. The value is that
of all rounds merged. What varies is the logarithm of each round's own percentile, and it is compared as the speeds of
a table are (`table_fit`, `table_family`), a window for each round. Resampling rounds, or leaving one out, does worse:
with stalls in one round of three, merged percentiles without one round at a time call equal services apart in up to
43 % of tables (p99, eight rounds), the rounds' own in at most 5 % (tests/simulations/simulate_latency.py).

An interval holds for what happens in every round. A stall that is rarer than rounds is in no interval of a few rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bench.stats.estimates import ERRORS, Interval, estimate
from bench.stats.table_fit import Observation, fit_table
from bench.stats.table_verdicts import FASTER, NOT_ENOUGH, SLOWER, Difference, differences

LEAST_ROUNDS = 3
"""A percentile of fewer rounds has neither an interval nor a verdict."""
MARGIN, LEAST = math.log(1.1), math.log(1.05)
"""Those of `table_verdicts` for latencies: what the self-test of latency allows an open-loop tool to be wrong by is the
least that is called."""

Values = Mapping[int, float]
"""Of a service: a percentile of each round, in seconds."""


def merged_interval(merged: float, rounds: Iterable[float], confidence: float) -> Interval | None:
    """From low to high, in seconds, of a merged percentile, given that of each round; None if they do not vary."""
    values = [math.log(value) for value in rounds if value > 0]
    found = estimate(values)
    if found is None or found.n < LEAST_ROUNDS or found.error is None or merged <= 0:
        return None
    around = found.interval(confidence)
    return Interval(merged * math.exp(around.low - found.mean), merged * math.exp(around.high - found.mean), confidence)


def family_level(families: int) -> float:
    """The confidence of each of so many percentiles, for at most 5 % of tables with any false difference."""
    return 1 - ERRORS / max(1, families)


def differences_of(
    rounds: Mapping[str, Values], merged: Mapping[str, float], level: float
) -> dict[tuple[str, str], Difference]:
    """The verdict on every two services, both ways, as of speeds: 1 / latency.

    A verdict is withheld where the merged percentiles do not show it too.
    """
    known = {name: own for name, own in rounds.items() if len(own) >= LEAST_ROUNDS and min(own.values()) > 0}
    if len(known) < 2:
        return {}
    seen = [
        Observation(turn, turn, name, -math.log(value)) for name, own in known.items() for turn, value in own.items()
    ]
    found = differences(fit_table(seen), level, margin=MARGIN, least=LEAST)
    return {pair: _shown(one, math.log(merged[one.j] / merged[one.i])) for pair, one in found.items()}


def _shown(one: Difference, ahead: float) -> Difference:
    """Without a verdict that the merged percentiles contradict; `ahead`: by how much they have i ahead of j."""
    called = one.word in (FASTER, SLOWER)
    agree = ahead >= LEAST if one.word == FASTER else ahead <= -LEAST
    return replace(one, word=NOT_ENOUGH, more_rounds=math.inf) if called and not agree else one
