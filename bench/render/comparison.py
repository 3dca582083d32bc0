"""A comparison of runs as Markdown and as a page: conclusions, compatibility, then every row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment
from markupsafe import Markup

from bench.analysis.runs.comparison import ComparedRun, RunComparison
from bench.analysis.runs.differences import (
    CORE_IN_TURNS,
    DIFFERS,
    GOODPUT,
    LATENCIES,
    P50,
    P99,
    PER_CORE,
    SPEED,
    CellDifference,
    CellFigure,
    Drift,
    count_words,
)
from bench.analysis.runs.trends import CHANGED, Trend
from bench.core.formats import NOTHING, number, percent, plural
from bench.core.groups import grouped
from bench.core.templates import environment
from bench.render.table import Column, Table, table_of
from bench.render.text import escape, visible
from bench.render.trend_picture import TrendPicture, trend_picture
from bench.stats.change_points import LEAST_RUNS
from bench.stats.estimates import percent_of
from bench.stats.table_verdicts import MARGIN
from bench.words.runs import discrepancy_words

Compared = TypeVar("Compared", CellDifference, Trend)
NAMES = {
    SPEED: "requests/s in turns",
    CORE_IN_TURNS: "requests per CPU second in turns",
    P50: "p50 at the common rate",
    P99: "p99 at the common rate",
    GOODPUT: "goodput",
    PER_CORE: "goodput per core",
}
UNITS = {
    GOODPUT: ", successful responses/s",
    PER_CORE: ", successful responses per CPU second",
    **dict.fromkeys(LATENCIES, ", ms; less is better"),
}
OF_TABLES = (SPEED, CORE_IN_TURNS, *LATENCIES)
_percent = partial(percent, form="+z")
"""Without a minus sign if it rounds to zero."""
MOST = 10
"""The most differences or conclusions that are listed; the rest is counted."""
NOTES = (
    "Figures are geometric means over the valid rounds of a run, with their 95 % intervals. A change is the second run "
    "relative to the first; more is better, except for latencies.",
    "Two runs were not measured at the same time, so nothing here is called faster or slower. 'differs': a change "
    "above 3 % and above what the host may have caused, as the null server shows (Welch's t test, Benjamini-Hochberg "
    "at 5 % over all rows of two runs). Effects that the null server does not show (memory, disk, program layout) are "
    "not excluded. Services of one run are compared in turns and need no null server.",
)
TABLE_NOTE = (
    "In turns and at a common rate, a service's change is relative to the services of its table with the same image in "
    "both runs, round by round. Effects of the host on all of them cancel out, so no null server is needed."
)

TREND_NOTE = (
    f"A change of level needs {LEAST_RUNS} runs or more, and at least two runs at the new level (three from 20 on)."
    " Without a real change, at most 5 % of such tables show one (Benjamini and Hochberg over all trends); a host that"
    " drifts slowly from run to run causes more. Since the best cut is selected, its change tends to be too large."
)


def markdown(found: RunComparison) -> str:
    """The text of comparison.md."""
    return _environment().get_template("comparison.md.jinja").render(_content(found))


def page(found: RunComparison) -> str:
    """index.html: the same, plus a picture of each trend; self-contained."""
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
    templates = environment(
        Path(__file__).parent,
        autoescape=lambda name: bool(name and "html" in name),
        # Names of runs may hide invisible characters: the page shows them.
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
    )
    templates.filters["text"] = lambda value: escape(str(value))
    templates.filters["words"] = discrepancy_words
    return templates


def _content(found: RunComparison) -> dict[str, Any]:
    compared = [other for other in found.compared if other.rows]
    # With trends, only the first and the last run are compared in full.
    shown_runs = compared[-1:] if found.trends else compared
    names = [found.first, *(other.name for other in found.others)]
    title = f"{names[0]} and {names[1]}" if len(names) == 2 else f"{len(names)} runs, {names[0]} to {names[-1]}"
    tables = [*_trend_tables(found.trends), *(table for other in shown_runs for table in _tables(other))]
    return {
        "title": title,
        "first": found.first,
        "others": [other for other in found.others if other.verdict.differences],
        "alike": [other.name for other in found.others if not other.verdict.differences],
        "conclusions": list(_conclusions(found, [row for other in shown_runs for row in other.rows])),
        "tables": tables,
        "notes": (*((TREND_NOTE,) if found.trends else ()), *NOTES, *_of_tables(shown_runs)) if tables else (),
        "MOST": MOST,
    }


def _of_tables(compared: Iterable[ComparedRun]) -> Iterator[str]:
    if any(row.figure in OF_TABLES for other in compared for row in other.rows):
        yield TABLE_NOTE


def _conclusions(found: RunComparison, rows: Sequence[CellDifference]) -> Iterator[str]:
    for other in found.others:
        if not other.verdict.comparable:
            yield f"{other.name} is not comparable with {found.first}: {other.verdict.cause}."
    yield from _first(
        f"{_whose(trend)}: {_percent(change.ratio)} from {change.run} on."
        for trend in found.trends
        for change in trend.changes
        if change.word == CHANGED
    )
    if found.trends and not any(trend.word == CHANGED for trend in found.trends):
        searched = sum(trend.p is not None for trend in found.trends)
        fewer = f", the others have fewer than {LEAST_RUNS} runs" if searched < len(found.trends) else ""
        yield f"No change of level shown ({searched} of {len(found.trends)} trends searched{fewer})."
    yield from _first(
        f"{_whose(row)} differs: {_change(row)}, {row.one} to {row.other}." for row in rows if row.word == DIFFERS
    )
    if rows:
        counts = ", ".join(f"{word} {count}" for word, count in count_words(rows).items())
        yield f"{len(rows)} figures are in both runs: {counts}."
    elif found.compared:
        yield "The runs have no measured cell in common."


def _first(sentences: Iterable[str]) -> Iterator[str]:
    every = list(sentences)
    yield from every[:MOST]
    if len(every) > MOST:
        yield f"{len(every) - MOST} more are in the tables below."


def _by_figure(rows: Iterable[Compared]) -> list[tuple[str, list[Compared]]]:
    """The rows of each figure, those of tables first."""
    groups = grouped(rows, lambda row: row.figure)
    return [(figure, groups[figure]) for figure in NAMES if figure in groups]


def _whose(row: CellDifference | Trend) -> str:
    return f"{row.service}, {row.cell}, {NAMES[row.figure]}"


def _tables(compared: ComparedRun) -> Iterator[Table]:
    for figure, rows in _by_figure(compared.rows):
        one, other = rows[0].one, rows[0].other
        columns: list[Column[CellDifference]] = [
            Column("cell", lambda row: row.cell, left=True),
            Column("service", lambda row: row.service, left=True),
            Column(one, lambda row: _figure(row.before, _unit(row))),
            Column(other, lambda row: _figure(row.after, _unit(row))),
            Column("change against the others" if figure in OF_TABLES else "change", _change),
            Column("verdict", lambda row: row.word, left=True),
            Column("remarks", _remarks, left=True),
        ]
        yield table_of(f"{other} vs {one}: {NAMES[figure]}{UNITS.get(figure, '')}", columns, rows)
    if any(row.figure not in OF_TABLES for row in compared.rows):
        yield _null_server(compared.rows[0].one, compared)


def _null_server(one: str, other: ComparedRun) -> Table:
    """The change of the null server between the runs, and the smallest change that counts."""
    columns: list[Column[Drift]] = [
        Column("cell", lambda drift: f"{drift.key.scenario} {drift.key.tool} {drift.key.level}", left=True),
        Column("figure", lambda drift: NAMES[drift.key.figure], left=True),
        Column("change", _interval),
    ]
    unknown = "The null server was not measured often enough in both runs, so changes of the host are unknown."
    notes = [*([] if other.drifts else [unknown]), f"Smallest change that counts: {percent_of(MARGIN):.0f} %."]
    title = f"{other.name} vs {one}: the null server (the same in both runs)"
    return table_of(title, columns, other.drifts, notes)


def _interval(drift: Drift) -> str:
    ends = [math.exp(end) for end in (drift.mean, drift.interval.low, drift.interval.high)]
    mean, low, high = map(_percent, ends)
    return f"{mean} ({low} to {high})"


def _remarks(row: CellDifference) -> str:
    remarks = [row.reason] if row.reason else []
    remarks += [f"beyond {100 * row.margin:.1f} %"] if row.word == DIFFERS and row.margin is not None else []
    remarks += [
        f"{side.planned - side.rounds} of {side.planned} rounds left out: {side.cause}"
        for side in (row.before, row.after)
        if side.value is not None and side.cause
    ]
    return "; ".join(dict.fromkeys(remarks)) or NOTHING


def _unit(row: CellDifference) -> float:
    """The factor by which its figures are shown: latencies in milliseconds."""
    return 1000 if row.figure in LATENCIES else 1


def _figure(side: CellFigure, unit: float = 1) -> str:
    if side.value is None:
        return side.cause or NOTHING
    ends = [number(unit * end) for end in (side.low, side.high) if end is not None]
    spread = f" ({' to '.join(ends)})" if len(ends) == 2 else ""
    return f"{number(unit * side.value)}{spread}, {plural(side.rounds, 'round')}"


def _change(row: CellDifference) -> str:
    if row.ratio is None:
        return NOTHING
    interval = "" if row.low is None or row.high is None else f" ({_percent(row.low)} to {_percent(row.high)})"
    return _percent(row.ratio) + interval


def _trend_tables(trends: Iterable[Trend]) -> Iterator[Table]:
    def end(place: int, trend: Trend) -> str:
        known = [point for point in trend.points if point.value is not None]
        return _figure(known[place]) if known else NOTHING

    def count(trend: Trend) -> str:
        return f"{sum(point.value is not None for point in trend.points)} of {len(trend.points)}"

    columns: list[Column[Trend]] = [
        Column("cell", lambda trend: trend.cell, left=True),
        Column("service", lambda trend: trend.service, left=True),
        Column("runs", count),
        Column("first", partial(end, 0)),
        Column("last", partial(end, -1)),
        Column("verdict", lambda trend: trend.word, left=True),
        Column("level", lambda trend: _levels(trend) or trend.reason or NOTHING, left=True),
    ]
    for figure, rows in _by_figure(trends):
        yield table_of(f"Trend over {len(rows[0].runs)} runs: {NAMES[figure]}{UNITS[figure]}", columns, rows)


def _levels(trend: Trend) -> str:
    return "; ".join(
        f"{_percent(change.ratio)} from {change.run} on"
        + ("" if change.word == CHANGED else f": {change.word}")
        + (f" ({change.reason})" if change.reason else "")
        for change in trend.changes
    )


def _picture(trend: Trend) -> TrendPicture:
    words = f"{trend.word}: {_levels(trend) or trend.reason}".removesuffix(": ")
    changes = [trend.runs.index(change.run) for change in trend.changes]
    return trend_picture(_whose(trend), words, trend.points, changes)
