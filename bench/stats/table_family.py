"""Simultaneous intervals for all differences of a table's services, and the levels of its looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bench.stats.estimates import ERRORS, Interval
from bench.stats.table_fit import TableFit


def look_levels(planned_looks: Sequence[int], alpha: float = ERRORS) -> dict[int, float]:
    """The confidence of the family's intervals at each planned look (in rounds): what they miss adds up to `alpha`.

    As for pairs, each look may use an equal part of `alpha` (Bonferroni), which is valid for any stopping rule. The
    looks must be planned before the first of them. ValueError if there is none, or they do not ascend.
    """
    looks = tuple(planned_looks)
    if not looks or any(later <= earlier for earlier, later in zip((0, *looks), looks, strict=False)):
        raise ValueError(f"looks must ascend from 1: {looks}")
    return dict.fromkeys(looks, 1 - alpha / len(looks))


def family_intervals(fit: TableFit, level: float) -> Mapping[tuple[str, str], Interval]:
    """The intervals of all differences i - j, both (i, j) and (j, i), on the logarithmic scale.

    All of them hold at once in at least `level` (0 to 1, e.g. what `look_levels` gives) of tables. Infinite where the
    error is unknown; pairs that no chain of windows connects are not in it.
    """
    found: dict[tuple[str, str], Interval] = {}
    for part in fit.components:
        pairs = len(part) * (len(part) - 1) // 2
        for index, i in enumerate(part):
            for j in part[:index]:
                contrast = fit.contrast(i, j)
                assert contrast is not None
                one = contrast.interval(level ** (1 / pairs))
                found[i, j] = Interval(one.low, one.high, level)
                found[j, i] = Interval(0.0 - one.high, 0.0 - one.low, level)
    return found


def projected_rounds(half_width: float, wanted: float, rounds: int) -> float:
    """How many rounds in all make `wanted` of a half-width seen in `rounds` rounds: it falls with their square root.

    Infinite if the half-width is, or if `wanted` is not positive.
    """
    if not math.isfinite(half_width) or wanted <= 0:
        return math.inf
    return max(float(rounds), rounds * (half_width / wanted) ** 2)
