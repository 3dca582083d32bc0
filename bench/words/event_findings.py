"""Findings on a run's events: a sentence each, the most important first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.analysis.events import EventRow, EventTable, Kind
from bench.core.formats import capital, listed
from bench.core.groups import grouped
from bench.plan.event import Losses, Question
from bench.plan.events import event_kind
from bench.stats.event_counts import share
from bench.words.event_cells import GAP_S
from bench.words.event_losses import Labels, counted_in, loss_sentences, relief_of, relief_words
from bench.words.event_words import (
    BAD,
    FEW,
    GONE,
    KNOWN,
    LOST,
    OPEN,
    EventWords,
    Named,
    grouped_names,
    in_rounds,
    largest_first,
    seconds_words,
    words_of,
)

SEVERAL = "Several events"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its weight, one of GONE to KNOWN."""

    event: str
    weight: int
    words: str


def ordered_findings(table: EventTable, labels: Labels) -> list[Finding]:
    """What goes wrong, then the rest: the first finding of each event and weight, then the second ones, and so on."""
    findings, seen = [*_findings(table, labels)], Counter[tuple[str, int]]()
    places = []
    for finding in findings:
        key = finding.event, finding.weight
        places.append((finding.weight >= OPEN, seen[key], finding.weight))
        seen[key] += 1
    order = sorted(range(len(findings)), key=lambda place: (places[place], place))
    return [findings[place] for place in order]


def by_question(findings: Iterable[Finding]) -> dict[str, tuple[str, ...]]:
    """The sentences by the question that their event answers; those on several events come first."""
    groups = grouped(findings, lambda one: str(event_kind(one.event).question or SEVERAL))
    order = (SEVERAL, *Question)
    return {str(name): tuple(one.words for one in groups[name]) for name in order if name in groups}


def named_cells(rows: Iterable[EventRow], labels: Labels) -> list[tuple[EventRow, Named]]:
    """The rows, each with its cells that have counts, by the label of their service."""
    return [(row, {labels[name]: cell for name, cell in counted_in(row).items()}) for row in rows]


def _findings(table: EventTable, labels: Labels) -> Iterator[Finding]:
    yield from (Finding("", GONE, words) for words in _gone(table, labels))
    for event, rows in grouped(table.rows, lambda row: row.event).items():
        words, losses = words_of(event), event_kind(event).losses
        for row in rows if losses is not Losses.NOT_COMPARED else ():
            if losses is not Losses.INTENDED or row.differing or row.apart:
                # Who loses more comes last if other sentences say what the event shows.
                weight = KNOWN if losses is Losses.INTENDED else _weight_of_losses(row)
                yield from (Finding(event, weight, text) for text in loss_sentences(row, rows, labels))
        named = named_cells(rows, labels)
        for row, cells in named:
            yield from (Finding(event, weight, text) for weight, text in words.findings(row, cells))
        yield from (Finding(event, BAD, text) for text in _unseen(rows, labels))
        yield from (Finding(event, BAD, text) for text in _silence(words, named))
        yield from (Finding(event, weight, text) for weight, text in words.of_rows(named))
    yield from (Finding("", KNOWN, text) for text in _nothing_lost(table))


def _weight_of_losses(row: EventRow) -> int:
    cells = counted_in(row).values()
    few = all(share(cell.counts) < FEW for cell in cells)
    return OPEN if few and len(cells) > 1 and not (row.differing or row.apart) else LOST


def _gone(table: EventTable, labels: Labels) -> Iterator[str]:
    """Which services never came back, and after which events; other sentences say which whole servers ended."""
    gone: dict[str, list[str]] = {}
    ended = False
    for row in table.rows:
        kind = event_kind(row.event)
        for name, cell in () if kind.queues or kind.losses is Losses.NOT_COMPARED else row.cells.items():
            ended |= bool(cell.figures("ended_s"))
            if cell.gone > len(cell.figures("ended_s")):
                gone.setdefault(labels[name], []).append(_plain(row) + in_rounds(cell.gone, len(cell.counted)))
    if gone:
        aside = ", besides servers that ended as a whole" if ended else ""
        yield f"Never came back{aside}: {listed([f'{name} ({listed(own)})' for name, own in gone.items()])}."


def _nothing_lost(table: EventTable) -> Iterator[str]:
    """The events in which no service lost a request."""
    reliefs = [relief_of(row, table.rows) for row in table.rows if relief_words(row, table.rows)]
    rows = [row for row in table.rows if event_kind(row.event).losses is Losses.ASKED and counted_in(row)]
    none = [row for row in rows if row not in reliefs and not any(cell.lost for cell in counted_in(row).values())]
    for template, group in grouped(none, lambda row: words_of(row.event).none_lost).items():
        sent = sum(cell.sent for row in group for cell in counted_in(row).values())
        names = [words_of(row.event).in_list.format(case=row.case) or _plain(row) for row in group]
        yield template.format(listed(names), sent)


def _plain(row: EventRow) -> str:
    """Its name without commas, for a list."""
    return row.name.replace(", ", " ")


def _unseen(rows: Sequence[EventRow], labels: Labels) -> Iterator[str]:
    """What was triggered but had no effect."""
    without_effect: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        unseen = [(cell.reason, labels[name]) for name, cell in row.cells.items() if cell.kind is Kind.UNSEEN]
        for reason, own in grouped(unseen, lambda one: one[0]).items():
            without_effect.setdefault((reason, listed([label for _, label in own])), []).append(row.name)
    for (reason, services), names in without_effect.items():
        name = names[0].replace(", ", " ") if len(names) == 1 else f"{rows[0].event} in {len(names)} cases"
        yield f"{capital(name)} had no effect on {services} ({reason})."


def _silence(words: EventWords, rows: Sequence[tuple[EventRow, Named]]) -> Iterator[str]:
    """The longest time without a good answer, unless it is short."""
    parts = []
    for case, own in grouped(rows if words.outage else (), lambda one: words.outages.get(one[0].case, "")).items():
        longest: dict[str, float] = {}
        for _, cells in own:
            for name, cell in cells.items():
                if cell.gap_s is not None and cell.gap_s >= GAP_S and not cell.gone:
                    longest[name] = max(cell.gap_s, longest.get(name, 0.0))
        if names := grouped_names((f"{seconds_words(gap)} s for", name) for name, gap in largest_first(longest)):
            parts.append(f"{case}: {names}")
    if parts:
        yield f"Longest outage {words.outage}{';'.join(parts)}."
