"""Simultaneous intervals for all differences between a table's services, and the confidence levels of its looks.

A table of eight services has 28 differences, each with 3 degrees of freedom after four rounds. Intervals from these
alone (Sidak, max-t) are 13 standard errors wide. A single error for the whole table (Tukey) narrows them to 4, but then
a service three times as noisy as the rest makes false differences in 8 % of tables instead of 1.7 % (both simulated).
So every difference has its own variance, moderated by the table's, as Smyth (2004) does for genes:

    variance = (d * own + d0 * mean of the table) / (d + d0), with d + d0 degrees of freedom

Here d0 is half of Smyth's estimate (`TRUST`), up to a limit in terms of d (`MOST_PRIOR`). If variances differ by more
than chance, d0 is small, and each difference uses mostly its own. The quantile is that of the studentized range
(Tukey-Kramer) with d + d0 degrees of freedom.

The half and the limit were chosen so that no condition of tests/simulations/simulate_tables.py has false differences in
more than 5 % of tables over all looks. For a table of eight with looks after 4, 8 and 12 rounds, intervals are 5.1, 4.0
and 3.8 standard errors wide if all services are equally noisy, and wider otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.stats.estimates import ERRORS
from bench.stats.table_fit import Contrast, TableFit

TRUST = 0.5
"""The share of the estimated prior degrees of freedom that is used: an estimate from a few services is rough."""
MOST_PRIOR = 2.0
"""The limit of the prior degrees of freedom: d0 <= `MOST_PRIOR` * (1 - 2/k)**2 * d in a table of k services.

The fewer services a table has, the more a difference's own variance contributes to the mean; with two they are equal.
"""
GRID = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0, 60.0, 120.0, 1e5)
"""Degrees of freedom at which the quantile is computed; others are interpolated."""
COMPUTED = Path(__file__).with_name("studentized_range.tsv")
"""Number of services, number of looks, and the quantiles on `GRID`. scipy takes 0.1 s for each, and 1 s to load."""


def look_level(planned_looks: Sequence[int]) -> float:
    """The confidence of the simultaneous intervals at each planned look.

    `ERRORS` are split equally among the looks (Bonferroni), which is valid for any stopping rule. Looks must be planned
    before the first one.
    """
    return 1 - ERRORS / len(planned_looks)


def half_widths(fit: TableFit, level: float) -> Mapping[tuple[str, str], tuple[Contrast, float]]:
    """Every difference (i, j), in one direction: the contrast with its moderated error, and the half-width of its
    simultaneous interval.

    `level` is the simultaneous confidence, from 0 to 1, such as `look_level`. The half-width is infinite if
    the error is unknown. Pairs that no chain of windows connects are left out.
    """
    import numpy as np

    by_pair: dict[tuple[str, str], tuple[Contrast, float]] = {}
    for part in fit.components:
        if len(part) < 2:
            continue
        places = np.array([fit.services.index(name) for name in part])
        one, other = np.triu_indices(len(part), 1)
        i, j = places[one], places[other]
        errors, dfs = _moderated(fit.errors[i, j] ** 2, fit.dfs[i, j], fit.factors[i, j], len(part))
        halves = _quantiles(len(part), level, dfs) * errors
        for a, b, error, df, half in zip(i, j, errors, dfs, halves, strict=True):
            first, second = fit.services[a], fit.services[b]
            estimate = fit.effects[first] - fit.effects[second]
            known = math.isfinite(error)
            contrast = Contrast(estimate, float(error) if known else None, float(df) if known else 0.0)
            by_pair[first, second] = contrast, float(half) if known else math.inf
    return by_pair


def projected_rounds(half_width: float, wanted: float, rounds: int) -> float:
    """The total number of rounds that narrows the half-width to `wanted`: it falls with the square root of the rounds.

    `rounds` is the number of rounds that gave `half_width`. Infinite if the half-width is infinite or `wanted` is not
    positive.
    """
    if not math.isfinite(half_width) or wanted <= 0:
        return math.inf
    return max(float(rounds), rounds * (half_width / wanted) ** 2)


def _moderated(variances: Any, dfs: Any, factors: Any, count: int) -> tuple[Any, Any]:
    """Standard errors and degrees of freedom of the differences of `count` services; inf and 1 where unknown."""
    import numpy as np

    known = dfs > 0
    errors, total = np.full(len(dfs), np.inf), np.ones(len(dfs))
    if not known.any():
        return errors, total
    scaled, d = variances[known] / factors[known], dfs[known]
    most_prior = MOST_PRIOR * (1 - 2 / count) ** 2
    prior = np.minimum(TRUST * _prior_df(scaled, d), most_prior * d) if known.sum() > 1 else np.zeros(len(d))
    share = prior / (prior + d)
    mean = float(np.average(scaled, weights=d))
    # The table's mean is an estimate too, and includes this difference: in small tables, that costs degrees of freedom.
    most = d / ((1 - share) ** 2 + (1 - (1 - share) ** 2) / max(1, count - 1))
    errors[known] = np.sqrt(factors[known] * ((1 - share) * scaled + share * mean))
    total[known] = np.minimum(prior + d, most)
    return errors, total


def _prior_df(variances: Any, dfs: Any) -> float:
    """Prior degrees of freedom: Smyth, "Linear models and empirical Bayes methods", SAGMB 3 (2004), section 6.2."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import polygamma, psi

    logs = np.log(variances) - psi(dfs / 2) + np.log(dfs / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, dfs / 2).mean())
    if excess <= float(polygamma(1, 5e3)):
        return 1e4
    if excess >= float(polygamma(1, 5e-3)):
        return 0.01
    return 2 * float(brentq(lambda half: float(polygamma(1, half)) - excess, 5e-3, 5e3))


def _quantiles(count: int, level: float, dfs: Any) -> Any:
    """Quantiles of the studentized range over sqrt(2): the t quantile for 2 services, else interpolated on `GRID`."""
    import numpy as np

    if count == 2:
        from scipy.special import stdtrit

        return stdtrit(dfs, (1 + level) / 2)
    dfs = np.clip(dfs, GRID[0], GRID[-1])
    above = np.clip(np.searchsorted(GRID, dfs), 1, len(GRID) - 1)
    wanted = sorted({*above.tolist(), *(above - 1).tolist()}, reverse=True)
    logs = [math.log(_quantile(count, level, GRID[index])) for index in wanted]
    return np.exp(np.interp(1 / dfs, [1 / GRID[index] for index in wanted], logs))


def _quantile(count: int, level: float, df: float) -> float:
    row = _computed().get((count, level))
    return row[GRID.index(df)] if row else computed_quantile(count, level, df)


@cache
def _computed() -> Mapping[tuple[int, float], Sequence[float]]:
    """The quantiles of `COMPUTED` by number of services and confidence."""
    rows = (line.split("\t") for line in COMPUTED.read_text(encoding="utf-8").splitlines())
    return {(int(count), 1 - ERRORS / int(looks)): [*map(float, row)] for count, looks, *row in rows}


@cache
def computed_quantile(count: int, level: float, df: float) -> float:
    """The quantile of the studentized range over sqrt(2)."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(level, count, df)) / math.sqrt(2)
