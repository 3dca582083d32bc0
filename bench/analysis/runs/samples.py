"""One run as samples: the values of its valid rounds for each cell and figure, and its null server.

Values are natural logarithms of a figure of which more is better, one per round, so that the difference of two is the
logarithm of a ratio.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from bench.analysis.cells.cell import Cell, Context, cells_of
from bench.records.record import Record
from bench.stats.estimates import Estimate, estimate

GOODPUT, PER_CORE = "goodput", "goodput_per_core"
AT_TARGET = 0.99
"""Share of a target rate above which the target limited the service: its figure does not show its capacity."""

SCHEMA = 2
"""Schema of the lines of comparison.jsonl and history.jsonl."""

Read = Callable[[Record], float | None]


@dataclass(frozen=True, slots=True)
class Key:
    """What is compared: one figure of a cell."""

    scenario: str
    tool: str
    level: str
    service: str
    figure: str

    @property
    def cell(self) -> str:
        """`SCENARIO TOOL LEVEL`."""
        return f"{self.scenario} {self.tool} {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Key):
    """A line of comparison.jsonl or history.jsonl, about one key."""

    def to_json(self) -> str:
        """The line, without its newline."""
        values: dict[str, Any] = {"schema": SCHEMA} | asdict(self)
        return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True)
class Sample:
    """The valid rounds of one key in one run.

    `planned` counts all rounds. `refused` are the rounds that are not valid for another reason than noise on the host,
    which discards whole rounds regardless of their results. `cause` says why values are missing. `held` is whether the
    target rate limited the service.
    """

    values: tuple[float, ...]
    planned: int
    refused: int = 0
    cause: str = ""
    held: bool = False

    @cached_property
    def estimate(self) -> Estimate | None:
        """The mean of the logarithms; None without a valid round."""
        return estimate(self.values)

    @property
    def invalid(self) -> bool:
        """Whether no valid round is left, or more are not valid than valid."""
        return not self.values or self.refused > len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One run: its name, its samples in the report's order, and those of its null server."""

    name: str
    cells: Mapping[Key, Sample]
    null: Mapping[Key, Sample]


def samples_of(name: str, services: Sequence[str], records: Sequence[Record]) -> Samples:
    """The samples of a run's reviewed records; pure."""
    context = Context(services, None)
    solo = cells_of((record for record in records if record.mode == "solo"), context)
    null = cells_of((record for record in records if record.mode == "null"), context)
    return Samples(
        name=name,
        cells=dict(item for cell in solo for item in _figures(cell)),
        null=dict(item for cell in null for item in _figures(cell)),
    )


def _figures(cell: Cell) -> Iterator[tuple[Key, Sample]]:
    first = cell.first
    key = Key(first.scenario, first.tool, first.level, first.service, GOODPUT)
    # The goodput of an open loop is its target rate; what can be compared is the cost per response.
    if first.connections is not None:
        yield key, _sample(cell, lambda record: record.goodput)
    costs = _sample(cell, lambda record: record.goodput_per_core)
    if costs.values or first.connections is None:
        yield replace(key, figure=PER_CORE), costs


def _sample(cell: Cell, read: Read) -> Sample:
    values = [value for record in cell.valid if (value := read(record)) and 0 < value < math.inf]
    refused = Counter(
        cause.cause
        for record in cell.records
        if not record.valid
        for cause in record.causes[:1]
        if cause.cause != "host"
    )
    return Sample(
        values=tuple(map(math.log, values)),
        planned=len(cell.records),
        refused=sum(refused.values()),
        cause="no such figure" if cell.valid and not values else ", ".join(cell.causes),
        held=read(cell.first) == cell.first.goodput
        and any(r.rate is not None and r.goodput is not None and r.goodput >= AT_TARGET * r.rate for r in cell.valid),
    )
