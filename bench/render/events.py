"""The tables of a run's events, for report.md and the page: losses, what is behind them, and documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bench.analysis.events import EventCell, Kind
from bench.core.formats import NOTHING, listed, megabytes, milliseconds, number
from bench.render.table import Column, Table, table_of
from bench.render.text import NOTES
from bench.stats.event_counts import LEAST_ROUNDS, UNSEEN, UNSEEN_SHARE, unseen_one_in
from bench.words.event_cells import outcome_words
from bench.words.event_losses import counted_in
from bench.words.event_words import seconds_words, span
from bench.words.events import EventRowText, EventsText

DIFFER, LOAD = "do they differ?", "load, client timeout"


def event_tables(events: EventsText) -> list[Table]:
    """The table of counts first, then what is behind it."""
    outcomes = outcomes_table(events)
    return [counts_table(events), *([outcomes] if outcomes.rows else []), *_listed(events)]


def counts_table(events: EventsText) -> Table:
    """Events down and services across; for many services, the other way round, and without details."""
    rounds = events.table.rounds
    tested = any(row.row.contrasts for row in events.rows) and rounds >= LEAST_ROUNDS
    words = (rounds, unseen_one_in(rounds), UNSEEN, 100 * UNSEEN_SHARE)
    how = " ".join([NOTES["events"], *([NOTES["tested"].format(*words)] if tested else [])])
    notes = (how, *_at_once(events), *events.aside, *([NOTES["floor"]] if "null" in events.table.services else []))

    def cell(service: str) -> Callable[[EventRowText], str]:
        return lambda row: row.cells[service].head if events.services_down else row.cells[service].line()

    load: Column[EventRowText] = Column(LOAD, lambda row: row.load)
    columns: list[Column[EventRowText]] = [
        Column("event", lambda row: row.name, left=True),
        *([] if events.services_down else [load]),
        *(Column(events.labels[name], cell(name), left=True) for name in events.table.services),
        Column(DIFFER, lambda row: row.differ, left=True),
        *([load] if events.services_down else []),
    ]
    table = table_of(events.title, columns, events.rows, notes)
    return table.turned("service") if events.services_down else table


def _at_once(events: EventsText) -> Iterator[str]:
    """How many windows of an event ran at once, and under which events one at a time."""
    beside = {
        row.name: max(one.beside or 0 for cell in row.row.cells.values() for one in cell.records)
        for row in events.rows
        if counted_in(row.row)
    }
    if any(beside.values()):
        # A row with only one service could have had no other beside it.
        alone = [row.row for row in events.rows if beside.get(row.name) == 0 and len(counted_in(row.row)) > 1]
        shared = {row.row.event for row in events.rows if beside.get(row.name)}
        names = list(dict.fromkeys(row.name if row.event in shared else row.event for row in alone))
        more = f"; only one at a time under {listed(names)}" if names else ""
        yield NOTES["beside"].format(max(beside.values()) + 1, more)


def outcomes_table(events: EventsText) -> Table:
    """What happened to the lost requests of each cell, and its times; ranges are over the rounds."""
    cells = [
        (row.name, events.labels[name], cell)
        for row in events.rows
        for name, cell in row.row.cells.items()
        if cell.kind is Kind.COUNTED
    ]

    def figure(title: str, name: str, write: Callable[[float], str]) -> Column[tuple[str, str, EventCell]]:
        return Column(title, lambda one: _span(one[2].figures(name), write), optional=True)

    columns: list[Column[tuple[str, str, EventCell]]] = [
        Column("event", lambda one: one[0], left=True),
        Column("service", lambda one: one[1], left=True),
        Column("rounds", lambda one: str(len(one[2].counted))),
        Column("requests/s", lambda one: _span(one[2].figures("rate"), number)),
        Column("lost in each round", lambda one: ", ".join(f"{lost:,.0f}" for lost, _ in one[2].counts)),
        Column("outcomes", lambda one: outcome_words(one[2]) or NOTHING, left=True),
        figure("longest outage", "longest_gap_s", _seconds),
        figure("back to normal after", "recovered_s", _seconds),
        figure("p99 before", "p99_before_s", milliseconds),
        figure("p99 around", "p99_around_s", milliseconds),
        figure("memory before", "memory_before_bytes", megabytes),
        figure("peak memory", "memory_peak_bytes", megabytes),
    ]
    return table_of("Outcomes of lost requests", columns, cells)


def _seconds(value: float) -> str:
    return f"{seconds_words(value)} s"


def _span(values: Sequence[float], write: Callable[[float], str]) -> str:
    return span(values, write) if values else NOTHING


DEFAULTS = ("what", "services", "the server's default", "started with", "source")


def _listed(events: EventsText) -> Iterator[Table]:
    for title, columns, rows in (
        ("Not counted", ("event", "services", "why"), events.cannot),
        ("What the documentation says", ("event", "services", "documentation"), events.documented),
        ("Defaults of the servers", DEFAULTS, events.defaults),
    ):
        if rows:
            yield Table(title, columns, rows, (True,) * len(columns))
