"""The ratios of a published comparison beside those of the run's tables in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.analysis.published import Beside, ReferenceComparison, published_beside
from bench.core.formats import NOTHING
from bench.render.table import Table
from bench.words.remarks import SIGNS
from bench.words.told import ToldRanking

COLUMNS = ("load", "service", "published", "here, requests/s", "here, by the table's metric", "sign")


def published_table(
    rankings: Sequence[ToldRanking], reference: ReferenceComparison | None, stacks: Mapping[str, str]
) -> list[Table]:
    """One table of all rankings that repeat a published question; empty if none does."""
    rows: list[tuple[str, ...]] = []
    for told in rankings:
        ranking = told.ranking
        found = published_beside(ranking, reference, stacks)
        if found is not None:
            there = f" (published: {found.load})" if found.load else ""
            load = " ".join(ranking.table) + there
            names = told.labels
            rows += [
                (load, f"{names[row.service]} to {names[found.base]}", *_figures(row), SIGNS[row.sign])
                for row in found.rows
            ]
    if not rows or reference is None:
        return []
    when = f" ({reference.date})" if reference.date else ""
    notes = (
        f"Published: {reference.source}{when}; {reference.setting}. Other machines and versions, so only ratios"
        f" compare. Its flaw, avoided here: {reference.fixed}.",
        "The sign is that of the verdict here, by the metric of the ranking above.",
    )
    return [Table("Published and here", COLUMNS, tuple(rows), labels=2, notes=notes, prose=("sign",))]


def _figures(row: Beside) -> tuple[str, str, str]:
    gap = row.gap
    own = NOTHING
    if gap is not None:
        bounds = f" ({1 + gap.interval[0]:.3f} to {1 + gap.interval[1]:.3f})" if gap.interval else ""
        own = f"{1 + gap.difference:.3f}{bounds}"
    return f"{row.published:.3f}", NOTHING if row.here is None else f"{row.here:.3f}", own
