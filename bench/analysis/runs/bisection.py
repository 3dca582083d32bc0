"""Where a slowdown came in: what the verdict on one commit says, once the whole difference of good and bad is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.analysis.tables.ranking import Contrast
from bench.core.errors import UserError
from bench.core.formats import percent
from bench.stats.table_verdicts import NOT_ENOUGH, SLOWER

GOOD, BAD, SKIP, ABORT = "good", "bad", "skip", "abort"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a commit is, and the figures that say so; `abort` where the good commit itself could not be measured."""

    word: str
    why: str

    def __str__(self) -> str:
        return f"{self.word}: {self.why}"


def whole_difference(contrast: Contrast | None, cause: str) -> float:
    """The bad commit's difference from the good one; UserError where it was not shown to be slower.

    `cause` is why one of them has no figure; empty if both have.
    """
    if cause:
        raise UserError(f"good and bad cannot be compared: {cause}")
    if contrast is None or contrast.verdict != SLOWER:
        raise UserError(f"nothing to bisect: bad is not shown to be slower than good: {words(contrast)}")
    return contrast.difference


def judge(contrast: Contrast | None, cause: str, whole: float, good_failed: bool = False) -> Judged:
    """The verdict on a commit. It is bad if it is slower than good by at least half of the `whole` difference.

    A smaller slowdown is not the one that is looked for. Without a verdict it is good only if the whole interval is
    less than that half; else it is skipped, as it is with a `cause` for which it has no figure.
    """
    if cause:
        return Judged(ABORT if good_failed else SKIP, cause)
    if contrast is None:
        return Judged(SKIP, NOT_ENOUGH)
    half = math.sqrt(1 + whole) - 1  # as differences multiply
    if contrast.verdict == SLOWER:
        return Judged(BAD if contrast.difference <= half else GOOD, words(contrast))
    if contrast.verdict != NOT_ENOUGH:
        return Judged(GOOD, words(contrast))
    if contrast.interval and contrast.interval[0] > half:
        return Judged(GOOD, f"{words(contrast)}, less than half of {percent(1 + whole)}")
    return Judged(SKIP, words(contrast))


def words(contrast: Contrast | None) -> str:
    """The verdict with its difference and interval."""
    if contrast is None:
        return NOT_ENOUGH
    within = " ({} to {})".format(*(percent(1 + end) for end in contrast.interval)) if contrast.interval else ""
    return f"{contrast.verdict}, {percent(1 + contrast.difference)}{within}"
