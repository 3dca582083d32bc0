"""Many runs of the same cells: the trend of each figure over the runs, and where its level changed.

`bench.stats.change_points` searches each trend that is long enough; Benjamini and Hochberg's procedure at 5 % over all
trends decides which of them have a change. Each change is then compared with the null server: if that changed as much
between the same runs (pooled t interval over the runs), the host may be the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from bench.analysis.runs.differences import CellFigure, FigureKey, FigureLine, Sample, Samples, corrected, figure_of
from bench.core.formats import plural
from bench.stats.change_points import LEAST_RUNS, ChangePoints, search, within
from bench.stats.estimates import ERRORS, percent_of
from bench.stats.table_verdicts import MARGIN

LEAST_SHOWN = 5
"""Runs that a trend needs; fewer are each compared with the first."""
CHANGED, MAYBE_HOST, SMALL = "changed", "may be the host", "too small"
NO_CHANGE, TOO_FEW = "no change shown", "not enough runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendChange:
    """A new level from `run` on; `ratio` of the two levels' geometric means, biased upwards as the cut is selected.

    `word` is `changed`, or why it is not: `may be the host`, `too small`; `reason` has the details.
    """

    run: str
    ratio: float
    word: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend(FigureLine):
    """One figure of one cell in each of `runs`: a point with its interval, or the cause why there is none.

    `word` is `changed` (the change is significant and not the host's), `no change shown` or `not enough runs`. `p` is
    the probability that noise gives as good a cut, `adjusted_p` over all trends; None if no change was searched for.
    """

    runs: tuple[str, ...]
    points: tuple[CellFigure, ...]
    changes: tuple[TrendChange, ...]
    word: str
    reason: str
    p: float | None
    adjusted_p: float | None


def trends_of(runs: Sequence[Samples]) -> list[Trend]:
    """The trend of every key that two or more runs have, in order of appearance; none if there are too few runs."""
    if len(runs) < LEAST_SHOWN:
        return []
    # Figures of a table are relative to its other services, so they have no level.
    keys = dict.fromkeys(key for run in runs for key, sample in run.cells.items() if not sample.in_table)
    kept = [key for key in keys if sum(key in run.cells for run in runs) >= 2]
    found = [_searched(runs, key) for key in kept]
    adjusted, rejected = corrected([one.p if one else 1.0 for one in found])
    most = ERRORS * rejected / max(1, len(adjusted))
    return [_trend(runs, key, one, p, most) for key, one, p in zip(kept, found, adjusted, strict=True)]


def _usable(sample: Sample | None) -> float | None:
    """A run's value, unless it is not valid or limited by the target rate."""
    if sample is None or sample.invalid or sample.held or sample.estimate is None:
        return None
    return sample.estimate.mean


def _series(runs: Sequence[Samples], key: FigureKey) -> list[tuple[int, float]]:
    """(index of the run, logarithm) of the runs that have a value."""
    values = ((index, _usable(run.cells.get(key))) for index, run in enumerate(runs))
    return [(index, value) for index, value in values if value is not None]


def _searched(runs: Sequence[Samples], key: FigureKey) -> ChangePoints | None:
    series = _series(runs, key)
    return search([value for _, value in series]) if len(series) >= LEAST_RUNS else None


def _trend(runs: Sequence[Samples], key: FigureKey, found: ChangePoints | None, adjusted: float, most: float) -> Trend:
    changes: tuple[TrendChange, ...] = ()
    reason = ""
    if found is None:
        count = plural(len(_series(runs, key)), "run")
        reason = f"{count} with a value; the search for changes needs {LEAST_RUNS}"
    elif adjusted <= ERRORS:
        changes = tuple(_changes(runs, key, found, most))
    word = CHANGED if any(change.word == CHANGED for change in changes) else NO_CHANGE
    return Trend(
        **asdict(key),
        runs=tuple(run.name for run in runs),
        points=tuple(_point(run.cells.get(key)) for run in runs),
        changes=changes,
        word=TOO_FEW if found is None else word,
        reason=reason,
        p=found.p if found else None,
        adjusted_p=adjusted if found else None,
    )


def _point(sample: Sample | None) -> CellFigure:
    if sample is None:
        return CellFigure(rounds=0, planned=0, cause="not in this run")
    if sample.held or sample.invalid:
        cause = "limited by the target rate" if sample.held else sample.cause
        return CellFigure(rounds=len(sample.values), planned=sample.planned, cause=cause)
    return figure_of(sample)


def _changes(runs: Sequence[Samples], key: FigureKey, found: ChangePoints, most: float) -> list[TrendChange]:
    series = _series(runs, key)
    places = within([value for _, value in series], found, most)
    parts = [series[first:last] for first, last in pairwise([0, *places, len(series)])]
    return [_change(runs, key, before, after) for before, after in pairwise(parts)]


Stretch = Sequence[tuple[int, float]]


def _change(runs: Sequence[Samples], key: FigureKey, before: Stretch, after: Stretch) -> TrendChange:
    one, other = (math.fsum(value for _, value in part) / len(part) for part in (before, after))
    difference = other - one
    if abs(difference) < MARGIN:
        word, reason = SMALL, f"below {percent_of(MARGIN):.1f} %"
    else:
        bound, reason = _host(runs, key, before, after)
        word = CHANGED if abs(difference) > bound else MAYBE_HOST
    return TrendChange(run=runs[after[0][0]].name, ratio=math.exp(difference), word=word, reason=reason)


def _host(runs: Sequence[Samples], key: FigureKey, before: Stretch, after: Stretch) -> tuple[float, str]:
    """The largest change between the parts that the host may have caused (logarithm), and the same in words."""
    from scipy.stats import ttest_ind

    every = dict.fromkeys(null for run in runs for null in run.null if null.figure == key.figure)
    same = [null for null in every if null.tool == key.tool] or list(every)
    bounds = [(math.inf, "no null server in these runs")] if not same else []
    for null in same:
        sides = [[_usable(runs[index].null.get(null)) for index, _ in part] for part in (before, after)]
        one, other = ([value for value in side if value is not None] for side in sides)
        if not one or not other or len(one) + len(other) < 3:
            bounds.append((math.inf, f"too few valid windows of the null server ({null.scenario} {null.tool})"))
            continue
        interval = ttest_ind(other, one).confidence_interval(1 - ERRORS)
        low, high = float(interval.low), float(interval.high)
        words = f"the null server ({null.scenario} {null.tool} {null.level}) changed by {percent_of(low):+z.1f} to "
        bounds.append((max(abs(low), abs(high)), f"{words}{percent_of(high):+z.1f} %"))
    return max(bounds)
