"""The remarks on a service of a table in turns, in words."""

from __future__ import annotations

from typing import assert_never

from bench.analysis.tables.ranking import ByLoadgen, Idles, LeftOut, NoFigure, RankedRow, Remark, Throttled, Unranked
from bench.analysis.tables.worker_spread import Spread
from bench.core.formats import joined, number
from bench.records.record import Cause


def note_of(row: RankedRow) -> str:
    """All remarks on a service in one line; empty without any."""
    return "; ".join(map(remark_words, row.remarks))


def remark_words(remark: Remark) -> str:  # noqa: PLR0911 -- one return for each kind
    """One remark."""
    match remark:
        case Unranked.ALONE:
            return "there is nothing to compare it with"
        case Unranked.APART:
            return "it was never in one window with the others"
        case NoFigure(why):
            return _why_none(why)
        case LeftOut(windows, every, cause):
            return f"{windows} of {every} windows left out: {cause}"
        case ByLoadgen(detail, lower_bound):
            what = "at least as fast as shown" if lower_bound else "no requests/s"
            return f"{what}: the load generator is the limit ({detail})"
        case Idles(busy, response_s):
            takes = "" if response_s is None else f": each response takes {1000 * response_s:.3g} ms"
            return f"busy for {100 * busy:.0f} % of its turns{takes}, in which it mostly waits"
        case Spread(shares):
            return f"CPU time spread unevenly over its {len(shares)} workers: {spread_words(remark)}"
        case Throttled():
            return throttled_words(remark)
        case _:
            assert_never(remark)


def spread_words(spread: Spread) -> str:
    """`91 and 9 %`."""
    return f"{joined([f'{100 * share:.0f}' for share in spread.shares])} %"


def throttled_words(found: Throttled) -> str:
    """How long a quota stopped a service."""
    if found.seconds is None:
        return f"throttling unknown: {found.unknown}"
    return f"throttled for {number(found.seconds)} s a round" if found.seconds else "never throttled"


def _why_none(why: Cause | str | None) -> str:
    if why is None:
        return "too few responses in every window"
    return f"{why.cause}: {why.detail}" if isinstance(why, Cause) else why or "not measured"
