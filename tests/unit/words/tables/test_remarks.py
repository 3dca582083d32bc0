"""Each kind of remark on a service of a table, in words."""

from __future__ import annotations

import pytest

from bench.analysis.tables.ranking import ByLoadgen, Idles, LeftOut, NoFigure, Remark, Spread, Throttled, Unranked
from bench.records.record import Cause
from bench.words.remarks import remark_words


@pytest.mark.parametrize(
    ("remark", "words"),
    [
        (Unranked.ALONE, "there is nothing to compare it with"),
        (Unranked.APART, "it was never in one window with the others"),
        (NoFigure(Cause("errors", "40 of 400 got 500")), "errors: 40 of 400 got 500"),
        (NoFigure("build failed: no wheel"), "build failed: no wheel"),
        (NoFigure(""), "not measured"),
        (NoFigure(None), "too few responses in every window"),
        (LeftOut(4, 16, "errors"), "4 of 16 windows left out: errors"),
        (
            ByLoadgen("wrk's CPUs were 99 % busy", lower_bound=True),
            "at least as fast as shown: the load generator is the limit (wrk's CPUs were 99 % busy)",
        ),
        (
            ByLoadgen("wrk's CPUs were 99 % busy", lower_bound=False),
            "no requests/s: the load generator is the limit (wrk's CPUs were 99 % busy)",
        ),
        (Idles(0.12, 0.02), "busy for 12 % of its turns: each response takes 20 ms, in which it mostly waits"),
        (Idles(0.12, None), "busy for 12 % of its turns, in which it mostly waits"),
        (Spread((0.8, 0.15, 0.05)), "CPU time spread unevenly over its 3 workers: 80, 15 and 5 %"),
        (Throttled(1.25), "throttled for 1.25 s a round"),
        (Throttled(0.0), "never throttled"),
        (Throttled(None, "no such counter"), "throttling unknown: no such counter"),
    ],
)
def test_a_remark_is_one_phrase(remark: Remark, words: str) -> None:
    assert remark_words(remark) == words
