"""A comparison of runs as Markdown and as a page: the answer first, then why it may be given, then every row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from bench.analysis.compare_runs import ComparedRun, RunComparison
from bench.analysis.comparison import Metric
from bench.analysis.run_diff import DIFFERS, CellDifference, CellFigure, Drift, count_words
from bench.analysis.samples import GOODPUT, PAIR, PER_CORE
from bench.analysis.trends import CHANGED, Trend
from bench.core.formats import NOTHING, number
from bench.core.templates import environment
from bench.render.table import Table, escape
from bench.render.trend_picture import TrendPicture, trend_picture
from bench.stats.change_points import LEAST_RUNS
from bench.stats.estimates import percent_of

NAMES = {
    GOODPUT: "goodput",
    PER_CORE: "goodput per core",
    PAIR[Metric.GOODPUT]: "ratio of goodput",
    PAIR[Metric.CPU]: "ratio of goodput per core",
}
UNITS = {GOODPUT: ", good answers/s", PER_CORE: ", good answers/s to a core's worth of CPU time"}
MOST = 10
"""Differences of two runs, or answers, that are listed before the rest is counted."""
NOTES = (
    "Figures are geometric means over the valid rounds of a run, with their 95 % intervals; a change is that of the "
    "later run to the earlier, and more is better.",
    "Solo windows of two runs were not measured side by side, so nothing here is called faster or slower. 'differs' is "
    "a change beyond what the null server of both runs leaves to the host, and beyond the floors of their A/A pairs: "
    "Welch's test, with Benjamini and Hochberg's procedure at 5 % over all rows of two runs. What the null server does "
    "not feel (memory, disk, another layout of the same program) is not excluded: --mode duet measures side by side.",
)

TREND_NOTE = (
    f"A change of level is looked for in {LEAST_RUNS} runs or more, and shown when two of them have it (of 20, "
    "three). Where there is none, at most 5 % of such tables show one (Benjamini and Hochberg over all "
    "histories); a host that drifts slowly from run to run makes more. The best cut is chosen: its change is "
    "rather too large."
)


def markdown(found: RunComparison) -> str:
    """comparison.md."""
    return _environment().get_template("comparison.md.jinja").render(_content(found))


def page(found: RunComparison) -> str:
    """index.html: the same, with a picture of each history; nothing in it is asked from anywhere."""
    changed_first = sorted(found.trends, key=lambda trend: (trend.word != CHANGED, not trend.changes))
    pictures = [_picture(trend) for trend in changed_first]
    runs = found.trends[0].runs if found.trends else ()
    return (
        _environment()
        .get_template("comparison.html.jinja")
        .render(_content(found) | {"pictures": pictures, "runs": runs})
    )


@cache
def _environment() -> Environment:
    templates = environment(Path(__file__).parent, autoescape=lambda name: bool(name and "html" in name))
    templates.filters["text"] = lambda value: escape(shown(str(value)))
    templates.filters["shown"] = lambda value: shown(str(value))
    return templates


def shown(text: str) -> str:
    """One line without what is not printed: marks that turn the direction of text are such."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in " ".join(text.split()))


def _content(found: RunComparison) -> dict[str, Any]:
    compared = [other for other in found.compared if other.rows]
    # Of a history, what its ends say; histories have what lies between.
    pairs = compared[-1:] if found.trends else compared
    names = [found.first, *(other.name for other in found.others)]
    title = f"{names[0]} and {names[1]}" if len(names) == 2 else f"{len(names)} runs, {names[0]} to {names[-1]}"
    tables = [*_trend_tables(found.trends), *(table for other in pairs for table in _tables(other))]
    return {
        "title": title,
        "first": found.first,
        "others": [other for other in found.others if other.verdict.differences],
        "alike": [other.name for other in found.others if not other.verdict.differences],
        "conclusions": list(_conclusions(found, [row for other in pairs for row in other.rows])),
        "tables": tables,
        "notes": (*((TREND_NOTE,) if found.trends else ()), *NOTES) if tables else (),
        "MOST": MOST,
    }


def _conclusions(found: RunComparison, rows: Sequence[CellDifference]) -> Iterator[str]:
    for other in found.others:
        if not other.verdict.comparable:
            yield f"{other.name} is not compared with {found.first}: {other.cause}."
    yield from _first(
        f"{_whose(trend)}: {_percent(change.ratio)} from {change.run} on."
        for trend in found.trends
        for change in trend.changes
        if change.word == CHANGED
    )
    if found.trends and not any(trend.word == CHANGED for trend in found.trends):
        searched = sum(trend.p is not None for trend in found.trends)
        fewer = f", the others have fewer than {LEAST_RUNS} runs" if searched < len(found.trends) else ""
        yield f"No level is shown to have changed ({searched} of {len(found.trends)} histories searched{fewer})."
    yield from _first(
        f"{_whose(row)} differs: {_change(row)}, {row.one} to {row.other}." for row in rows if row.word == DIFFERS
    )
    if rows:
        counts = ", ".join(f"{word} {count}" for word, count in count_words(rows).items())
        yield f"Of {len(rows)} figures that both runs have: {counts}."
    elif found.compared:
        yield "They have no measured cell in common."


def _first(sentences: Iterable[str]) -> Iterator[str]:
    every = list(sentences)
    yield from every[:MOST]
    if len(every) > MOST:
        yield f"And {len(every) - MOST} more of these: the tables below have them."


def _titled(figure: str) -> str:
    return NAMES[figure] + UNITS.get(figure, ", of two services in the same seconds")


def _in_order(figures: Iterable[str]) -> list[str]:
    """The figures that there are, goodput first."""
    return sorted(dict.fromkeys(figures), key=[*NAMES].index)


def _whose(row: CellDifference | Trend) -> str:
    beside = f" to {row.beside}" if row.beside else ""
    return f"{row.service}{beside}, {row.cell}, {NAMES[row.figure]}"


def _tables(beside: ComparedRun) -> Iterator[Table]:
    rows = beside.rows
    for figure in _in_order(row.figure for row in rows):
        group = [row for row in rows if row.figure == figure]
        one, other = group[0].one, group[0].other
        columns = ("cell", "service", one, other, "change", "verdict", "mind")
        lines = tuple(tuple(map(shown, _row(row))) for row in group)
        title = f"{one} to {other}: {_titled(figure)}"
        yield Table(shown(title), tuple(map(shown, columns)), lines, labels=2, prose=("verdict", "mind"))
    yield _controls(rows[0].one, beside)


def _controls(one: str, other: ComparedRun) -> Table:
    """What the null server did between the runs, and what their A/A pairs leave."""
    rows = [
        (f"{drift.key.scenario} {drift.key.tool} {drift.key.level}", NAMES[drift.key.figure], _interval(drift))
        for drift in other.drifts
    ]
    least = (f"{NAMES[figure]} {percent_of(other.deltas[figure]):.1f} %" for figure in (GOODPUT, PER_CORE))
    notes = [f"No less is called a difference than 3 %, or what the A/A pairs of both runs show: {', '.join(least)}."]
    if not rows:
        notes.insert(0, "No null server was measured often enough in both runs: what the host did is not known.")
    title = shown(f"{one} to {other.name}: the null server, which is the same in both")
    columns = ("cell", "figure", "change")
    return Table(title, columns, tuple(tuple(map(shown, row)) for row in rows), labels=2, notes=tuple(notes))


def _interval(drift: Drift) -> str:
    ends = [math.exp(end) for end in (drift.mean, drift.interval.low, drift.interval.high)]
    mean, low, high = map(_percent, ends)
    return f"{mean} ({low} to {high})"


def _row(row: CellDifference) -> tuple[str, ...]:
    service = f"{row.service} to {row.beside}" if row.beside else row.service
    mind = [row.reason] if row.reason else []
    mind += [f"beyond {100 * row.margin:.1f} %"] if row.word == DIFFERS and row.margin is not None else []
    left = [
        f"{side.planned - side.rounds} of {side.planned} rounds left out: {side.cause}"
        for side in (row.before, row.after)
        if side.value is not None and side.cause
    ]
    figures = (_figure(row.before), _figure(row.after), _change(row))
    return row.cell, service, *figures, row.word, "; ".join(dict.fromkeys([*mind, *left])) or NOTHING


def _figure(side: CellFigure) -> str:
    if side.value is None:
        return side.cause or NOTHING
    spread = "" if side.low is None or side.high is None else f" ({number(side.low)} to {number(side.high)})"
    return f"{number(side.value)}{spread}, {side.rounds} round{'' if side.rounds == 1 else 's'}"


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+z.1f} %"


def _change(row: CellDifference) -> str:
    if row.ratio is None:
        return NOTHING
    interval = "" if row.low is None or row.high is None else f" ({_percent(row.low)} to {_percent(row.high)})"
    return _percent(row.ratio) + interval


def _trend_tables(trends: Sequence[Trend]) -> Iterator[Table]:
    for figure in _in_order(trend.figure for trend in trends):
        group = [trend for trend in trends if trend.figure == figure]
        columns = ("cell", "service", "runs", "first", "last", "verdict", "level")
        rows = tuple(tuple(map(shown, _trend_row(trend))) for trend in group)
        title = f"History of {len(group[0].runs)} runs: {_titled(figure)}"
        yield Table(title, columns, rows, labels=2, prose=("verdict", "level"))


def _trend_row(trend: Trend) -> tuple[str, ...]:
    points = [point for point in trend.points if point.value is not None]
    ends = [_figure(points[index]) if points else NOTHING for index in (0, -1)]
    service = f"{trend.service} to {trend.beside}" if trend.beside else trend.service
    count = f"{len(points)} of {len(trend.points)}"
    return trend.cell, service, count, *ends, trend.word, _levels(trend) or trend.reason or NOTHING


def _levels(trend: Trend) -> str:
    return "; ".join(
        f"{_percent(change.ratio)} from {change.run} on"
        + ("" if change.word == CHANGED else f": {change.word}")
        + (f" ({change.reason})" if change.reason else "")
        for change in trend.changes
    )


def _picture(trend: Trend) -> TrendPicture:
    words = f"{trend.word}: {_levels(trend) or trend.reason}".removesuffix(": ")
    return trend_picture(_whose(trend), words, trend)
