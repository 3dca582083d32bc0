"""The answer of one table in turns: its services in order, every difference of two of them, and what that means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from bench.analysis.tables.metric import Metric

Bounds = tuple[float, float]
"""From low to high."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over rounds with its 95 % interval; with fewer than three rounds the lowest and the highest of them."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A service of a table.

    `difference` is that from the best as a ratio - 1 of the table's metric as a speed (-0.05: 5 % less), with its
    simultaneous interval. Services of one `tier` cannot be told apart from the first of it. A service that is not
    ranked has neither, and `note` says why. `smallest_visible` is the smallest difference from the best that would have
    been called nine times in ten; None if it is called. `windows` were used for the ranking, and `left_out` were not.
    """

    service: str
    label: str
    rank: int | None
    tier: int | None
    difference: float | None
    interval: Bounds | None
    goodput: Figure | None
    cpu_us: Figure | None
    memory_peak_bytes: int | None
    windows: int
    left_out: int
    note: str
    smallest_visible: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """B relative to A: `difference` is B/A - 1 of the metric as a speed, and `verdict` what B is.

    `smallest_visible` is the smallest difference that would have been called nine times in ten; None if it is called.
    `more_rounds` would most likely settle it; None if it is decided, or if no number of rounds can be named.
    `systematic` is the part of the interval that no number of rounds makes smaller, as a ratio - 1.
    """

    a: str
    b: str
    verdict: str
    difference: float
    interval: Bounds | None
    smallest_visible: float | None
    more_rounds: int | None = None
    systematic: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """A table's answer. Rows are in the order of their rank, those without one last.

    `look` is the number of rounds that the verdicts rest on; None before the first of `looks`. `confidence` is that of
    all its intervals at once. `sentences` begins with the one about the whole table. `unknown_cpu` says why requests/s
    are compared where servers do not wait; empty else. `cheapest` says which services need the least CPU per request,
    by intervals of their own. `late`: responses from after the services' turns are in its figures, as in all runs made
    before that was mended. `bias` says how far taking turns may move its ratios. `beside` says of the pairs without a
    called difference which one would have been called. `connections_kept` says whether the load tool asked for
    connections that stay open, and `workers` how many each service has; None where that is not known.
    """

    scenario: str
    tool: str
    level: str
    metric: Metric
    rounds: int
    looks: tuple[int, ...]
    look: int | None
    confidence: float
    settled: bool
    question: str
    rows: tuple[Row, ...]
    contrasts: tuple[Contrast, ...]
    sentences: tuple[str, ...] = ()
    unknown_cpu: str = ""
    cheapest: str = ""
    late: bool = False
    bias: str = ""
    beside: tuple[str, ...] = ()
    connections_kept: bool | None = None
    workers: int | None = None

    @property
    def table(self) -> tuple[str, str, str]:
        """Scenario, tool, level."""
        return self.scenario, self.tool, self.level

    def as_dict(self) -> dict[str, Any]:
        """The table as JSON."""
        return asdict(self) | {"metric": str(self.metric)}

    def lines(self) -> Iterator[dict[str, Any]]:
        """The objects of verdicts.jsonl: a line for each service, then one for each contrast."""
        table = dict(zip(("scenario", "tool", "level"), self.table, strict=True))
        judged = {"judge": str(self.metric), "rounds": self.rounds, "confidence": self.confidence}
        for kind, entries in (("service", self.rows), ("contrast", self.contrasts)):
            for entry in entries:
                yield {"kind": kind, **table, **judged, **asdict(entry), "settled": self.settled}
