"""Published comparisons (published.toml), and their ratios beside those of a table in turns with the same question.

Published figures are requests/s, so our ratios are, too; for services without requests/s (the load generator was the
limit) they are ratios of the table's speeds. Whether a difference is real is the table's own verdict.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from bench.analysis.services import Places
from bench.analysis.tables.ranking import Contrast, RankedRow, Ranking
from bench.core.groups import grouped
from bench.core.typed import typed
from bench.tools.levels import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceFigure:
    """One row or column of a reference comparison; it is from another machine, so only ratios are meaningful."""

    name: str
    level: Level | None = None
    goodput: float | None = None
    success: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    difference_percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceGroup:
    """Figures that were compared with each other; the first is the base."""

    scenario: str | None = None
    level: Level | None = None
    axis: str | None = None
    of: str | None = None
    figures: tuple[ReferenceFigure, ...]

    def holds(self, scenario: str, level: Level) -> bool:
        """Whether the group covers these cells."""
        return self.scenario in (None, scenario) and self.level in (None, level)

    def ratio(
        self, figure: ReferenceFigure, metric: str = "goodput", base: ReferenceFigure | None = None
    ) -> float | None:
        """`figure` relative to `base`, the group's first if None; None if one of them is unknown."""
        value, other = getattr(figure, metric), getattr(base or self.figures[0], metric)
        if value is not None and other:
            return float(value / other)
        if metric == "goodput" and figure.difference_percent is not None:
            return 1 + figure.difference_percent / 100
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceComparison:
    """One comparison: its source, how it was measured, and the flaw that the preset avoids (`fixed`)."""

    source: str
    date: datetime.date | None = None
    setting: str
    fixed: str
    groups: tuple[ReferenceGroup, ...]

    def find(self, stack: str, scenario: str, level: Level) -> tuple[ReferenceGroup, ReferenceFigure] | None:
        """The figure of a cell and its group."""
        for group in self.groups:
            for figure in group.figures:
                if group.holds(scenario, level) and figure.name == stack and figure.level in (None, level):
                    return group, figure
        return None


@cache
def reference_results() -> dict[str, ReferenceComparison]:
    """Every comparison by its name."""
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: typed(ReferenceComparison, entry, name) for name, entry in entries.items()}


ABOUT_EQUAL = 0.02
"""A published ratio closer to 1 than this has no direction to repeat."""


class Sign(StrEnum):
    """The direction of a difference here relative to the published one."""

    SAME = "same"
    OPPOSITE = "opposite"
    NOT_SHOWN = "not shown here"
    NONE_THERE = "about equal there"


@dataclass(frozen=True, slots=True)
class PublishedRatio:
    """A service relative to the base: ratios of requests/s there and here (None: unknown), and the verdict here."""

    service: str
    published: float
    here: float | None
    gap: Contrast | None
    sign: Sign

    @property
    def by_metric(self) -> float | None:
        """The ratio by the table's metric."""
        return 1 + self.gap.difference if self.gap else None


@dataclass(frozen=True, slots=True)
class Published:
    """What is comparable. `base`: the service that all ratios are relative to. `load`: that of the original."""

    base: str
    load: str
    rows: tuple[PublishedRatio, ...]


@dataclass(frozen=True, slots=True)
class Along:
    """Ratios of requests/s along an axis, `python` or `package`.

    `there`: those of the published group. `here`: those of services that differ in nothing else; `fixed` is their value
    on the other axis.
    """

    axis: str
    group: ReferenceGroup
    there: tuple[tuple[str, float], ...]
    here: tuple[tuple[str, float | None], ...]
    fixed: str


def published_beside(
    ranking: Ranking, reference: ReferenceComparison | None, stacks: Mapping[str, str]
) -> Published | None:
    """A table beside the published comparison; None if they have fewer than two services in common.

    `stacks`: by service.
    """
    if reference is None or ranking.look is None:
        return None
    ranked = [(stacks.get(row.service, ""), row) for row in ranking.rows if row.rank is not None]
    # A stack with several Pythons or packages has no single figure to compare.
    rows = {stack: row for stack, row in ranked if sum(other == stack for other, _ in ranked) == 1}
    if (group := _group(reference.groups, ranking, rows)) is None:
        return None
    (first, base_there), *others = _best(group, rows).items()
    base, levels = rows[first.name], [figure.level or group.level for figure in [first, *(one for one, _ in others)]]
    ratios = []
    for figure, goodput in others:
        row, there = rows[figure.name], goodput / base_there
        gap = ranking.ahead(row.service, base.service)
        ratios.append(PublishedRatio(row.service, there, _here(row, base), gap, _sign(there, gap)))
    return Published(base.service, ", ".join(dict.fromkeys(str(level) for level in levels if level)), tuple(ratios))


def along_axes(ranking: Ranking, reference: ReferenceComparison | None, places: Places) -> Iterator[Along]:
    """A table's services beside each axis of the published comparison."""
    if reference is None or ranking.look is None:
        return
    found_axes: set[str] = set()
    for group in reference.groups:
        axis = group.axis
        if axis not in ("python", "package") or group.scenario != ranking.scenario or axis in found_axes:
            continue
        mine = [row for row in ranking.rows if row.service in places and row.goodput]
        fixed, series = _series(mine, places, axis)
        ratios = [(figure.name, group.ratio(figure)) for figure in group.figures]
        if len(series) < 2 or any(ratio is None for _, ratio in ratios[1:]):
            continue
        found_axes.add(axis)
        there = tuple((name, ratio or 1.0) for name, ratio in ratios)
        here = tuple((value, _here(row, series[0][1])) for value, row in series)
        yield Along(axis, group, there, here, fixed)


def _series(rows: Sequence[RankedRow], places: Places, axis: str) -> tuple[str, list[tuple[str, RankedRow]]]:
    """(the value on the other axis, the longest series of services that differ only along this axis, in order)."""
    groups: dict[str, list[tuple[str, RankedRow]]] = {}
    for row in rows:
        python, package = places[row.service].python, str(places[row.service].package)
        value, fixed = (python, package) if axis == "python" else (package, python)
        groups.setdefault(fixed, []).append((value, row))
    fixed, longest = max(groups.items(), key=lambda one: len(one[1]), default=("", []))

    def place(one: tuple[str, RankedRow]) -> list[int]:
        parts = one[0].rpartition("=")[2].replace("pypy", "").split(".")
        return [int(part) if part.isdigit() else 0 for part in parts]

    return fixed, sorted(longest, key=place)


def _group(groups: Iterable[ReferenceGroup], ranking: Ranking, rows: Mapping[str, RankedRow]) -> ReferenceGroup | None:
    """The group of this scenario whose load is most like the table's."""
    of_scenario = [one for one in groups if one.axis is None and one.scenario in (None, ranking.scenario)]
    fitting = [group for group in of_scenario if len(_best(group, rows)) > 1]
    level = ranking.level

    def likeness(group: ReferenceGroup) -> int:
        if group.level is None:
            return 1
        counted = group.level.count is not None and group.level.connections == level.connections
        return 3 if group.level == level else 2 * counted

    return max(fitting, key=likeness, default=None)


def _best(group: ReferenceGroup, rows: Mapping[str, RankedRow]) -> dict[ReferenceFigure, float]:
    """Each service's figure with the highest goodput, and that goodput, in the order of the original."""
    figures = [figure for figure in group.figures if figure.name in rows]
    known = [(figure, figure.goodput) for figure in figures if figure.goodput is not None]
    by_name = grouped(known, lambda pair: pair[0].name)
    return dict(max(own, key=lambda pair: pair[1]) for own in by_name.values())


def _here(row: RankedRow, base: RankedRow) -> float | None:
    return row.goodput.mean / base.goodput.mean if row.goodput and base.goodput and base.goodput.mean else None


def _sign(there: float, gap: Contrast | None) -> Sign:
    if abs(there - 1) < ABOUT_EQUAL:
        return Sign.NONE_THERE
    if gap is None or not gap.called:
        return Sign.NOT_SHOWN
    return Sign.SAME if (gap.difference > 0) == (there > 1) else Sign.OPPOSITE
