"""Whether all services of a table change alike over the rounds of a run, as if their requests filled a database."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, linear_regression

from bench.core.groups import grouped
from bench.stats.estimates import LEAST_SPREAD, t_quantile
from bench.stats.table_fit import Observation

CONFIDENCE = 0.99
LEAST = math.log(1.05)


def drift_of(seen: Sequence[Observation]) -> float | None:
    """How much the values change from the first to the last round, by a straight line; on the scale of d.

    None if no change is shown: it is less than 5 %, or the t interval of the slope includes 0.
    """
    services, rounds = grouped(seen, lambda one: one.service), grouped(seen, lambda one: one.round)
    means = {service: fmean(one.value for one in of_service) for service, of_service in services.items()}
    if len(rounds) < 3:
        return None
    values = [fmean(one.value - means[one.service] for one in of_round) for of_round in rounds.values()]
    slope, start = linear_regression([*rounds], values)
    left = [value - start - slope * number for number, value in zip(rounds, values, strict=True)]
    spread = math.sqrt(sum((number - fmean(rounds)) ** 2 for number in rounds))
    error = max(LEAST_SPREAD, math.sqrt(sum(value**2 for value in left) / (len(rounds) - 2)) / spread)
    change = slope * (max(rounds) - min(rounds))
    shown = abs(slope) > error * t_quantile(CONFIDENCE, len(rounds) - 2)
    return change if shown and abs(change) >= LEAST else None
