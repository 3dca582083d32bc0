"""The ratios of a published comparison beside those of a table in turns that repeats its question. Pure.

Published figures are requests/s, so the ratios here are too; whether a difference is real is the table's own verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.reference_results import ReferenceComparison, ReferenceFigure, ReferenceGroup
from bench.analysis.tables.ranking import Ranking, Row
from bench.analysis.words.tables.order import Gap, Told, listed

ABOUT_EQUAL = 0.02
"""Published ratios closer to 1 than this have no sign to repeat."""
SAME, OPPOSITE, NOT_SHOWN, NO_SIGN = (
    "the same sign",
    "the opposite sign",
    "no difference shown here",
    "about equal there",
)


@dataclass(frozen=True, slots=True)
class Beside:
    """A service relative to `base`: ratios of requests/s there and here (None: not known), and the verdict here."""

    label: str
    published: float
    here: float | None
    gap: Gap | None
    sign: str


@dataclass(frozen=True, slots=True)
class Published:
    """What is comparable: `base` is the service that all ratios are to, `load` that of the original."""

    base: str
    load: str
    rows: tuple[Beside, ...]

    @property
    def sentence(self) -> str:
        """Both lists of ratios in one line."""
        there = listed([f"{row.label} {_ratio(row.published)}" for row in self.rows])
        here = listed([_ratio(row.here) for row in self.rows])
        return f"Published, relative to {self.base} in requests/s: {there}; here {here}: {self._signs()}."

    def _signs(self) -> str:
        if len(self.rows) == 1:
            return self.rows[0].sign
        same = sum(row.sign == SAME for row in self.rows)
        others = [f"{row.sign} for {row.label}" for row in self.rows if row.sign != SAME]
        if not others:
            return f"the same sign for all {same}"
        return f"the same sign for {same} of {len(self.rows)}, {', '.join(others)}"


def published_beside(
    ranking: Ranking, reference: ReferenceComparison | None, stacks: Mapping[str, str]
) -> Published | None:
    """The comparison of a table with the published one; `stacks` by service. None if they have not two in common."""
    if reference is None or ranking.look is None:
        return None
    rows = {stacks.get(row.service, ""): row for row in ranking.rows if row.rank is not None}
    group = _group(reference.groups, ranking, rows)
    if group is None:
        return None
    figures = _best(group, rows)
    first, *others = figures.values()
    base, told = rows[first.name], Told(ranking)
    found = []
    for figure in others:
        row, there = rows[figure.name], figure.metrics["goodput"] / first.metrics["goodput"]
        gap = told.gap(row.service, base.service)
        found.append(Beside(row.label, there, _here(row, base), gap, _sign(there, gap)))
    return Published(base.label, _load(group, figures.values()), tuple(found))


def along_axes(
    ranking: Ranking, reference: ReferenceComparison | None, places: Mapping[str, tuple[str, str | None]]
) -> Iterator[str]:
    """A sentence for each axis of the published comparison; `places` has the Python and the package of a service."""
    if reference is None or ranking.look is None:
        return
    told_axes: set[str] = set()
    for group in reference.groups:
        axis = group.axis
        if axis not in ("python", "package") or group.scenario != ranking.scenario or axis in told_axes:
            continue
        mine = [row for row in ranking.rows if row.service in places and row.goodput]
        series = _series(mine, places, axis)
        ratios = [(figure.name, group.ratio(figure, "goodput")) for figure in group.figures]
        if len(series) < 2 or any(ratio is None for _, ratio in ratios[1:]):
            continue
        told_axes.add(axis)
        there = listed([f"{name} {_ratio(ratio or 1.0)}" for name, ratio in ratios])
        own = listed([f"{words} {_ratio(_here(row, series[0][1]))}" for words, row in series])
        fixed = _fixed(places[series[0][1].service], axis)
        yield f"Published, requests/s of {group.of} ({group.level}): {there}; here, {fixed}: {own}."


def _series(rows: Sequence[Row], places: Mapping[str, tuple[str, str | None]], axis: str) -> list[tuple[str, Row]]:
    """The longest series of services that differ along the axis alone, in the order of its values."""
    groups: dict[str, list[tuple[str, Row]]] = {}
    for row in rows:
        python, package = places[row.service]
        value, other = (python, str(package)) if axis == "python" else (str(package), python)
        words = f"Python {value}" if axis == "python" else value.replace("==", " ")
        groups.setdefault(other, []).append((words, row))
    longest = max(groups.values(), key=len, default=[])
    return sorted(longest, key=lambda one: [int(part) if part.isdigit() else 0 for part in _parts(one[0])])


def _parts(words: str) -> list[str]:
    return words.rpartition(" ")[2].replace("pypy", "").split(".")


def _fixed(place: tuple[str, str | None], axis: str) -> str:
    python, package = place
    return str(package).replace("==", " ") if axis == "python" else f"Python {python}"


def _group(groups: Iterable[ReferenceGroup], ranking: Ranking, rows: Mapping[str, Row]) -> ReferenceGroup | None:
    """The group of this scenario whose load is most like the table's."""
    fitting = [
        group
        for group in groups
        if group.axis is None and group.scenario in (None, ranking.scenario) and len(_best(group, rows)) > 1
    ]
    level = ranking.level

    def likeness(group: ReferenceGroup) -> int:
        return (group.level == level) * 3 + str(group.level).startswith(f"{level}n") * 2 + (group.level is None)

    return max(fitting, key=likeness, default=None)


def _best(group: ReferenceGroup, rows: Mapping[str, Row]) -> dict[str, ReferenceFigure]:
    """Each service's highest published figure, in the order of the original."""
    found: dict[str, ReferenceFigure] = {}
    for figure in group.figures:
        if figure.name in rows and "goodput" in figure.metrics:
            known = found.get(figure.name)
            if known is None or figure.metrics["goodput"] > known.metrics["goodput"]:
                found[figure.name] = figure
    return found


def _load(group: ReferenceGroup, figures: Iterable[ReferenceFigure]) -> str:
    levels = dict.fromkeys(level for figure in figures if (level := figure.level or group.level))
    return ", ".join(levels)


def _here(row: Row, base: Row) -> float | None:
    return row.goodput.mean / base.goodput.mean if row.goodput and base.goodput and base.goodput.mean else None


def _sign(there: float, gap: Gap | None) -> str:
    if abs(there - 1) < ABOUT_EQUAL:
        return NO_SIGN
    if gap is None or not gap.called:
        return NOT_SHOWN
    return SAME if (gap.value > 0) == (there > 1) else OPPOSITE


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "unknown"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"
