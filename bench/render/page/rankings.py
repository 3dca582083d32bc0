"""The answers at the top of the page: the tables of a run measured in turns, as text and as positions in a picture.

A picture is made of elements placed by percentages, so that it needs no script, fits any width, and screen readers read
it as a list. Pure: rankings in, words and numbers for rankings.html.jinja out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from bench.analysis.tables.ranking import Metric, Percentile, RankedRow
from bench.core.formats import milliseconds
from bench.render.columns import ranking_columns
from bench.render.in_turns import grid_columns, grid_figures, grid_title
from bench.render.table import Table, table_of
from bench.words.changes import Change, change, column_name
from bench.words.conclusions import RankingText
from bench.words.latency import in_milliseconds, standing
from bench.words.latency import notes as latency_notes
from bench.words.picture import (
    caption_words,
    certainty_words,
    load_words,
    question_words,
    requests_words,
    seen_words,
)

MOST_SENTENCES = 4
"""Findings that are shown at once, half as many again if there is only one table; the others open below them."""
MOST_CHARACTERS = 450
"""Fewer findings are shown if they are long, so that the picture begins on the first screen of a phone."""
MOST_ROWS = 32
"""Rows that are shown at once; a longer ranking shows whole tiers up to FIRST_ROWS, and the others open below them."""
FIRST_ROWS = 20
LOGARITHMIC = 3.0
"""If the factors span more than this, the scale is logarithmic."""
_ROOM = 1.5
"""An interval may widen the scale by this factor; a longer one ends in an arrow."""
_LEAST_SPAN = 0.04
_APART = 34.0
"""In a narrow picture, a tick that is closer than this to another one, in percent of the width, has no label."""


def rankings_of(rankings: Sequence[RankingText]) -> list[Answer]:
    """What the page shows of each ranking."""
    most = MOST_SENTENCES if len(rankings) > 1 else MOST_SENTENCES * 3 // 2
    return [Answer(place, told, most) for place, told in enumerate(rankings, 1)]


class Answer:
    """What the page says and draws of a ranking; `more` sentences and `later` tiers open on demand."""

    def __init__(self, place: int, text: RankingText, most: int) -> None:
        ranking = text.ranking
        ranked = [_ranked(row, ranking.metric) for row in ranking.rows if row.rank is not None]
        unranked = [row for row in ranking.rows if row.rank is None]
        scale = _scale(ranked)
        tiers = [
            Tier("no tier" if tier is None else f"tier {tier}", [Place(text, scale, row) for row in rows])
            for tier, rows in groupby(ranked, key=lambda row: row.given.tier)
        ]
        shown = _shown(tiers)
        self.id = f"ranking-{place}"
        self.question, self.asked = question_words(ranking), text.question
        if ranking.scenario in text.question:
            self.question, self.asked = text.question, ""
        # A grid already marks the best and what may be, too, so the effect of its knobs comes first.
        said = text.sentences[1:] + text.sentences[:1] if text.grid else text.sentences
        lengths = [*accumulate(map(len, said))]
        most = max(1, sum(length <= MOST_CHARACTERS for length in lengths[:most]))
        self.sentences, self.more = said[:most], said[most:]
        self.caption = caption_words(ranking)
        self.against = column_name(ranking.metric, "the best")
        self.logarithmic = scale.logarithmic
        self.ticks = _ticks(scale)
        lines = (f"linear-gradient(var(--line), var(--line)) {tick.at}% 0 / 1px 100% no-repeat" for tick in self.ticks)
        self.grid = ", ".join(lines)
        self.tiers, self.later = tiers[:shown], tiers[shown:]
        self.later_rows = sum(len(tier.rows) for tier in self.later)
        self.unranked = [
            Unranked(row.service, text.labels[row.service], requests_words(row)[0], text.notes[row.service])
            for row in unranked
        ]
        self.certainty = certainty_words(text)
        self.latency = [words for one in ranking.latencies for words in latency_notes(one, text.labels)]
        self.tail = str(ranking.tail.metric) if ranking.tail else ""
        self.grid_of = grid_figures(text, text.grid) if text.grid else []
        self.grid_title, self.grid_columns = (
            (grid_title(text, text.grid), grid_columns(text.grid)) if text.grid else ("", [])
        )
        self.figures = _figures(text)


@dataclass(frozen=True, slots=True)
class Unranked:
    """A service without a place, and why."""

    service: str
    name: str
    rate: str
    note: str


@dataclass(frozen=True, slots=True)
class Tier:
    """Services that are not shown to be slower than the first of them."""

    name: str
    rows: list[Place]


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of the scale, at percent of its width; a `minor` one is hidden in a narrow picture."""

    at: float
    text: str
    minor: bool


class Place:
    """A ranked service: its words, and the positions of its marks in percent of the picture's width.

    `beyond`, `below`: its interval ends outside the picture.
    """

    def __init__(self, text: RankingText, scale: _Scale, row: _Ranked) -> None:
        low, high = row.low or row.factor, row.high or row.factor
        self.service = row.given.service
        self.name = text.labels[self.service]
        self.against, self.of = row.against
        self.interval = row.interval
        self.rate = requests_words(row.given)
        seen = seen_words(row.given)
        self.seen = f"below {seen} unnoticed" if seen else ""
        self.tail = _tail(text.ranking.tail, self.service)
        self.note = text.notes[row.given.service]
        self.at, self.left = scale.at(row.factor), scale.at(low)
        self.width = round(scale.at(high) - self.left, 2)
        self.beyond, self.below = high > scale.high * 1.0001, low < scale.low * 0.9999


def _tail(percentile: Percentile | None, service: str) -> tuple[str, str, str] | None:
    """Its percentile as (name, value, standing); None if it has none."""
    figure = percentile.figures.get(service) if percentile else None
    if percentile and service in percentile.at_most:
        return str(percentile.metric), f"{in_milliseconds(percentile, service)} ms", ""
    if not percentile or figure is None:
        return None
    return str(percentile.metric), milliseconds(figure.mean), standing(percentile, service)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A ranked row; `factor` is relative to the best: CPU time (1 or more), or requests/s (1 or less)."""

    given: RankedRow
    factor: float
    low: float | None
    high: float | None
    against: tuple[str, str]
    interval: str


def _ranked(row: RankedRow, metric: Metric) -> _Ranked:
    difference = change(metric, row.difference or 0.0, row.interval)
    if not 0 < difference.ratio < math.inf:
        difference = Change(metric, 1.0, difference.bounds)
    low, high = difference.bounds or (None, None)
    if low is None or high is None or not 0 < low <= high < math.inf:
        low = high = None
    if row.rank == 1:
        return _Ranked(row, difference.ratio, low, high, ("the best", ""), "")
    of = "CPU" if metric is Metric.CPU else "requests/s"
    return _Ranked(row, difference.ratio, low, high, (difference.signed(), of), difference.span() if low else "")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps factors to positions in percent of the picture's width."""

    low: float
    high: float
    logarithmic: bool

    def at(self, factor: float) -> float:
        """Between 0 and 100, even if the factor is beyond the ends."""
        low, high, value = self.low, self.high, min(max(factor, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return round(100 * (value - low) / (high - low), 2)

    def ticks(self) -> list[float]:
        """Round factors, 1 among them."""
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high / self.low < 60 else (1,)
            factors = [step * 10.0**power for power in powers for step in steps]
        else:
            span = self.high - self.low
            exact = 10 ** math.floor(math.log10(span / 4))
            step = next(exact * part for part in (1, 2, 2.5, 5, 10) if span / (exact * part) <= 4.5)
            factors = [1 + step * turn for turn in range(-5, 6)]
        return [value for value in factors if self.low * 0.9999 <= value <= self.high * 1.0001]


def _scale(ranked: Sequence[_Ranked]) -> _Scale:
    factors = [1.0, *(row.factor for row in ranked)]
    ends = [end for row in ranked for end in (row.low, row.high) if end is not None]
    least, most = min(factors), max(factors)
    low = max(min([least, *ends]), least / _ROOM)
    high = min(max([most, *ends]), most * _ROOM)
    if high - low < _LEAST_SPAN:
        low, high = low - (_LEAST_SPAN / 2 if most == 1 else 0), high + (_LEAST_SPAN / 2 if least == 1 else 0)
    return _Scale(low, high, most / least > LOGARITHMIC)


def _ticks(scale: _Scale) -> list[Tick]:
    ticks, labelled = [], [scale.at(1.0)]
    for factor in scale.ticks():
        at, best = scale.at(factor), abs(factor - 1) < 1e-9
        minor = not best and any(abs(at - other) < _APART for other in labelled)
        if not minor:
            labelled.append(at)
        ticks.append(Tick(at, "best" if best else f"{factor:g}×", minor))
    return ticks


def _shown(tiers: Sequence[Tier]) -> int:
    """The number of tiers that are shown at once."""
    rows = [*accumulate(len(tier.rows) for tier in tiers)]
    if not rows or rows[-1] <= MOST_ROWS:
        return len(tiers)
    return max(1, sum(count <= FIRST_ROWS for count in rows))


def _figures(text: RankingText) -> Table:
    """Every figure of the table as text, the alternative to the picture; notes have pairs without the best."""
    tier, service, *others = (one for one in ranking_columns(text, text.labels.__getitem__) if one.name)
    # The page's tables begin with the service; columns that are aligned left are wider.
    columns = [column for one in (service, replace(tier, left=False), *others) for column in one.on_page()]
    return table_of(f"All figures of {load_words(text.ranking)}", columns, text.ranking.rows, text.beside)
