"""Where the level of a history changed: one value a run, in the order of the runs.

ruptures finds the places: of all ways to cut the series once (a step) or twice (a step that was taken back), that
with the least squares left inside its parts (its optimal kernel search, linear kernel). Whether the places mean
anything is a test: F of that cut against the F that the same search finds in as many values of plain noise. So it is
paid for that the best place was looked for (Worsley 1979; Andrews 1993, the sup-F test), and no penalty has to be
guessed. Both ways of cutting are tried, so the lesser p counts twice.

Whether runs of the same thing differ is asked of the runs alone. How well a run knows its own value is left out: what
differs between two runs of an unchanged program is part of the noise, and rounds do not show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from bench.stats.estimates import ERRORS, LEAST_SPREAD

LEAST_RUNS = 8
"""A history of fewer is not searched: a step of three standard deviations is found in five runs once in five times."""
LEAST_PART = 2
"""Runs at one level, so that one wild run is none; of ten runs and more, one for each ten beside it."""
LEAST_INNER = 5
"""Runs of a part that is searched again, between two changes that are known."""
CUTS = (1, 2)
SERIES = 20_000
"""Series of noise that a search is held against: the least p is 1 in 10,000."""


@dataclass(frozen=True, slots=True)
class ChangePoints:
    """The best cut: the first index of each new level, and its p under no change at all."""

    places: tuple[int, ...]
    p: float


def search(values: Sequence[float]) -> ChangePoints:
    """The places at which the level changed at best, with the p value of their being noise; none in copies."""
    if len(values) < LEAST_INNER or max(values) - min(values) < LEAST_SPREAD:
        return ChangePoints((), 1.0)
    import numpy as np

    row = np.asarray([values], dtype=float)
    best = ChangePoints((), 1.0)
    for cuts in CUTS:
        if len(values) - cuts - 1 < 2 or (cuts + 1) * _part(len(values)) > len(values):
            continue
        places = _places(row, cuts)
        noise = _noise(len(values), cuts)
        above = int((noise >= _f(row, places)[0]).sum())
        p = min(1.0, len(CUTS) * (1 + above) / (SERIES + 1))
        if p < best.p:
            best = ChangePoints(tuple(map(int, places[0])), p)
    return best


def within(values: Sequence[float], found: ChangePoints, most: float = ERRORS) -> tuple[int, ...]:
    """All places: those found, and those of the parts between them, each searched again.

    All searches of parts together have an error of `most`: each spends its share, by as many parts as there could be.
    """
    most /= max(1, len(values) // LEAST_INNER)
    places, todo = set(found.places), _parts(0, len(values), found.places)
    while todo:
        first, last = todo.pop()
        inner = search(values[first:last])
        if inner.places and inner.p <= most:
            added = [first + place for place in inner.places]
            places |= set(added)
            todo += _parts(first, last, added)
    return tuple(sorted(places))


def _parts(first: int, last: int, places: Sequence[int]) -> list[tuple[int, int]]:
    ends = [first, *places, last]
    return list(pairwise(ends))


def _part(count: int) -> int:
    """The fewest runs at one level: the longer a history, the more wild runs happen to stand side by side in it."""
    return max(LEAST_PART, 1 + count // 10)


def _places(rows: Any, cuts: int) -> Any:
    """[series, runs] -> [series, cuts]: where each is cut best."""
    import numpy as np
    from ruptures import KernelCPD

    search_one = KernelCPD(kernel="linear", min_size=_part(rows.shape[1]))
    return np.array([search_one.fit(row[:, None]).predict(n_bkps=cuts)[:-1] for row in rows])


def _f(rows: Any, places: Any) -> Any:
    """[series, runs], [series, cuts] -> [series]: the F statistic of the parts' means, infinite without a rest."""
    import numpy as np

    count, cuts = rows.shape[1], places.shape[1]
    rows = rows - rows.mean(axis=1, keepdims=True)
    sums = np.concatenate([np.zeros((len(rows), 1)), rows.cumsum(axis=1)], axis=1)
    ends = np.concatenate([np.zeros((len(rows), 1), int), places, np.full((len(rows), 1), count)], axis=1)
    parts = np.diff(np.take_along_axis(sums, ends, axis=1), axis=1)
    between = (parts**2 / np.diff(ends, axis=1)).sum(axis=1)
    rest = (rows**2).sum(axis=1) - between
    with np.errstate(divide="ignore", invalid="ignore"):
        return (between / cuts) / (rest / (count - cuts - 1))


@cache
def _noise(count: int, cuts: int) -> Any:
    """The F of the best cut of `SERIES` series of normal noise, the same for any mean and spread."""
    import numpy as np

    rows = np.random.default_rng(count).normal(size=(SERIES, count))
    return _f(rows, _places(rows, cuts))
