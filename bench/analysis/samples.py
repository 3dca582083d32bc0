"""One run as samples: the values of its valid rounds for each cell and figure, and its controls.

Values are natural logarithms of a figure of which more is better, one per round, so that the difference of two is the
logarithm of a ratio. Runs with pairs also give the ratio of each pair: both sides ran at the same time, so changes of
the host between two runs do not affect it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""Figures of a pair: B/A by its metric."""
AT_TARGET = 0.99
"""Share of a target rate above which the target limited the service: its figure does not show its capacity."""

SCHEMA = 1
"""Schema of the lines of comparison.jsonl and history.jsonl."""

Read = Callable[[Record], float | None]


@dataclass(frozen=True, slots=True)
class Key:
    """What is compared: one figure of a cell; `beside` is side a of a pair, whose ratio is B/A."""

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
    """One run: its name, its samples in the report's order, those of its null server, and its thresholds."""

    name: str
    cells: Mapping[Key, Sample]
    null: Mapping[Key, Sample]
    limits: Mapping[str, Thresholds]
    """By figure, as set by its A/A pairs; the default if there were too few."""


def samples_of(name: str, services: Sequence[str], records: Sequence[Record], judged: Judged) -> Samples:
    """The samples of a run's reviewed records; pure."""
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
    state = "no such figure" if cell.valid and not values else cell.state
    return Sample(
        values=tuple(map(math.log, values)),
        planned=len(cell.records),
        refused=sum(refused.values()),
        cause=state.removeprefix("invalid: "),
        held=read(cell.first) == cell.first.goodput
        and any(r.rate is not None and r.goodput is not None and r.goodput >= AT_TARGET * r.rate for r in cell.valid),
    )


def _pairs(judged: Judged) -> Iterator[tuple[Key, Sample]]:
    """Each pair with the rounds up to its first interim look: how many follow depends on their result."""
    for pair, made in zip(judged.pairs, judged.comparisons, strict=True):
        key = Key(pair.scenario, pair.tool, pair.level, pair.b, pair.a, PAIR[made.metric])
        values = () if made.cause else made.values[: LOOKS[0]]
        yield key, Sample(values, len(values), cause=made.cause or "no valid round")
