"""Releases of one package, each beside the one before it: a table, and a line with levels between the real steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bench.analysis.runs.differences import CellFigure
from bench.analysis.runs.trends import CHANGED, Trend, TrendChange
from bench.analysis.services import Places
from bench.analysis.tables.ladder import Ladder, ladders
from bench.analysis.tables.ranking import Contrast, Metric, RankedRow, Ranking
from bench.core.formats import NOTHING, percent, percent_range
from bench.render.table import Table
from bench.render.tables.ranking import figure_words
from bench.render.trend_picture import TrendPicture, trend_picture
from bench.words.names import explained
from bench.words.told import ToldRanking

REMARKS = "remarks"
NOTE = "A step is the release as a speed against the one above it in the table, with its simultaneous interval."


def ladder_tables(rankings: Sequence[ToldRanking], places: Places) -> list[tuple[Table, TrendPicture]]:
    """A table and a picture for each ladder of each ranking."""
    return [
        (_table(told, ladder), _picture(told.ranking, ladder))
        for told in rankings
        for ladder in ladders(told.ranking, places)
    ]


def _title(ranking: Ranking, ladder: Ladder) -> str:
    load = f"{explained(ranking.scenario)} {ranking.tool} {ranking.level}"
    return f"{load}: {ladder.stack} by release of {ladder.package}"


def _rows(ranking: Ranking, ladder: Ladder) -> list[RankedRow]:
    rows = {row.service: row for row in ranking.rows}
    return [rows[service] for service in ladder.versions]


def _table(told: ToldRanking, ladder: Ladder) -> Table:
    ranking = told.ranking
    rows: list[tuple[str, ...]] = []
    before: str | None = None
    for version, row in zip(ladder.versions.values(), _rows(ranking, ladder), strict=True):
        step, verdict = NOTHING, NOTHING
        if before is not None and row.rank is not None:
            found = ranking.ahead(row.service, before)
            step, verdict = (_step(found), found.verdict) if found else (NOTHING, NOTHING)
        cpu = NOTHING if row.cpu_us is None else f"{figure_words(row.cpu_us)} µs"
        rows.append((version, figure_words(row.goodput), cpu, step, verdict, told.notes[row.service] or NOTHING))
        before = before if row.rank is None else row.service
    columns: tuple[str, ...] = ("release", "requests/s", "CPU per request", "step", "verdict", REMARKS)
    if all(row[-1] == NOTHING for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(_title(ranking, ladder), columns, tuple(rows), notes=(NOTE,), prose=("verdict", REMARKS))


def _step(found: Contrast) -> str:
    words = percent(1 + found.difference)
    if found.interval is None:
        return words
    return f"{words} ({percent_range(1 + found.interval[0], 1 + found.interval[1])})"


def _picture(ranking: Ranking, ladder: Ladder) -> TrendPicture:
    """The metric over the releases; of those that have a figure."""
    cpu = ranking.metric is Metric.CPU
    kept = [
        (version, row, found)
        for version, row in zip(ladder.versions.values(), _rows(ranking, ladder), strict=True)
        if row.rank is not None and (found := row.cpu_us if cpu else row.goodput) is not None
    ]
    changes = [
        TrendChange(run=version, ratio=row.mean / old.mean, word=CHANGED, reason="")
        for (_, before, old), (version, after, row) in pairwise(kept)
        if ranking.apart(before.service, after.service)
    ]
    what = "CPU µs per request" if cpu else "requests/s"
    numbers = ", ".join(f"{number} is {version}" for number, (version, _, _) in enumerate(kept, 1))
    trend = Trend(
        service=ladder.stack,
        scenario=ranking.scenario,
        tool=ranking.tool,
        level=ranking.level,
        figure=what,
        runs=tuple(version for version, _, _ in kept),
        points=tuple(
            CellFigure(value=f.mean, low=f.low, high=f.high, rounds=ranking.rounds, planned=ranking.rounds, cause="")
            for _, _, f in kept
        ),
        changes=tuple(changes),
        word="",
        reason="",
        p=None,
        adjusted_p=None,
    )
    words = f"{what}; {numbers}. The thick line is the level between steps that are real."
    return trend_picture(_title(ranking, ladder), words, trend)
