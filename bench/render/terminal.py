"""The answer that the terminal shows at the end of a run: each question, its ranking and the findings. Pure."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bench.core.formats import NOTHING, plural
from bench.core.groups import grouped
from bench.matrix.start_command import in_lines
from bench.render.columns import ranking_columns
from bench.render.in_turns import grid_table
from bench.render.report import Report
from bench.render.table import Table as Figures
from bench.render.table import table_of
from bench.render.text import visible
from bench.words.conclusions import RankingText
from bench.words.events import EventsText
from bench.words.names import loaded_words, scenario_words

WIDTH = 80
NARROWEST = 60
MOST_ROWS = 12
"""The most services of a table; report.md has all of them."""
MOST_SENTENCES = 3
MOST_NOTES = 3
MOST_OPEN = 2
COMPARED = ("ratio", "published")
"""Columns of services measured alone that report.md has and the terminal has no room for."""
CELL_WIDTH = 24
"""Columns of the terminal that a service takes in a table of events."""
STYLES = {"bad": "bold", "good": "", "": "dim"}
"""By the mark of a cell."""


def terminal(report: Report, rankings: Sequence[RankingText], width: int = WIDTH, colors: bool = False) -> str:
    """The answer as text of at most `width` columns, ending in a newline; `colors` adds ANSI sequences."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=max(width, NARROWEST),
        force_terminal=colors,
        color_system="standard" if colors else None,
        highlight=False,
        emoji=False,
        markup=False,
        _environ={},  # the terminal is the caller's, not this process's
    )
    console.print(Group(*_answer(report, rankings, console.width)), crop=False)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _answer(report: Report, rankings: Sequence[RankingText], width: int) -> Iterator[RenderableType]:
    yield _text(report.condition, "dim")
    if report.events:
        yield from _events(report.events, width)
    for request, answer in report.own_app:
        yield from ("", _text(request, "bold"), _text(answer))
    if rankings:
        for question, tables in grouped(rankings, lambda text: text.question).items():
            yield from ("", _text(question, "bold"))
            for table in tables:
                yield from _table(table)
        for one in report.knees:
            yield from ("", _text(one.question, "bold"), *_said((one.sentence, *one.more), MOST_SENTENCES))
    else:
        yield from _without_ranking(report)
    for ending in report.own_app_choices:
        yield from ("", _text(f"What to run, in the app's folder: {ending.requests}", "bold"))
        for choice in ending.choices:
            yield from ("", _text(choice.words))
            yield from (_command(command) for command in choice.commands)
            yield from (_text(words) for words in choice.more)
            yield from (_text(f"To find its best number of {choice.knob}:"), _command(choice.other_numbers))
        yield ""
        yield from (_text(words, "dim") for words in ending.notes)
    if report.advice:
        left = len(report.advice) - MOST_OPEN
        more = [f"and {plural(left, 'more line')} in report.md"] if left > 0 else []
        yield ""
        yield from (_text(f"Open: {line}", "yellow") for line in report.advice[:MOST_OPEN])
        yield from more


def _without_ranking(report: Report) -> Iterator[RenderableType]:
    for question, conclusions in report.conclusions:
        yield ""
        if question:
            yield _text(question, "bold")
        yield from (_text(one.sentence) for one in conclusions)
    for figures in report.tables:
        yield from _alone(figures)


def _text(words: str, style: str = "") -> Text:
    return Text(visible(words), style)


def _events(events: EventsText, width: int) -> Iterator[RenderableType]:
    """Events down, as many services across as fit, the other services below; for many services, only what was found."""
    yield from ("", _text(events.title, "bold"))
    if not events.services_down:
        yield from _event_tables(events, width)
    yield from _said(events.findings, len(events.findings))
    if events.more_findings:
        yield f"and {plural(len(events.more_findings), 'more finding')} in report.md"
    if events.services_down:
        yield f"The table of {plural(len(events.labels) - 1, 'service')} is in report.md."


def _event_tables(events: EventsText, width: int) -> Iterator[RenderableType]:
    names = {row.name: f"{row.name} ({row.load})" if row.load != NOTHING else row.name for row in events.rows}
    name_width = max(map(len, names.values()))
    in_a_row = max(1, (width - name_width) // CELL_WIDTH)
    services = events.table.services
    for first in range(0, len(services), in_a_row):
        shown = services[first : first + in_a_row]
        table = _plain_table()
        table.add_column("event (load, client timeout)", overflow="fold")
        for name in shown:
            table.add_column(_text(events.labels[name]), overflow="fold")
        # The null server has one case of some events.
        for row in (one for one in events.rows if not one.row.cells.keys().isdisjoint(shown)):
            table.add_row(
                _text(names[row.name]), *(_text(row.cells[name].head, STYLES[row.cells[name].mark]) for name in shown)
            )
        yield from ("", table)


def _said(sentences: Sequence[str], most: int) -> Iterator[RenderableType]:
    if not sentences:
        return
    said = Table.grid(padding=(0, 1, 0, 0))
    for words in sentences[:most]:
        said.add_row("-", _text(words))
    yield from ("", said)


def _command(words: str) -> RenderableType:
    """Only broken where a shell continues lines, so that it can be pasted."""
    return Text(visible(in_lines(words, WIDTH)), no_wrap=True, overflow="ignore")


def _table(text: RankingText) -> Iterator[RenderableType]:
    ranking = text.ranking
    rows = ranking.rows[:MOST_ROWS]
    load = loaded_words(ranking, f"{ranking.tool} {ranking.level}")
    title = f"{scenario_words(ranking.scenario, ranking.wait)}, {load}, {plural(ranking.rounds, 'round')}"
    yield from ("", _text(title, "underline"))
    if text.grid and {row.service for row in ranking.rows} == set(text.grid.services):
        # One knob by the other, instead of a row for each pair of values.
        yield _figures(grid_table(text, text.grid))
        yield from _said(text.sentences, 2 * MOST_SENTENCES)
        return
    percentiles = ranking.latency.percentiles if ranking.latency else ()
    # Short names, so that names of services stay whole beside two percentiles.
    figures = table_of("", [one.on_terminal() for one in ranking_columns(text, text.name) if one.short], rows)
    # Less space, so that the additional columns fit.
    space = 1 if text.waits or percentiles else 2
    yield _figures(figures, space, {"service"}, ["bold" if row.tier == 1 else "" for row in rows])
    if text.waits:
        yield _text("at once: requests that it handles at the same time (threads or workers); all: no limit", "dim")
    left = len(ranking.rows) - len(rows)
    if left:
        yield _text(f"and {plural(left, 'more service')} in report.md")
    missing = [row for row in rows if row.goodput is None or row.rank is None]
    for row in missing[:MOST_NOTES]:
        yield Padding(_text(f"{text.name(row.service)}: {text.notes[row.service] or 'no figure'}", "dim"), (0, 0, 0, 2))
    yield from _said(text.sentences, MOST_SENTENCES + bool(percentiles))


def _alone(figures: Figures) -> Iterator[RenderableType]:
    """Services measured alone: their figures, without what compares them."""
    kept = figures.only([place for place, name in enumerate(figures.columns) if name not in COMPARED])
    shown = replace(kept, rows=kept.rows[:MOST_ROWS])
    yield from ("", _text(figures.title, "underline"), _figures(shown, 1, kept.columns))
    if (left := len(figures.rows) - MOST_ROWS) > 0:
        yield _text(f"and {plural(left, 'more row')} in report.md")


def _plain_table(space: int = 2) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, space, 0, 0), header_style="dim")


def _figures(
    figures: Figures, space: int = 2, wraps: Container[str] | None = None, styles: Iterable[str] = ()
) -> Table:
    """A table of texts. `wraps`: the columns that are wrapped to be whole; by default words are, and may be cut."""
    table = _plain_table(space)
    for name, left in zip(figures.columns, figures.left, strict=True):
        whole = wraps is not None and name in wraps
        no_wrap = not (left if wraps is None else whole)
        table.add_column(name, overflow="fold" if whole else "ellipsis", no_wrap=no_wrap)
        table.columns[-1].justify = "left" if left else "right"
    for row, style in zip_longest(figures.rows, styles):
        table.add_row(*map(_text, row), style=style)
    return table
