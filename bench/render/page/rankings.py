"""The answers at the top of the page: the tables of a run measured in turns, as text and as positions in a picture.

A picture is made of elements placed by percentages, so that it needs no script, fits any width and is read as a list.
Pure: rankings in, words and numbers for rankings.html.jinja out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from bench.analysis.tables.ranking import Metric, RankedRow
from bench.core.formats import NOTHING, number
from bench.render.table import Table
from bench.words.picture import (
    against_words,
    caption_words,
    certainty_words,
    estimate_words,
    load_words,
    question_words,
    rate_words,
    seen_words,
    span_words,
)
from bench.words.told import ToldRanking

MOST_SENTENCES = 4
"""Findings that are shown at once, half as many again of an only table; the others open below them."""
MOST_ROWS = 32
"""Rows that are shown at once: of a longer ranking, whole tiers up to FIRST_ROWS, and the others open below them."""
FIRST_ROWS = 20
LOGARITHMIC = 3.0
"""If the factors span more than this, the scale is logarithmic."""
_ROOM = 1.5
"""An interval may widen the scale by this factor; a longer one ends in an arrow."""
_LEAST_SPAN = 0.04
_APART = 34.0
"""In a narrow picture ticks that are closer than this to another one, in percent of its width, have no label."""


def rankings_of(rankings: Sequence[ToldRanking]) -> list[dict[str, Any]]:
    """What the page shows of each ranking."""
    most = MOST_SENTENCES if len(rankings) > 1 else MOST_SENTENCES * 3 // 2
    return [_table(place, told, most) for place, told in enumerate(rankings, 1)]


def loads_of(rankings: Iterable[ToldRanking]) -> list[dict[str, str]]:
    """The tables' names, by which the page's scripts know that there are answers and which load comes first."""
    names = ("scenario", "tool", "level", "metric")
    return [{name: str(getattr(told.ranking, name)) for name in names} for told in rankings]


def figures_of(rankings: Iterable[ToldRanking]) -> dict[tuple[str, ...], RankedRow]:
    """By (scenario, tool, level, service): the row whose figures the page's cells take over."""
    return {(*told.ranking.table, row.service): row for told in rankings for row in told.ranking.rows}


@dataclass(frozen=True, slots=True)
class _Scale:
    """The part of the picture's width at which a factor is, in percent."""

    low: float
    high: float
    logarithmic: bool

    def at(self, factor: float) -> float:
        """Between 0 and 100, also for a factor beyond the ends."""
        low, high, value = self.low, self.high, min(max(factor, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return round(100 * (value - low) / (high - low), 2)

    def ticks(self) -> list[float]:
        """Round factors, 1 among them."""
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high / self.low < 60 else (1,)
            found = [step * 10.0**power for power in powers for step in steps]
        else:
            span = self.high - self.low
            exact = 10 ** math.floor(math.log10(span / 4))
            step = next(exact * part for part in (1, 2, 2.5, 5, 10) if span / (exact * part) <= 4.5)
            found = [1 + step * turn for turn in range(-5, 6)]
        return [value for value in found if self.low * 0.9999 <= value <= self.high * 1.0001]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A ranked row; `factor` is to the best: of its CPU time (1 or more), or of its requests/s (1 or less)."""

    given: RankedRow
    factor: float
    low: float | None
    high: float | None


def _table(place: int, told: ToldRanking, most: int) -> dict[str, Any]:
    ranking = told.ranking
    cpu = ranking.metric is Metric.CPU
    ranked = _ranked([row for row in ranking.rows if row.rank is not None], cpu)
    unranked = [row for row in ranking.rows if row.rank is None]
    tiers = _tiers(told, ranked, cpu)
    later = _later(tiers, len(ranked))
    question, asked = question_words(ranking), told.question
    if ranking.scenario in asked:
        question, asked = asked, ""
    return {
        "id": f"ranking-{place}",
        "question": question,
        "asked": asked,
        "sentences": told.sentences[:most],
        "more": told.sentences[most:],
        "caption": caption_words(ranking),
        "against": "CPU against the best" if cpu else "against the best",
        **_axis(ranked, tiers),
        "tiers": tiers[: len(tiers) - later],
        "later": tiers[len(tiers) - later :],
        "later_rows": sum(len(tier["rows"]) for tier in tiers[len(tiers) - later :]),
        "unranked": [
            {"name": told.labels[row.service], "rate": rate_words(row)[0], "note": told.notes[row.service]}
            for row in unranked
        ],
        "certainty": certainty_words(told),
        "figures": _figures(told, ranked, unranked, cpu),
    }


def _ranked(rows: Sequence[RankedRow], cpu: bool) -> list[_Placed]:
    """The rows with their factors: a difference is that of a speed, as a ratio - 1, so -0.5 is twice the CPU time."""

    def factor(difference: float) -> float | None:
        ratio = 1 + difference
        if not (0 < ratio < math.inf):
            return None
        return 1 / ratio if cpu else ratio

    found = []
    for row in rows:
        ends = sorted(end for end in map(factor, row.interval or ()) if end is not None)
        low, high = (ends[0], ends[1]) if len(ends) == 2 else (None, None)
        found.append(_Placed(row, factor(row.difference or 0) or 1.0, low, high))
    return found


def _tiers(told: ToldRanking, ranked: Sequence[_Placed], cpu: bool) -> list[dict[str, Any]]:
    tiers = []
    for tier, members in groupby(ranked, key=lambda row: row.given.tier):
        rows = [_words(told, row, cpu) for row in members]
        tiers.append({"name": "no tier" if tier is None else f"tier {tier}", "rows": rows, "count": len(rows)})
    return tiers


def _later(tiers: Sequence[Mapping[str, Any]], count: int) -> int:
    """The number of tiers at the end that are not shown at once."""
    shown, later = 0, 0
    for tier in tiers:
        shown += len(tier["rows"])
        later += count > MOST_ROWS and shown > FIRST_ROWS and tier is not tiers[0]
    return later


def _words(told: ToldRanking, row: _Placed, cpu: bool) -> dict[str, Any]:
    """The row's text; `row` is placed in the picture later, when the scale is known."""
    given, best = row.given, row.given.rank == 1
    short, of = ("the best", "") if best else against_words(row.factor, cpu)
    return {
        "row": row,
        "name": told.labels[given.service],
        "against": short,
        "of": of,
        "interval": "" if best else span_words(row.factor, row.low, row.high, cpu),
        "rate": rate_words(given),
        "seen": seen_words(given, " would have been called"),
        "note": told.notes[given.service],
    }


def _axis(ranked: Sequence[_Placed], tiers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The scale with its ticks; places every row of the tiers on it."""
    factors = [1.0, *(row.factor for row in ranked)]
    ends = [end for row in ranked for end in (row.low, row.high) if end is not None]
    least, most = min(factors), max(factors)
    logarithmic = most / least > LOGARITHMIC
    low = max(min([least, *ends]), least / _ROOM)
    high = min(max([most, *ends]), most * _ROOM)
    if high - low < _LEAST_SPAN:
        low, high = low - (_LEAST_SPAN / 2 if most == 1 else 0), high + (_LEAST_SPAN / 2 if least == 1 else 0)
    scale = _Scale(low, high, logarithmic)
    for tier in tiers:
        for shown in tier["rows"]:
            shown.update(_place(scale, shown.pop("row")))
    ticks, labelled = [], [scale.at(1.0)]
    for factor in scale.ticks():
        at, best = scale.at(factor), abs(factor - 1) < 1e-9
        minor = not best and any(abs(at - other) < _APART for other in labelled)
        if not minor:
            labelled.append(at)
        ticks.append({"at": at, "text": "best" if best else f"{factor:g}×", "minor": minor})
    lines = (f"linear-gradient(var(--line), var(--line)) {tick['at']}% 0 / 1px 100% no-repeat" for tick in ticks)
    return {"ticks": ticks, "grid": ", ".join(lines), "logarithmic": logarithmic}


def _place(scale: _Scale, row: _Placed) -> dict[str, Any]:
    """Where the row's marks are, in percent of the picture's width."""
    low, high = row.low or row.factor, row.high or row.factor
    left, right = scale.at(low), scale.at(high)
    return {
        "at": scale.at(row.factor),
        "left": left,
        "width": round(right - left, 2),
        "beyond": high > scale.high * 1.0001,
        "below": low < scale.low * 0.9999,
    }


def _figures(told: ToldRanking, ranked: Sequence[_Placed], unranked: Sequence[RankedRow], cpu: bool) -> Table:
    """Every figure of the table, as text: the picture's other form, with the pairs that it has no column for."""
    metric = "CPU" if cpu else "requests/s"
    columns = (
        *("service", "tier", f"{metric} against the best", "called from", "requests/s", "requests/s, interval"),
        *("CPU µs per request", "CPU, interval", "peak memory, MB", "windows", "left out", "note"),
    )
    rows = []
    for given, row in [*((row.given, row) for row in ranked), *((row, None) for row in unranked)]:
        memory = given.memory_peak_bytes
        against = NOTHING
        if row is not None:
            shown = _words(told, row, cpu)
            against = " ".join(filter(None, (shown["against"], shown["interval"])))
        rows.append(
            (
                told.labels[given.service],
                NOTHING if given.tier is None else str(given.tier),
                against,
                seen_words(given) or NOTHING,
                *(word or NOTHING for word in estimate_words(given.goodput)),
                *(word or NOTHING for word in estimate_words(given.cpu_us)),
                NOTHING if memory is None else number(memory / 1e6),
                str(given.windows),
                str(given.left_out),
                told.notes[given.service],
            )
        )
    title = f"All figures of {load_words(told.ranking)}"
    return Table(title, columns, tuple(rows), notes=told.beside, prose=("note",))
