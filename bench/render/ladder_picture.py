"""A ladder of releases as a small picture: static SVG by leather, without scripts, coloured by the page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import geometric_mean
from typing import Any
from xml.etree import ElementTree

import leather

from bench.analysis.tables.ranking import Figure
from bench.core.formats import number

WIDTH, HEIGHT = 420, 200
LINE, LEVEL, BAR = "#2a78c2", "#c2571a", "#8a8a8a"
"""Colours with a contrast of at least 3 to 1 on white and on black; the marks also differ in width and position."""


@dataclass(frozen=True, slots=True)
class LadderPicture:
    """An SVG with title, description and alternative text; without two points the SVG is empty."""

    title: str
    words: str
    alt: str
    svg: str


def ladder_picture(title: str, words: str, points: Sequence[Figure], changes: Sequence[int]) -> LadderPicture:
    """The releases' figures with their intervals, and the levels between `changes`, indices of points from 0."""
    figures = ", ".join(number(point.mean) for point in points)
    alt = f"{title}: {words}. From the first release to the last: {figures}."
    return LadderPicture(title, words, alt, _svg(points, changes) if len(points) > 1 else "")


class _Layers(leather.Shape):  # type: ignore[misc]
    """Several series drawn as one: leather adds a legend if there are two, and the page explains the lines once."""

    def __init__(self, layers: Sequence[tuple[Any, Sequence[Any]]]) -> None:
        self.layers = layers

    def validate_series(self, series: Any) -> None:
        """Accept any series: it only sets the scales."""

    def to_svg(  # noqa: PLR0917 -- leather's signature
        self, width: int, height: int, x_scale: Any, y_scale: Any, series: Any, palette: Any
    ) -> Any:
        """Draw the layers, the first one at the back."""
        group = ElementTree.Element("g")
        for shape, points in self.layers:
            group.append(shape.to_svg(width, height, x_scale, y_scale, leather.Series(list(points)), palette))
        return group


def _svg(points: Sequence[Figure], changes: Sequence[int]) -> str:
    _theme()
    known = [(place, point.mean) for place, point in enumerate(points, 1)]
    low, high = _ends(points)
    bars = [
        (leather.Line(BAR, 3), [(place, max(low, point.low)), (place, min(high, point.high))])
        for place, point in enumerate(points, 1)
    ]
    levels: list[tuple[Any, Sequence[Any]]] = [(leather.Line(LEVEL, 4), level) for level in _levels(points, changes)]
    drawn: list[tuple[Any, Sequence[Any]]] = [(leather.Line(LINE, 1.5), known), (leather.Dots(LINE, 3), known)]
    chart = leather.Chart()
    # The ends set the scale; leather puts round numbers on it.
    chart.add_series(leather.Series([*known, (1, low), (1, high)]), _Layers([*bars, *levels, *drawn]))
    chart.set_y_axis(leather.Axis(tick_formatter=lambda value, *_: f"{float(value):,g}"))
    chart.set_x_scale(leather.Linear(0.5, len(points) + 0.5))
    ticks = [*range(1, len(points) + 1, max(1, math.ceil(len(points) / 12)))]
    chart.set_x_axis(leather.Axis(ticks=ticks, tick_formatter=lambda value, *_: f"{value:g}"))
    return _plain(chart.to_svg(width=WIDTH, height=HEIGHT))


def _theme() -> None:
    theme = leather.theme
    theme.background_color, theme.margin = "none", 0.01
    theme.tick_color = theme.zero_color = "#8885"
    theme.label_color = theme.tick_font_color = theme.legend_color = "currentColor"
    theme.tick_font_family = theme.legend_font_family = theme.axis_title_font_family = "sans-serif"
    theme.tick_font_char_width = 8


def _levels(points: Sequence[Figure], changes: Sequence[int]) -> Iterator[list[tuple[int, float]]]:
    """Each level from its first release to its last, if there are changes."""
    for first, end in pairwise([0, *changes, len(points)] if changes else []):
        level = geometric_mean(point.mean for point in points[first:end])
        yield [(first + 1, level), (end, level)]


def _ends(points: Sequence[Figure]) -> tuple[float, float]:
    """The ends of the axis: all values, and the intervals as long as they do not dwarf the values."""
    values = [point.mean for point in points]
    low, high = min(values), max(values)
    room = max(high - low, 0.05 * high)
    return max(min(point.low for point in points), low - room), min(max(point.high for point in points), high + room)


def _plain(svg: str) -> str:
    """The SVG with a scalable view box that has room for labels at the edges, and numbers with two decimals."""
    svg = re.sub(r"(\.\d\d)\d+(?=[\" ])", r"\1", svg)
    return svg.replace(
        f'width="{WIDTH}" height="{HEIGHT}"', f'viewBox="0 -8 {WIDTH} {HEIGHT + 16}" aria-hidden="true"', 1
    )
