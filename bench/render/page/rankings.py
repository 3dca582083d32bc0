"""The answers at the top of the page: the tables of a run measured in turns, as sentences and as a table with bars.

Every figure is made here. The page's script sorts and hides rows, and the style divides figures by the largest one
shown. Without a script, all rows are compared with the best. Pure: rankings in, words and numbers for
rankings.html.jinja out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from bench.analysis.tables.ranking import Figure, RankedRow
from bench.core.formats import NOTHING
from bench.render.columns import REQUESTS, RankingColumn, ranking_columns
from bench.render.in_turns import grid_columns, grid_figures, grid_title
from bench.render.table import table_of
from bench.words.changes import column_name
from bench.words.conclusions import RankingText
from bench.words.latency import notes as latency_notes
from bench.words.picture import caption_words, certainty_words, narrow_words, question_words
from bench.words.units import in_units

MOST_SENTENCES = 4
"""Findings that are shown at once, half as many again if there is only one table; the others open below them."""
MOST_CHARACTERS = 450
"""Fewer findings are shown if they are long, so that the table begins on the first screen of a phone."""
MOST_ROWS = 32
"""Rows that are shown at once; of a longer table, the first FIRST_ROWS until the reader asks for all."""
FIRST_ROWS = 20


def rankings_of(rankings: Sequence[RankingText]) -> list[Answer]:
    """What the page shows of each ranking."""
    most = MOST_SENTENCES if len(rankings) > 1 else MOST_SENTENCES * 3 // 2
    return [Answer(place, text, most) for place, text in enumerate(rankings, 1)]


class Answer:
    """What the page says and shows of a ranking; `more` sentences open on demand.

    `scale`: the largest figure of each column and that of the best, as CSS variables. `footnotes`: the number of each.
    """

    def __init__(self, place: int, text: RankingText, most: int) -> None:
        ranking = text.ranking
        self.id = f"ranking-{place}"
        self.question, self.asked = question_words(ranking), text.question
        if ranking.scenario in text.question:
            self.question, self.asked = text.question, ""
        # A grid already marks the best and what may be, too, so the effect of its knobs comes first.
        sentences = text.sentences[1:] + text.sentences[:1] if text.grid else text.sentences
        lengths = [*accumulate(map(len, sentences))]
        most = max(1, sum(length <= MOST_CHARACTERS for length in lengths[:most]))
        self.sentences, self.more = sentences[:most], sentences[most:]
        self.caption = caption_words(ranking)
        self.grid_of = grid_figures(text, text.grid) if text.grid else []
        self.grid_title, self.grid_columns = (
            (grid_title(text, text.grid), grid_columns(text.grid)) if text.grid else ("", [])
        )
        columns = [one for one in ranking_columns(text, text.labels.__getitem__) if one.name and one.page]
        table = table_of("", [one.on_page() for one in columns], ranking.rows).said_once
        kept = [one for one in columns if one.on_page().name in table.columns]
        against = in_units(column_name(ranking.metric, "the best"), ranking.unit)
        self.heads = [_head(number, column, against) for number, column in enumerate(kept)]
        self.footnotes = _numbered(text)
        first = len(ranking.rows) if len(ranking.rows) <= MOST_ROWS else FIRST_ROWS
        self.rows = [
            Row(row.service, [_cell(one, row) for one in kept], self.footnotes.get(text.notes[row.service]), at > first)
            for at, row in enumerate(ranking.rows, 1)
        ]
        # Footnotes of rows that are not shown yet are not shown either.
        self.shown_footnotes = {row.note for row in self.rows if not row.later}
        self.scale = "".join(_scale(number, column, ranking.rows) for number, column in enumerate(kept))
        latency = [words for one in ranking.latencies for words in latency_notes(one, text.labels)]
        self.notes = [certainty_words(text), *latency, *table.notes]


@dataclass(frozen=True, slots=True)
class Head:
    """The heading of a column. `kind`: its class; `name`: of its figures where the heading is not above them.

    `falling`: its largest figure is the best, so it sorts from there.
    """

    title: str
    kind: str
    name: str
    falling: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure or a word of a service. `ends`: those of its bar.

    `unit`: of a figure where the heading is not above it; there is little room, so `narrow` is its interval.
    """

    text: str
    unit: str
    interval: str
    narrow: str
    remark: str
    ends: str


@dataclass(frozen=True, slots=True)
class Row:
    """A service; `note`: the number of its footnote. `later` rows are shown on demand."""

    service: str
    cells: list[Cell]
    note: int | None
    later: bool


def _head(number: int, column: RankingColumn, against: str) -> Head:
    title = column.on_page().name
    if column.figure:
        # Percentiles have the same unit, so that their names are needed to tell them apart.
        return Head(title, f"scaled f{number}", column.name if column.unit == "ms" else "", column.figure is REQUESTS.figure)
    kind = "against" if column.name == against else column.name if column.left else "figure"
    return Head(title, kind, "", falling=False)


def _cell(column: RankingColumn, row: RankedRow) -> Cell:
    text, interval, remark = column.parts(row)
    text = column.judged(row) if column.judged else text
    figure = column.figure(row) if column.figure else None
    unit = "" if text == NOTHING or not column.figure else f" {column.unit}" if column.unit else "/s"
    narrow = narrow_words(figure, interval) if figure and interval else ""
    ends = f"--v:{figure.mean:.5g};--l:{figure.low:.5g};--h:{figure.high:.5g}" if figure else ""
    return Cell(text, unit, interval, narrow, remark, ends)


def _numbered(text: RankingText) -> dict[str, int]:
    """The remarks on services, each once: its known causes, and what else its figures need."""
    remarks = dict.fromkeys(filter(None, (text.notes[row.service] for row in text.ranking.rows)))
    return {remark: number for number, remark in enumerate(remarks, 1)}


def _scale(number: int, column: RankingColumn, rows: Sequence[RankedRow]) -> str:
    figures: list[Figure | None] = [column.figure(row) for row in rows] if column.figure else []
    most = max((figure.high for figure in figures if figure), default=0.0)
    best = figures[0].mean if figures and figures[0] else -1.0
    return f"--m{number}:{most or 1:.5g};--b{number}:{best:.5g};" if figures else ""
