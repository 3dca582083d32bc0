"""Where a slowdown came in: what the verdict on one commit says, once the whole difference of good and bad is known."""

from __future__ import annotations

import math
from enum import StrEnum

from bench.analysis.tables.ranking import Contrast
from bench.stats.table_verdicts import NOT_ENOUGH, SLOWER


class Commit(StrEnum):
    """What a commit is; `abort` where the good commit itself could not be measured."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"
    ABORT = "abort"


def commit_verdict(contrast: Contrast | None, lost: bool, whole: float, good_failed: bool = False) -> Commit:
    """The verdict on a commit. It is bad if it is slower than good by at least half of the `whole` difference.

    A smaller slowdown is not the one that is looked for. Without a verdict it is good only if the whole interval is
    less than that half; else it is skipped, as it is if one of both is `lost`, without a figure.
    """
    if lost:
        return Commit.ABORT if good_failed else Commit.SKIP
    if contrast is None:
        return Commit.SKIP
    half = math.sqrt(1 + whole) - 1  # as differences multiply
    if contrast.verdict == SLOWER:
        return Commit.BAD if contrast.difference <= half else Commit.GOOD
    within = contrast.interval is not None and contrast.interval[0] > half
    return Commit.GOOD if contrast.verdict != NOT_ENOUGH or within else Commit.SKIP
