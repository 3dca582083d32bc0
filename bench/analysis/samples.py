"""One run as samples: what its valid rounds gave for each cell and figure, and what its controls say of the host.

Values are natural logarithms of a figure of which more is better, one a round, so that a difference of two is the
logarithm of a ratio. Runs in which pairs were measured give the pairs' ratios too: those of two services in the
same seconds, which what the host does between two runs does not move.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from bench.analysis.cells import Cell, Context, cells_of
from bench.analysis.comparison import Metric, Thresholds
from bench.analysis.pair_analysis import Judged
from bench.plan.interim_looks import LOOKS
from bench.records.record import Record
from bench.stats.estimates import Estimate, estimate

GOODPUT, PER_CORE = "goodput", "goodput_per_core"
PAIR = MappingProxyType({Metric.GOODPUT: "goodput_ratio", Metric.CPU: "goodput_per_core_ratio"})
"""Figures of a pair: B/A as its judge has it."""
AT_TARGET = 0.99
"""Share of an asked rate from which on a service was held there: its figure says nothing of what it can do."""

SCHEMA = 1
"""Of the lines of comparison.jsonl and history.jsonl."""

Read = Callable[[Record], float | None]


@dataclass(frozen=True, slots=True)
class Key:
    """What is compared: a figure of a cell; `beside` is the service that a pair's ratio refers to."""

    scenario: str
    tool: str
    level: str
    service: str
    beside: str | None
    figure: str

    @property
    def cell(self) -> str:
        """`SCENARIO TOOL LEVEL`."""
        return f"{self.scenario} {self.tool} {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Key):
    """What is told of one key: a line of comparison.jsonl or of history.jsonl."""

    def to_json(self) -> str:
        """The line, without its newline."""
        values: dict[str, Any] = {"schema": SCHEMA} | asdict(self)
        return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True)
class Sample:
    """The valid rounds of one key in one run.

    `planned` counts all rounds. `refused` are those that the gate refused for another reason than the host's noise,
    which voids whole rounds whatever their result. `cause` names what stood in the way, `detail` its facts.
    """

    values: tuple[float, ...]
    planned: int
    refused: int = 0
    cause: str = ""
    detail: str = ""
    held: bool = False

    @cached_property
    def estimate(self) -> Estimate | None:
        """The mean of the logarithms; None without a valid round."""
        return estimate(self.values)

    @property
    def invalid(self) -> bool:
        """Whether nothing is left to compare, or more was refused than kept."""
        return not self.values or self.refused > len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One run: its `name`, all of its samples in the report's order, those of its null server, its limits."""

    name: str
    cells: Mapping[Key, Sample]
    null: Mapping[Key, Sample]
    limits: Mapping[str, Thresholds]
    """By figure: what its A/A pairs leave to be called a difference; the default where there were too few."""


def samples_of(name: str, services: Sequence[str], records: Sequence[Record], judged: Judged) -> Samples:
    """The samples of a run's reviewed records: pure."""
    context = Context(services, None)
    solo = cells_of((record for record in records if record.mode == "solo"), context)
    null = cells_of((record for record in records if record.mode == "null"), context)
    cells = dict(item for cell in solo for item in _figures(cell))
    limits = judged.limits or {}
    return Samples(
        name=name,
        cells=cells | dict(_pairs(judged)),
        null=dict(item for cell in null for item in _figures(cell)),
        limits={
            figure: limits.get(metric, Thresholds())
            for metric, figures in (
                (Metric.GOODPUT, (GOODPUT, PAIR[Metric.GOODPUT])),
                (Metric.CPU, (PER_CORE, PAIR[Metric.CPU])),
            )
            for figure in figures
        },
    )


def _figures(cell: Cell) -> Iterator[tuple[Key, Sample]]:
    first = cell.first
    key = Key(first.scenario, first.tool, first.level, first.service, None, GOODPUT)
    # An open loop's goodput is what it was asked for; it is judged by what its answers cost.
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
    state, detail = cell.state, cell.details
    if not values and cell.valid:
        state, detail = "no such figure", next(iter(_reasons(cell.valid)), "")
    return Sample(
        values=tuple(map(math.log, values)),
        planned=len(cell.records),
        refused=sum(refused.values()),
        cause=state.removeprefix("invalid: "),
        detail=detail,
        held=read(cell.first) == cell.first.goodput
        and any(r.rate is not None and r.goodput is not None and r.goodput >= AT_TARGET * r.rate for r in cell.valid),
    )


def _reasons(records: Iterable[Record]) -> Iterator[str]:
    return (record.nulls["goodput_per_core"] for record in records if "goodput_per_core" in record.nulls)


def _pairs(judged: Judged) -> Iterator[tuple[Key, Sample]]:
    """Of each pair the rounds before its first look: how many follow hangs on what they showed."""
    for pair, made in zip(judged.pairs, judged.comparisons, strict=True):
        key = Key(pair.scenario, pair.tool, pair.level, pair.b, pair.a, PAIR[made.metric])
        values = () if made.cause else made.values[: LOOKS[0]]
        yield key, Sample(values, len(values), cause=made.cause or "no valid round", detail="; ".join(made.flags))
