"""The reference comparisons of reference_results.toml, and the ratios inside each of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

METRICS = ("goodput", "success", "p50_ms", "p99_ms")


@dataclass(frozen=True, slots=True)
class ReferenceFigure:
    """One row or column of a reference comparison; `metrics` are of its machine, so only ratios are meaningful."""

    name: str
    level: str | None
    metrics: dict[str, float]
    difference_percent: float | None


@dataclass(frozen=True, slots=True)
class ReferenceGroup:
    """Figures that were compared with each other; the first is the base."""

    scenario: str | None
    level: str | None
    axis: str | None
    of: str | None
    figures: tuple[ReferenceFigure, ...]

    def holds(self, scenario: str, level: str) -> bool:
        """Whether the group covers these cells."""
        return self.scenario in (None, scenario) and self.level in (None, level)

    def ratio(self, figure: ReferenceFigure, metric: str) -> float | None:
        """`figure` relative to the group's first, or None if one of them is unknown."""
        value, base = figure.metrics.get(metric), self.figures[0].metrics.get(metric)
        if value is not None and base:
            return value / base
        if metric == "goodput" and figure.difference_percent is not None:
            return 1 + figure.difference_percent / 100
        return None


@dataclass(frozen=True, slots=True)
class ReferenceComparison:
    """One comparison: its source, how it was measured, and `fixed`: its flaw that the preset avoids."""

    source: str
    date: str | None
    setting: str
    fixed: str
    groups: tuple[ReferenceGroup, ...]

    def find(self, stack: str, scenario: str, level: str) -> tuple[ReferenceGroup, ReferenceFigure] | None:
        """The figure of a cell and its group."""
        for group in self.groups:
            for figure in group.figures:
                if group.holds(scenario, level) and figure.name == stack and figure.level in (None, level):
                    return group, figure
        return None

    def along(self, axis: str, scenario: str, level: str) -> Iterator[ReferenceGroup]:
        """The groups on these cells that compare along `axis`; their figures have other names than ours."""
        return (group for group in self.groups if group.axis == axis and group.holds(scenario, level))


@cache
def reference_results() -> dict[str, ReferenceComparison]:
    """Every comparison by its name."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: _comparison(entry) for name, entry in data.items()}


def _comparison(entry: dict[str, Any]) -> ReferenceComparison:
    date = entry.get("date")
    groups = tuple(
        ReferenceGroup(
            group.get("scenario"),
            group.get("level"),
            group.get("axis"),
            group.get("of"),
            tuple(map(_figure, group["figures"])),
        )
        for group in entry["groups"]
    )
    return ReferenceComparison(entry["source"], date and date.isoformat(), entry["setting"], entry["fixed"], groups)


def _figure(entry: dict[str, Any]) -> ReferenceFigure:
    metrics = {name: float(entry[name]) for name in METRICS if name in entry}
    return ReferenceFigure(
        entry.get("stack") or entry["label"], entry.get("level"), metrics, entry.get("difference_percent")
    )
