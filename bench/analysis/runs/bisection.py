"""The verdict on one commit of a bisection, once the whole difference between good and bad is known."""

from __future__ import annotations

import math
from enum import StrEnum

from bench.analysis.tables.ranking import Contrast
from bench.stats.table_verdicts import FASTER, SLOWER


class Commit(StrEnum):
    """The verdict on a commit; `abort` if the good commit itself could not be measured."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"
    ABORT = "abort"


def commit_verdict(contrast: Contrast | None, lost: bool, whole: float, good_failed: bool = False) -> Commit:
    """The verdict on a commit: bad if it is slower than good by at least half of the `whole` difference.

    A smaller slowdown is not the one that is searched for. If the contrast has no verdict, the commit is good if its
    whole interval is less than that half, otherwise it is skipped. `lost`: the commit or the good one has no figure.
    """
    if lost:
        return Commit.ABORT if good_failed else Commit.SKIP
    if contrast is None:
        return Commit.SKIP
    half = math.sqrt(1 + whole) - 1  # differences multiply
    if contrast.verdict == SLOWER:
        return Commit.BAD if contrast.difference <= half else Commit.GOOD
    if contrast.interval is not None and contrast.verdict != FASTER and contrast.interval[1] <= half:
        # Too little to be called slower by itself, and still all of it beyond the half.
        return Commit.BAD
    within = contrast.interval is not None and contrast.interval[0] > half
    return Commit.GOOD if contrast.verdict == FASTER or within else Commit.SKIP
