"""A run's events for the page: a heat map, and each cell with its counts by round and the timeline that it opens to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bench.analysis.events import EventCell, EventRow, Kind
from bench.core.formats import NOTHING, megabytes, milliseconds, size
from bench.plan.events import event_kind
from bench.records.event import EventRecord, Fate
from bench.render.page.windows import compressed
from bench.render.text import rounded
from bench.stats.table_verdicts import NO_WINNER
from bench.words.event_cells import FATES
from bench.words.event_words import seconds_words, words_of
from bench.words.events import EventRowText, EventsText

MOST_BYTES = 1_500_000
"""The most that all timelines of a page may take; beyond it, each cell only has that of its worst round."""


SEVERE = (0.001, 0.01, 0.1)
"""Shares of lost requests from which a cell of the heat map is a shade darker."""
GONE = len(SEVERE) + 1
BAD = 2
"""The severity of what is bad without a loss."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One figure of an event on a service. `severity`: 0 to GONE, None without a count; `part`: what it opens to."""

    text: str
    severity: int | None
    words: str
    part: int | None


def heat_map(events: EventsText) -> dict[str, list[tuple[str, list[HeatCell]]]]:
    """(event, its cells) by the question that the event answers, in the order of the events."""
    services, groups = events.table.services, dict[str, list[tuple[str, list[HeatCell]]]]()
    for place, row in enumerate(events.rows):
        first = len(services) * place
        cells = [_heat_cell(events, row, name, part) for part, name in enumerate(services, first)]
        question = str(event_kind(row.row.event).question or "Other events")
        groups.setdefault(question, []).append((row.name, cells))
    return groups


def _heat_cell(events: EventsText, row: EventRowText, name: str, part: int) -> HeatCell:
    cell, words = row.row.cells.get(name), row.cells[name]
    if cell is None:
        return HeatCell(NOTHING, None, words.head, None)
    text, severity = _figure(cell, bad=words.mark == "bad")
    return HeatCell(text, severity, f"{events.labels[name]}, {row.name}: {words.line()}", part)


def _figure(cell: EventCell, *, bad: bool) -> tuple[str, int | None]:
    """The share of requests that were lost, or the event's own figure."""
    if cell.kind is not Kind.COUNTED:
        return ("n/a" if cell.kind is Kind.CANNOT else "?"), None
    if cell.gone:
        return "gone", GONE
    if short := words_of(cell.event).short:
        text = short(cell)
        return (text, BAD if bad else 0) if text else ("?", None)
    if not cell.lost:
        return "0", 0
    share = cell.lost / cell.sent
    return (size(share) if share >= SEVERE[0] else "< 0.1 %"), 1 + sum(share >= least for least in SEVERE)


def event_parts(events: EventsText) -> list[str]:
    """A part for each cell, by rows, then services; empty if a row has no cell for a service."""
    parts = _parts(events, all_rounds=True)
    return parts if sum(map(len, parts)) <= MOST_BYTES else _parts(events, all_rounds=False)


def _parts(events: EventsText, *, all_rounds: bool) -> list[str]:
    parts = []
    for row in events.rows:
        for name in events.table.services:
            cell = row.row.cells.get(name)
            part = rounded(_cell(events, row, cell, all_rounds=all_rounds)) if cell else None
            parts.append(compressed(json.dumps(part, separators=(",", ":"))) if part else "")
    return parts


def _cell(events: EventsText, row: EventRowText, cell: EventCell, *, all_rounds: bool) -> dict[str, Any]:
    worst = max(cell.records, key=lambda one: (one.lost, one.longest_gap_s or 0.0))
    documented = dict.fromkeys(one.documented for one in cell.records if one.documented)
    return {
        "title": f"{row.name}: {events.labels[cell.service]}",
        "words": row.cells[cell.service].line(),
        "reason": cell.reason,
        "documented": list(documented),
        "against": [*_against(events, row.row, cell.service)],
        "worst": cell.records.index(worst),
        "rounds": [_round(one, drawn=all_rounds or one is worst) for one in cell.records],
    }


def _against(events: EventsText, row: EventRow, service: str) -> Iterable[str]:
    """Its verdicts against the other services."""
    for contrast in row.contrasts:
        if service in (contrast.a, contrast.b) and contrast.verdict != NO_WINNER:
            other = events.labels[contrast.b if service == contrast.a else contrast.a]
            more = (contrast.verdict == "loses more") == (service == contrast.b)
            yield f"loses {'more' if more else 'less'} than {other} (p = {contrast.p:.2g}, corrected)"
    yield from (f"{one.verdict} than all others together (p = {one.p:.2g})" for one in row.apart if one.b == service)


def _round(record: EventRecord, *, drawn: bool) -> dict[str, Any]:
    bins = record.timeline if drawn else ()
    return {
        "round": record.round,
        "words": [(name, value) for name, value in _every(record) if value != NOTHING],
        "actions": [[one.at_s, one.what, one.took_s] for one in record.actions],
        "at": [one.at_s for one in bins],
        "good": [one.good for one in bins],
        "failed": [one.failed for one in bins],
        "p99": [one.p99_s for one in bins],
        "points": [[one.done, one.held] for one in record.points],
        "reloads": record.extras.get("reloads") is not None,
    }


def _every(record: EventRecord) -> Iterable[tuple[str, str]]:
    yield "ended", f"{record.ended}: {record.detail}" if record.detail else str(record.ended)
    if record.sent is None:
        return
    yield "sent", f"{record.sent:,}"
    for fate in Fate:
        if count := record.fates.get(fate):
            yield FATES[fate], f"{count:,}"
    seconds = {"client timeout": "timeout_s", "longest outage": "longest_gap_s"}
    seconds |= {"back to normal after": "recovered_s", "time to exit": "exit_s"}
    for name, field in seconds.items():
        yield name, _known(record, field, lambda value: f"{seconds_words(value)} s")
    for name, field in {"p99 before": "p99_before_s", "p99 from the event until 5 s after it": "p99_around_s"}.items():
        yield name, _known(record, field, milliseconds)
    yield "rate", _known(record, "rate", lambda value: f"{value:.4g} requests/s")
    yield "services under this event at the same time", _known(record, "beside", lambda value: f"{value + 1:.0f}")
    yield "capacity", _known(record, "capacity", lambda value: f"{value:.4g} requests/s")
    yield "memory before", _known(record, "memory_before_bytes", megabytes)
    yield "peak memory", _known(record, "memory_peak_bytes", megabytes)
    yield "workers before and after", f"{_pids(record.workers_before)}; {_pids(record.workers_after)}"
    if record.happened_by:
        yield "evidence", record.happened_by
    yield "requests that the client sent late (p99)", _known(record, "late_p99_s", milliseconds)
    for cause in record.causes:
        yield "not valid", cause
    for name, value in record.extras.items():
        if value is not None:
            yield name.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value)


def _known(record: EventRecord, field: str, write: Any) -> str:
    value = getattr(record, field)
    return record.missing.get(field, NOTHING) if value is None else str(write(value))


def _pids(found: Iterable[int]) -> str:
    return ", ".join(map(str, found)) or NOTHING
