"""What a bisection says of a commit, and of the whole difference that it looks for."""

from __future__ import annotations

from bench.analysis.runs.bisection import Commit, judge
from bench.analysis.tables.ranking import Contrast
from bench.core.errors import UserError
from bench.core.formats import percent
from bench.stats.table_verdicts import NOT_ENOUGH, SLOWER


def whole_difference(contrast: Contrast | None, cause: str) -> float:
    """The bad commit's difference from the good one; UserError where it was not shown to be slower.

    `cause` is why one of them has no figure; empty if both have.
    """
    if cause:
        raise UserError(f"good and bad cannot be compared: {cause}")
    if contrast is None or contrast.verdict != SLOWER:
        raise UserError(f"nothing to bisect: bad is not shown to be slower than good: {contrast_words(contrast)}")
    return contrast.difference


def commit_words(contrast: Contrast | None, cause: str, whole: float, good_failed: bool = False) -> str:
    """`bad: slower, -4.8 %`: the verdict on a commit, and the figures that say so; `cause` as above."""
    word = judge(contrast, bool(cause), whole, good_failed)
    why = cause or contrast_words(contrast)
    if not cause and word == Commit.GOOD and contrast is not None and contrast.verdict == NOT_ENOUGH:
        why += f", less than half of {percent(1 + whole)}"
    return f"{word}: {why}"


def contrast_words(contrast: Contrast | None) -> str:
    """The verdict with its difference and interval."""
    if contrast is None:
        return NOT_ENOUGH
    within = " ({} to {})".format(*(percent(1 + end) for end in contrast.interval)) if contrast.interval else ""
    return f"{contrast.verdict}, {percent(1 + contrast.difference)}{within}"
