"""Knee searches: the highest rate of each service within the p99 limit, and whether later rounds confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.causes import HARMLESS_TO_KNEES, causes_beside
from bench.analysis.cells.cell import Cell
from bench.core.groups import grouped
from bench.records.knee import NOT_HELD
from bench.records.record import Record
from bench.tools.levels import Level


@dataclass(frozen=True, slots=True)
class Knee:
    """The highest rate of a service (1/s) with p99 within the limit, and in how many `later` rounds it `held`.

    `at_least`: at higher rates the load generator failed, not the service. `why`: the result of a search without a
    rate.
    """

    service: str
    rate: float | None
    held: int = 0
    later: int = 0
    at_least: bool = False
    why: str = ""

    @property
    def confirmed(self) -> bool:
        """Whether it held in most of the later rounds."""
        return self.rate is not None and self.held > 0 and 2 * self.held > self.later


Knees = Mapping[tuple[str, Level], Sequence[Knee]]
"""By scenario and level, the knee of each service that was searched, the highest first."""


def knees_of(cells: Iterable[Cell]) -> Knees:
    """The results of the searches among these cells."""
    searches = (cell for cell in cells if cell.first.level.searched)
    groups = grouped(searches, lambda cell: (cell.first.scenario, cell.first.level))
    knees = {place: [_knee(one.service, one.records) for one in own] for place, own in groups.items()}
    return {place: sorted(own, key=lambda one: (-(one.rate or 0), one.service)) for place, own in knees.items()}


def _knee(service: str, rounds: Sequence[Record]) -> Knee:
    # Causes against the first window do not discredit the rate found: later rounds tell whether it holds.
    first = next((one for one in rounds if _found(one)), None)
    if first is None or first.rate is None:
        why = dict.fromkeys(one.nulls.get("knee_rate", one.outcome) for one in rounds)
        return Knee(service, None, why="; ".join(why))
    later = [one for one in rounds if one.round > first.round]
    counted = [one for one in later if _found(one) and not causes_beside(one, HARMLESS_TO_KNEES)]
    held = sum(one.rate == first.rate for one in counted)
    return Knee(service, first.rate, held, len(later), at_least=first.knee_rate is None)


def _found(record: Record) -> bool:
    if record.knee_rate is not None:
        return True
    return record.client_limit is not None and not record.nulls.get("knee_rate", "").startswith(NOT_HELD)


def confirmed(records: Sequence[Record]) -> tuple[Record | None, int, int]:
    """(the record that found the knee, number of later rounds in which it held, number of later rounds) of one cell."""
    found, later = knee_of(records)
    return found, sum(found is not None and has_held(record, found) for record in later), len(later)


def knee_of(records: Sequence[Record]) -> tuple[Record | None, Sequence[Record]]:
    """(the record that found the knee, the records of later rounds)."""
    found = next((record for record in records if record.knee_rate is not None), None)
    return found, [record for record in records if found is not None and record.round > found.round]


def has_held(record: Record, found: Record) -> bool:
    """Whether a later round confirms the knee that was found."""
    return record.knee_rate == found.knee_rate and not causes_beside(record, HARMLESS_TO_KNEES)
