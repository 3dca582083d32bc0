"""The rankings of tables in turns: from the best service to the worst, with tiers."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.tables.ranking import Figure, RankedRow, Ranking
from bench.core.formats import NOTHING, number, percent, percent_range, plural, size
from bench.render.table import Table
from bench.render.tables.costs import MB
from bench.stats.table_verdicts import NOT_ENOUGH
from bench.words.names import explained
from bench.words.picture import estimate_words, seen_words
from bench.words.told import ToldRanking, systematic_words

NOTE = (
    "The services of a table get the CPU in turns: each is alone while it is loaded,"
    " and noise falls on all of them. The difference is from the best service, by the metric in the table's title as a"
    " speed. All intervals of a table hold at once; that of a difference shown to be none holds by itself. Services of"
    " one tier cannot be told apart from the first of it. Whatever its tier, a service with a figure in the column"
    ' "called from" cannot be told apart from the best: a difference as large as that would have been called nine times'
    " in ten. Requests/s and CPU per request are means over the rounds with their 95 % interval; with fewer than three"
    " rounds, the lowest and the highest."
)
REMARKS = "remarks"
SEEN = "called from"
COLUMNS = ("tier", "service", "difference", SEEN, "requests/s", "CPU per request", "peak memory", REMARKS)


def ranking_table(told: ToldRanking) -> Table:
    """A row for each service."""
    ranking = told.ranking
    rows = [_row(told, row) for row in ranking.rows]
    columns: tuple[str, ...] = COLUMNS
    if not any(told.notes.values()):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if not any(map(seen_words, ranking.rows)):
        columns, rows = (*columns[:3], *columns[4:]), [(*row[:3], *row[4:]) for row in rows]
    load = f"{explained(ranking.scenario)} {ranking.tool} {ranking.level}"
    title = f"{load}: {ranking.metric}, {plural(ranking.rounds, 'round')}"
    return Table(
        title,
        columns,
        tuple(rows),
        labels=2,
        notes=(*_undecided(ranking), *systematic_words(ranking), *told.beside),
        prose=(REMARKS,),
    )


def _undecided(ranking: Ranking) -> Iterator[str]:
    """How many differences have no verdict, and how large they would have to be."""
    unclear = [one for one in ranking.contrasts if one.verdict == NOT_ENOUGH]
    if unclear and ranking.look is not None:
        words = f"{len(unclear)} of {len(ranking.contrasts)} differences have no verdict"
        seen = [one.smallest_visible for one in unclear if one.smallest_visible is not None]
        if len(seen) == len(unclear):
            words += f"; one of {size(max(seen))} or more would most likely have had one"
        yield f"{words}."


def _row(told: ToldRanking, row: RankedRow) -> tuple[str, ...]:
    cpu = row.cpu_us
    return (
        str(row.tier or NOTHING),
        told.name(row.service),
        _difference(row),
        seen_words(row) or NOTHING,
        figure_words(row.goodput),
        NOTHING if cpu is None else f"{figure_words(cpu)} µs",
        NOTHING if row.memory_peak_bytes is None else f"{number(row.memory_peak_bytes / MB)} MB",
        told.notes[row.service] or NOTHING,
    )


def _difference(row: RankedRow) -> str:
    if row.difference is None:
        return NOTHING
    if row.rank == 1:
        return "best"
    words = percent(1 + row.difference)
    if row.interval is None:
        return words
    low, high = row.interval
    return f"{words} ({percent_range(1 + low, 1 + high)})"


def figure_words(found: Figure | None) -> str:
    """`5,120 (5,100 to 5,140)`."""
    mean, span = estimate_words(found)
    return f"{mean} ({span})" if span else mean
