"""A run's events in words: a cell for each service and event, what differs, what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.events import NULL, EventRow, EventTable, Kind, event_table
from bench.analysis.services import Places, coordinates_of, pairs_of, places_of
from bench.core.formats import NOTHING, listed, plural
from bench.core.groups import grouped
from bench.plan.events import event_kind
from bench.records.event import EventRecord
from bench.run.facts import Defaults, RunFacts
from bench.words.event_cells import cell_words
from bench.words.event_findings import Finding, by_question, named_cells, ordered_findings
from bench.words.event_losses import differ_words
from bench.words.event_settings import DEFAULTS, settings_sentences
from bench.words.event_words import CellWords, seconds_of, span, words_of
from bench.words.names import labels_of
from bench.words.remarks import aside_words
from bench.words.texts import TEXTS

MOST_SENTENCES = 10
"""The findings that are shown; the rest is folded."""
SAME_SHARE = 0.01
MOST_ACROSS = 12
"""The most services in the columns of a table; more are in its rows."""


@dataclass(frozen=True, slots=True)
class EventRowText:
    """A row in words; `load`: its rate and the client's timeout; `differ`: whether its services differ."""

    row: EventRow
    load: str
    cells: Mapping[str, CellWords]
    differ: str

    @property
    def name(self) -> str:
        """The event and its case."""
        return self.row.name


@dataclass(frozen=True, slots=True)
class EventsText:
    """The events of a run in words; `documented` is (event, services, what their documentation says)."""

    table: EventTable
    title: str
    labels: Mapping[str, str]
    rows: tuple[EventRowText, ...]
    all_findings: tuple[Finding, ...]
    """The most important first."""
    advice: tuple[str, ...]
    documented: tuple[tuple[str, str, str], ...]
    cannot: tuple[tuple[str, str, str], ...]
    """(event, services, why they have no counts)."""
    defaults: tuple[tuple[str, ...], ...] = ()
    """What servers do without a flag: (what, services, value, what they were given instead, source)."""
    aside: tuple[str, ...] = ()
    """A sentence on the services whose figures have a known cause."""
    settings: tuple[str, ...] = ()
    """What decides the losses, by the servers' documentation."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings in words."""
        return tuple(finding.words for finding in self.all_findings)

    @property
    def questions(self) -> Mapping[str, tuple[str, ...]]:
        """The findings by the question that they answer."""
        return by_question(self.all_findings)

    @property
    def findings(self) -> tuple[str, ...]:
        """The ones that are shown."""
        return self.sentences[:MOST_SENTENCES]

    @property
    def more_findings(self) -> tuple[str, ...]:
        """The ones that are folded."""
        return self.sentences[MOST_SENTENCES:]

    @property
    def services_down(self) -> bool:
        """Whether the table has its services in rows and its events in columns."""
        return len(self.table.services) > MOST_ACROSS

    @property
    def planned(self) -> int:
        """Events in all rounds."""
        return sum(len(cell.records) for cell in self.table.cells)

    @property
    def counted(self) -> int:
        """Events whose counts are compared."""
        return sum(len(cell.counted) for cell in self.table.cells)


def describe_events(records: Sequence[EventRecord], facts: RunFacts) -> EventsText | None:
    """The events of a run in words; None in a run without any. Pure."""
    if not records:
        return None
    table = event_table(records, pairs_of(facts), [*facts.services])
    # A record of an event that a service does not support has no Python version; run.json has it.
    known = [one for one in records if one.server and one.service != NULL]
    places = {one.service: coordinates_of(one) for one in known} | places_of(facts, [])
    services = [name for name in table.services if name != NULL]
    labels = event_labels(services, places)
    return EventsText(
        table,
        _title(table),
        labels,
        tuple(_row(row, table, labels) for row in table.rows),
        (*ordered_findings(table, labels),),
        (*_advice(table), *_advice_of_events(table, labels)),
        (*_by_text(((one, one.documented) for one in records), labels),),
        (*_by_text(((one.records[0], one.reason) for one in table.cells if one.kind is not Kind.COUNTED), labels),),
        (*_defaults(facts.defaults, labels),),
        tuple(aside_words({name: facts.service(name).caveats for name in services}, labels, "Keep in mind")),
        tuple(settings_sentences(table, facts.defaults, labels)),
    )


def event_labels(services: Sequence[str], places: Places) -> dict[str, str]:
    """The short names of services in a heat map, and that of the null server."""
    short = labels_of(services, places) if len(services) > 1 else {name: one.stack for name, one in places.items()}
    return {**{name: short.get(name, name) for name in services}, NULL: "null (nginx)"}


def _title(table: EventTable) -> str:
    counted = [one for cell in table.cells for one in cell.records if one.service != NULL]
    rates = {row.event: [case.most_rate for case in event_kind(row.event).cases] for row in table.rows}
    faster = [event for event, of_cases in rates.items() if None in of_cases]
    shares = [one.share for one in counted if one.share is not None and one.event not in faster]
    fewer = any(len(cell.records) < table.rounds for cell in table.cells if cell.service != NULL)
    words = [f"{'up to ' * fewer}{plural(table.rounds, 'round')}"]
    if shares:
        more = f" (more under {listed(faster)})" if faster else ""
        words.append(f"at most {100 * max(shares):.0f} % of each service's capacity{more}")
    return f"Lost requests: {', '.join(words)}"


def _row(row: EventRow, table: EventTable, labels: Mapping[str, str]) -> EventRowText:
    return EventRowText(
        row,
        _load(row),
        {name: cell_words(row.cells[name]) if name in row.cells else CellWords(NOTHING) for name in table.services},
        differ_words(row, labels),
    )


def _load(row: EventRow) -> str:
    """`20/s, 5 s`; a share where that is the same for all services and the rate is not."""
    rates, shares, timeouts = (row.figures(name) for name in ("rate", "share", "timeout_s"))
    words = [f"{span(rates, '{:g}'.format)}/s"] if rates else []
    if words and rates[0] < rates[-1] and len(shares) == len(rates) and shares[-1] - shares[0] < SAME_SHARE:
        words = [f"{100 * shares[0]:.0f} % of capacity"]
    return ", ".join([*words, *([seconds_of(timeouts)] if timeouts else [])]) or NOTHING


def _advice(table: EventTable) -> Iterable[str]:
    """How many rounds would decide the open differences."""
    undecided = [one for row in table.rows for one in row.contrasts if one.needed is not None]
    if not undecided:
        return
    needed = sorted(one.needed or 0 for one in undecided)
    # Enough for three in four of them: the last ones often need many more.
    rounds = needed[(3 * len(needed) - 1) // 4]
    settled = sum(one <= rounds for one in needed)
    who = "it" if len(undecided) == 1 else f"{settled:,} of them" if settled < len(undecided) else "them"
    differences, have = plural(len(undecided), "difference", ","), "has" if len(undecided) == 1 else "have"
    yield TEXTS["after"]["events"].format(differences=differences, have=have, rounds=rounds, which=who)


def _advice_of_events(table: EventTable, labels: Mapping[str, str]) -> Iterable[str]:
    """What would make the answer of single events clearer."""
    for event, rows in grouped(table.rows, lambda row: row.event).items():
        yield from words_of(event).advice(named_cells(rows, labels))


def _by_text(found: Iterable[tuple[EventRecord, str]], labels: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Each text once for an event, with the services it applies to."""
    groups = grouped((one for one in found if one[1]), lambda one: (one[0].event, one[1]))
    for (event, text), own in groups.items():
        yield event, listed(list(dict.fromkeys(labels[record.service] for record, _ in own))), text


WITHOUT_KNOB = frozenset({"silent", "respawn"})


def _defaults(defaults: Mapping[str, Defaults], labels: Mapping[str, str]) -> Iterable[tuple[str, ...]]:
    """A row for each kind and default, with the services that share it."""
    for kind, what in DEFAULTS.items():
        entries = [(name, defaults.get(name, {}).get(kind, {})) for name in labels]
        rows = grouped(entries, lambda one: tuple(one[1].get(key) for key in ("value", "given", "source")))
        for (value, given, source), group in rows.items():
            if value:
                started = f"{given}" if kind == "backlog" else f"{given} s"
                same = given is None or started == value.replace(",", "")
                words = NOTHING if kind in WITHOUT_KNOB else "its default" if same else started
                yield what, listed([labels[name] for name, _ in group]), value, words, str(source)
