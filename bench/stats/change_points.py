"""Change points of a trend: one value per run, in the order of the runs.

ruptures finds the best segmentation with one change (a step) or two (a step and its reversal), i.e. the one with the
smallest sum of squares within segments (optimal kernel search, linear kernel). To test its significance, its F is
compared with the F that the same search finds in equally long series of pure noise. This accounts for the search for
the best place (sup-F test; Worsley 1979, Andrews 1993), and no penalty has to be chosen. One and two changes are both
tried, so the smaller p is doubled (Bonferroni).

Only the spread between runs counts. The precision of each run's value is ignored, because two runs of an unchanged
program differ by noise that the rounds within a run do not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from bench.stats.estimates import ERRORS, LEAST_SPREAD

LEAST_RUNS = 8
"""Minimum length of a trend: in 5 runs, a step of 3 standard deviations is found only 1 time in 5."""
LEAST_PART = 2
"""Minimum length of a segment, so that a single outlier is not a level; it grows with the trend: +1 per 10 runs."""
LEAST_INNER = 5
"""Minimum length of a segment to be searched for further changes."""
CUTS = (1, 2)
"""Numbers of changes to try."""
SERIES = 20_000
"""Number of simulated noise series per search; the smallest possible p is 1 in 10,000."""


@dataclass(frozen=True, slots=True)
class ChangePoints:
    """The best segmentation: the first index of each new level, and the p value of "nothing changed"."""

    places: tuple[int, ...]
    p: float


def search(values: Sequence[float], shortest: int = 0) -> ChangePoints:
    """The most likely change points with their p value; none for fewer than 5 values or identical values.

    `shortest`: the minimum segment length, by default that of a series of this length.
    """
    if len(values) < LEAST_INNER or max(values) - min(values) < LEAST_SPREAD:
        return ChangePoints((), 1.0)
    import numpy as np

    row, shortest = np.asarray([values], dtype=float), shortest or _shortest_segment(len(values))
    best = ChangePoints((), 1.0)
    for cuts in CUTS:
        if len(values) - cuts - 1 < 2 or (cuts + 1) * shortest > len(values):
            continue
        places = _places(row, cuts, shortest)
        noise = _noise(len(values), cuts, shortest)
        above = int((noise >= _f(row, places)[0]).sum())
        p = min(1.0, len(CUTS) * (1 + above) / (SERIES + 1))
        if p < best.p:
            best = ChangePoints(tuple(map(int, places[0])), p)
    return best


def within(values: Sequence[float], found: ChangePoints, errors: float = ERRORS) -> tuple[int, ...]:
    """All change points: `found` plus those from searching each segment again.

    The searches of segments share the error rate `errors`, which is divided by the largest possible number of segments.
    """
    errors /= max(1, len(values) // LEAST_INNER)
    places, todo = set(found.places), _segments(0, len(values), found.places)
    while todo:
        first, last = todo.pop()
        inner = search(values[first:last], _shortest_segment(len(values)))
        if inner.places and inner.p <= errors:
            added = [first + place for place in inner.places]
            places |= set(added)
            todo += _segments(first, last, added)
    return tuple(sorted(places))


def _segments(first: int, last: int, places: Sequence[int]) -> list[tuple[int, int]]:
    ends = [first, *places, last]
    return list(pairwise(ends))


def _shortest_segment(count: int) -> int:
    """The minimum segment length: the longer a trend, the more likely are adjacent outliers."""
    return max(LEAST_PART, 1 + count // 10)


def _places(rows: Any, cuts: int, shortest: int) -> Any:
    """[series, runs] -> [series, cuts]: the best change points of each series."""
    import numpy as np
    from ruptures import KernelCPD

    search_one = KernelCPD(kernel="linear", min_size=shortest)
    return np.array([search_one.fit(row[:, None]).predict(n_bkps=cuts)[:-1] for row in rows])


def _f(rows: Any, places: Any) -> Any:
    """[series, runs], [series, cuts] -> [series]: F statistic of the segment means (infinite without residuals)."""
    import numpy as np

    count, cuts = rows.shape[1], places.shape[1]
    rows = rows - rows.mean(axis=1, keepdims=True)
    sums = np.concatenate([np.zeros((len(rows), 1)), rows.cumsum(axis=1)], axis=1)
    ends = np.concatenate([np.zeros((len(rows), 1), int), places, np.full((len(rows), 1), count)], axis=1)
    parts = np.diff(np.take_along_axis(sums, ends, axis=1), axis=1)
    between = (parts**2 / np.diff(ends, axis=1)).sum(axis=1)
    within_segments = (rows**2).sum(axis=1) - between
    with np.errstate(divide="ignore", invalid="ignore"):
        return (between / cuts) / (within_segments / (count - cuts - 1))


@cache
def _noise(count: int, cuts: int, shortest: int) -> Any:
    """[SERIES]: F of the best segmentation of normal noise (F does not depend on mean and spread)."""
    import numpy as np

    rows = np.random.default_rng(count).normal(size=(SERIES, count))
    return _f(rows, _places(rows, cuts, shortest))
