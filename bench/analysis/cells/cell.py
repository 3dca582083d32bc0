"""The records of one cell over the rounds, and its figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.analysis.causes import HARMLESS_TO_MEANS, causes_beside
from bench.core.groups import grouped
from bench.matrix.model import stack_name
from bench.records.outcome import NOT_RUN
from bench.records.record import MEASURED, Record

FigureOf = Callable[[Record], float | None]
"""Reads one figure of a record."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Service x scenario x tool x level with its records, one per round in order; at least one."""

    records: tuple[Record, ...]

    @property
    def first(self) -> Record:
        """Any record, for the cell's coordinates."""
        return self.records[0]

    @property
    def service(self) -> str:
        """The service's name."""
        return self.first.service

    @property
    def stack(self) -> str:
        """Server x framework, as the matrix names it."""
        return stack_name(self.first.server, self.first.framework)

    @property
    def valid(self) -> tuple[Record, ...]:
        """The valid records."""
        return tuple(record for record in self.records if record.valid)

    @property
    def counted(self) -> tuple[Record, ...]:
        """The records of all rounds that were run; none if one of them is refused, as a mean is never of the others."""
        own = [record for record in self.records if record.outcome != NOT_RUN]
        return () if any(causes_beside(record, HARMLESS_TO_MEANS) for record in own) else tuple(own)

    def has(self, cause: str) -> bool:
        """Whether there is such a cause against one of the records."""
        return any(one.cause == cause for record in self.records for one in record.causes)

    @property
    def cpu_per_success_s(self) -> float | None:
        """Mean CPU time per successful response."""
        return self.mean_of(lambda record: record.cpu_per_success_s)

    @property
    def goodput(self) -> float | None:
        """Mean successes per second."""
        return self.mean_of(lambda record: record.goodput)

    @property
    def measured(self) -> bool:
        """Whether any round was measured at all."""
        return any(record.outcome == MEASURED for record in self.records)

    @property
    def causes(self) -> dict[str, str]:
        """The causes against its records, each with the last of its details."""
        return {cause.cause: cause.detail for record in self.records for cause in record.causes}

    def mean_of(self, figure: FigureOf) -> float | None:
        """The mean of one figure over the rounds; None unless all of them have it."""
        values = [figure(record) for record in self.counted]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None


def in_order(services: Iterable[str], order: Sequence[str]) -> list[str]:
    """The distinct services in the report's order; others follow by name."""
    place = {name: index for index, name in enumerate(order)}
    return sorted(set(services), key=lambda name: (place.get(name, len(place)), name))


def cells_of(records: Iterable[Record], order: Sequence[str] = ()) -> list[Cell]:
    """The cells in the report's order: scenario, tool, level, then services in `order`; of records in one mode."""
    groups = grouped(records, lambda record: (record.load, record.service))
    place = {name: index for index, name in enumerate(order)}
    keys = sorted(groups, key=lambda key: (*map(natural, map(str, key[0])), place.get(key[1], len(place)), key[1]))
    return [Cell(tuple(sorted(groups[key], key=lambda record: (record.round, record.id)))) for key in keys]


def natural(text: str) -> list[tuple[int, str]]:
    """Sorting key in which c8 comes before c16."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"([0-9]+)", text) if part]
