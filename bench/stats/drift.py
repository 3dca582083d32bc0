"""Whether all services of a table change alike over the rounds of a run, as if their requests filled a database."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, linear_regression

from bench.stats.estimates import LEAST_SPREAD, t_quantile
from bench.stats.table_fit import Observation

CONFIDENCE = 0.99
LEAST = math.log(1.05)


def drift_of(seen: Sequence[Observation]) -> float | None:
    """How much the values change from the first to the last round, by a straight line; on the scale of d.

    None if no change is shown: it is less than 5 %, or the t interval of the slope includes 0.
    """
    services, rounds = defaultdict[str, list[float]](list), defaultdict[int, list[float]](list)
    for observation in seen:
        services[observation.service].append(observation.value)
    means = {service: fmean(values) for service, values in services.items()}
    for observation in seen:
        rounds[observation.round].append(observation.value - means[observation.service])
    if len(rounds) < 3:
        return None
    values = [fmean(own) for own in rounds.values()]
    slope, start = linear_regression([*rounds], values)
    left = [value - start - slope * number for number, value in zip(rounds, values, strict=True)]
    spread = math.sqrt(sum((number - fmean(rounds)) ** 2 for number in rounds))
    error = max(LEAST_SPREAD, math.sqrt(sum(value**2 for value in left) / (len(rounds) - 2)) / spread)
    change = slope * (max(rounds) - min(rounds))
    shown = abs(slope) > error * t_quantile(CONFIDENCE, len(rounds) - 2)
    return change if shown and abs(change) >= LEAST else None
