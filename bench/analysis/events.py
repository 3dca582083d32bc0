"""A run's events as a table of figures: events down, services across, and which services differ in losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Any

from bench.core.groups import grouped
from bench.events import NAMES
from bench.plan.event import NO_CASE, EventCase, Losses
from bench.plan.events import event_kind
from bench.plan.measurement import Pair
from bench.records.event import LOST, Ended, EventRecord, Fate
from bench.stats.estimates import ERRORS
from bench.stats.event_counts import Counts, corrected, rounds_needed, share
from bench.stats.table_verdicts import NO_WINNER

NULL = "null"
"""The null server (nginx), whose losses are the floor: no service can be expected to lose fewer."""
MORE, LESS = "loses more", "loses less"
OTHERS = "others"
"""In a contrast, all other services together."""
LAST_S = 1.0
"""A service without a good answer during this last part of the window never came back."""


class Kind(StrEnum):
    """The state of a cell over its rounds."""

    COUNTED = "counted"
    CANNOT = "cannot"
    FAILED = "failed"
    UNSEEN = "not seen"
    """The action was carried out without effect: a reload that left the old workers."""
    REFUSED = "not valid"
    """Each of its rounds is invalid, for instance because the client was starved."""


@dataclass(frozen=True)
class EventCell:
    """One event and case of one service, over its rounds."""

    service: str
    records: tuple[EventRecord, ...]

    @property
    def event(self) -> str:
        """The name of its event."""
        return self.records[0].event

    @cached_property
    def counted(self) -> tuple[EventRecord, ...]:
        """The rounds whose counts may be compared."""
        return tuple(record for record in self.records if record.counts and record.sent)

    @property
    def kind(self) -> Kind:
        """The state of the cell."""
        if self.counted:
            return Kind.COUNTED
        ends = {record.ended for record in self.records}
        if Ended.CANNOT in ends:
            return Kind.CANNOT
        if Ended.DONE not in ends:
            return Kind.FAILED
        return Kind.UNSEEN if any(record.happened is False for record in self.records) else Kind.REFUSED

    @property
    def reason(self) -> str:
        """Why there are no counts, from the first round without them."""
        record = next((one for one in self.records if not one.counts), None)
        if record is None:
            return ""
        return record.detail or "; ".join(record.causes) or record.unaccounted or record.happened_by

    @property
    def counts(self) -> Counts:
        """(lost, sent) of each of its rounds."""
        return tuple((record.lost, record.sent or 0) for record in self.counted)

    @property
    def window_s(self) -> float:
        """The longest of its windows."""
        return max((record.window_s or 0.0 for record in self.counted), default=0.0)

    def counts_in(self, window_s: float) -> Counts:
        """(lost, sent) of each of its rounds, had its window been this long.

        A window ends once everything is answered again, so a service that takes longer is sent more requests and would
        seem to lose a smaller share. Requests after the end of a shorter window would have been answered; by a service
        that never came back, none would.
        """
        if event_kind(self.event).for_good:
            return self.counts
        left_out = [(one.rate or 0.0) * max(0.0, window_s - (one.window_s or window_s)) for one in self.counted]
        return tuple(
            (lost + more * is_gone(one), sent + more)
            for one, (lost, sent), more in zip(self.counted, self.counts, left_out, strict=True)
        )

    @property
    def lost(self) -> int:
        """Requests lost in all rounds."""
        return sum(record.lost for record in self.counted)

    @property
    def sent(self) -> int:
        """Requests sent in all rounds."""
        return sum(record.sent or 0 for record in self.counted)

    @property
    def gap_s(self) -> float | None:
        """The longest time without a good answer in any round."""
        return max((one.longest_gap_s for one in self.counted if one.longest_gap_s is not None), default=None)

    @property
    def gone(self) -> int:
        """How many rounds ended without the service answering."""
        return sum(map(is_gone, self.counted))

    @property
    def silent_s(self) -> list[float]:
        """For each of these rounds, the seconds from the event to the last request that was answered."""
        gone = [(one, one.actions[0].at_s if one.actions else 0.0) for one in self.counted if is_gone(one)]
        return [max(0.0, *(bin.at_s - at_s for bin in one.timeline if bin.good)) for one, at_s in gone]

    @property
    def disturbed(self) -> int:
        """How many rounds ended with the service answering, but not as before."""
        return sum(not is_back(one) and not is_gone(one) for one in self.counted)

    def fates(self) -> dict[Fate, int]:
        """What happened to the lost requests of all rounds, the most frequent first."""
        found = {fate: sum(one.fates.get(fate, 0) for one in self.counted) for fate in LOST}
        return dict(sorted(((fate, count) for fate, count in found.items() if count), key=lambda one: -one[1]))

    def figures(self, name: str) -> list[float]:
        """A figure in each round that has it: a field of the record, or one of the event's own."""
        return [float(value) for value in self.values(name) if isinstance(value, int | float)]

    def values(self, name: str) -> list[Any]:
        """The same for values that may not be numbers; None for a round without one."""
        return [getattr(one, name) if hasattr(one, name) else one.extras.get(name) for one in self.counted]


def is_back(record: EventRecord) -> bool:
    """Whether it answered as before when its window ended, or was not expected to."""
    return record.recovered_s is not None or event_kind(record.event).for_good or not record.timeline


def is_gone(record: EventRecord) -> bool:
    """Whether it no longer answered when its window ended."""
    if is_back(record):
        return False
    last = record.timeline[-1].at_s - LAST_S
    end = [one for one in record.timeline if one.at_s > last]
    return any(one.failed for one in end) and not any(one.good for one in end)


@dataclass(frozen=True, slots=True)
class EventContrast:
    """Two services under one event; `verdict` is about what the second one loses.

    `p` is corrected for the table. `needed`: how many rounds would probably decide it; None if unknown.
    """

    a: str
    b: str
    verdict: str
    p: float
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event and its case; `cells` in the order of the table's services.

    `apart`: the services that lose more than all others together, which may show where no two services differ.
    """

    event: str
    case: EventCase
    cells: Mapping[str, EventCell]
    contrasts: tuple[EventContrast, ...] = ()
    apart: tuple[EventContrast, ...] = ()

    @property
    def name(self) -> str:
        """`reload, keep-alive`."""
        return f"{self.event}, {self.case}" if self.case else self.event

    def figures(self, name: str) -> list[float]:
        """The load of all services, without which losses mean nothing: `rate`, `share`, `timeout_s`; sorted."""
        records = (one for cell in self.cells.values() if cell.service != NULL for one in cell.records)
        return sorted(value for one in records if (value := getattr(one, name)) is not None)

    @property
    def differing(self) -> list[EventContrast]:
        """The pairs that differ."""
        return [one for one in self.contrasts if one.verdict != NO_WINNER]


@dataclass(frozen=True, slots=True)
class EventTable:
    """The events of a run. `rounds`: the most of any cell."""

    services: tuple[str, ...]
    rows: tuple[EventRow, ...]
    rounds: int
    pairs: tuple[Pair, ...] = ()
    """The pairs that are compared; empty if it is every two services."""

    @property
    def cells(self) -> list[EventCell]:
        """The cells of all rows, in order."""
        return [cell for row in self.rows for cell in row.cells.values()]


def event_table(records: Sequence[EventRecord], pairs: Sequence[Pair] = (), order: Sequence[str] = ()) -> EventTable:
    """The table of these records.

    `pairs`: those to compare, by default every two services. `order`: the services' order.
    """
    has = {one.service for one in records}
    known = [*dict.fromkeys([*order, *(one.service for one in records)])]
    # The null server comes last: nobody can choose it.
    services = sorted((name for name in known if name in has), key=lambda name: name == NULL)
    groups = grouped(records, lambda one: (one.event, one.case))
    for event in {event for event, case in groups if case}:
        # The record of an event that a server does not support has no case; it goes into every case.
        refused = groups.pop((event, NO_CASE), [])
        for place in groups:
            groups[place] += refused if place[0] == event else []
    rows = []
    for (event, case), own in sorted(groups.items(), key=lambda group: _place(*group[0])):
        found = grouped(sorted(own, key=lambda one: one.round), lambda one: one.service)
        rows.append((event, case, {name: EventCell(name, (*found[name],)) for name in services if name in found}))
    compared = [*pairs] or [*combinations([name for name in services if name != NULL], 2)]
    tested = [(row, [*_sides(row[2], compared, alone=not pairs)] if compares_losses(row[0]) else []) for row in rows]
    values, tests = corrected([side[2:] for _, sides in tested for side in sides])
    adjusted = iter(values)
    made = []
    for (event, case, cells), sides in tested:
        judged = [_contrast(side, next(adjusted), tests) for side in sides]
        contrasts = tuple(one for one in judged if one.a != OTHERS)
        apart = tuple(one for one in judged if one.a == OTHERS and one.verdict == MORE)
        made.append(EventRow(event, case, cells, contrasts, apart))
    rounds = max((len(cell.records) for row in made for cell in row.cells.values()), default=0)
    return EventTable(tuple(services), tuple(made), rounds, (*pairs,))


def compares_losses(event: str) -> bool:
    """Whether services are compared by what they lose under it."""
    return event_kind(event).losses is not Losses.NOT_COMPARED


def _place(event: str, case: EventCase) -> tuple[int, int]:
    """Sorting key: the order of the events; those of another version come last."""
    cases = [one.case for one in event_kind(event).cases]
    return [*NAMES, event].index(event), [*cases, case].index(case)


Side = tuple[str, str, Counts, Counts, bool]
"""(a, b, the counts of both in windows of the same length, whether they are one server's)."""


def _sides(cells: Mapping[str, EventCell], compared: Sequence[Pair], *, alone: bool) -> Iterator[Side]:
    """What is tested in a row: the pairs, and if `alone`, all other services together against each."""
    known = {name: cell for name, cell in cells.items() if name != NULL and cell.counted}
    sides = [(known[a], known[b]) for a, b in compared if a in known and b in known]
    for own in known.values() if alone and len(known) > 2 else ():
        others = (record for other in known.values() if other is not own for record in other.records)
        sides.append((EventCell(OTHERS, tuple(others)), own))
    for a, b in sides:
        window_s = max(a.window_s, b.window_s)
        one_server = len({record.server for record in (*a.records, *b.records)}) == 1
        yield a.service, b.service, a.counts_in(window_s), b.counts_in(window_s), one_server


def _contrast(side: Side, p: float, tests: int) -> EventContrast:
    a, b, a_counts, b_counts, alike = side
    if p <= ERRORS:
        return EventContrast(a, b, MORE if share(b_counts) > share(a_counts) else LESS, p)
    return EventContrast(a, b, NO_WINNER, p, rounds_needed(a_counts, b_counts, tests, alike=alike))
