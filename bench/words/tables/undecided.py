"""What would have been called of the differences that were not: the smallest one, nine times in ten, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.analysis.tables.ranking import Contrast, Ranking
from bench.core.formats import size
from bench.stats.table_verdicts import FASTER, SLOWER

MOST = 6
"""Pairs that have a line each."""
CALLED = "or more would have been called nine times in ten"


def beside_words(ranking: Ranking, name: Callable[[str], str]) -> Iterator[str]:
    """A line for each pair of services without a called difference, but for those with the best: the rows have them."""
    if ranking.look is None:
        return
    best = {row.service for row in ranking.rows if row.rank == 1}
    open_ones = [one for one in ranking.contrasts if _is_open(one) and not best & {one.a, one.b}]
    for one in open_ones[:MOST]:
        yield f"{name(one.b)} beside {name(one.a)}: {one.verdict}; {size(_seen(one))} {CALLED}."
    later = open_ones[MOST:]
    if later:
        least, most = (size(choose(map(_seen, later))) for choose in (min, max))
        between = least if least == most else f"{least} to {most}"
        yield f"{len(later)} more pairs have no called difference: {between} {CALLED} (verdicts.jsonl has each)."


def _is_open(one: Contrast) -> bool:
    return one.verdict not in (FASTER, SLOWER) and one.smallest_visible is not None


def _seen(one: Contrast) -> float:
    return one.smallest_visible or 0.0
