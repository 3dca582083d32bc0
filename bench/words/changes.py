"""A difference between two services in words, in the direction and the unit of the metric.

Verdicts compare speeds, but readers see figures: a slower service needs more CPU per request, or serves fewer
requests/s. Every text uses these functions, so that sign and size are the same everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.analysis.tables.ranking import PERCENTILES, Bounds, Contrast, Metric
from bench.core.formats import size_number

_MUCH, _MANY, _HIGHER = ("more", "less", "much"), ("more", "fewer", "many"), ("higher", "lower", "high")
LITTLE = 0.1
"""A value of a knob is enough if larger ones gain at most this share of requests/s."""
FACTOR = 2.0
"""Sentences give a ratio of this or more as a factor; columns always use percent."""
CPU, REQUESTS = "CPU per request", "requests per second"


@dataclass(frozen=True, slots=True)
class Change:
    """The ratio of a metric's figures: 1.93 for CPU per request means 93 % more CPU per request."""

    metric: Metric
    ratio: float
    bounds: Bounds | None

    @property
    def of(self) -> str:
        """`CPU per request`, `requests per second` or `p99`."""
        if self.metric in PERCENTILES:
            return str(self.metric)
        return CPU if self.metric is Metric.CPU else REQUESTS

    def signed(self) -> str:
        """For a column: `+93 %`."""
        return f"{_signed(self.ratio)} %"

    def span(self) -> str:
        """For a column: `(+85 to +101 %)`; empty if the interval is unknown."""
        return "({} to {} %)".format(*map(_signed, self.bounds)) if self.bounds else ""

    def column(self) -> str:
        """For a column: `+93 % (+85 to +101 %)`."""
        return f"{self.signed()} {self.span()}".rstrip()

    def is_factor(self) -> bool:
        """Whether a sentence gives it as a factor."""
        return self.ratio >= FACTOR

    def interval(self) -> str:
        """For a sentence: `10 to 14 %`, or `1.8 to 2.0` for a factor; `unknown` without bounds."""
        if self.bounds is None:
            return "unknown"
        low, high = self.bounds
        if self.is_factor():
            digits = self._digits()
            return f"{low:.{digits}f} to {high:.{digits}f}"
        return "{} to {} %".format(*map(_part, (low, high) if self.ratio >= 1 else (high, low)))

    def much(self) -> str:
        """`1.9 times as much`, `12 % more`, `11 % less` (or `fewer`)."""
        more, less, many = _HIGHER if self.metric in PERCENTILES else _MUCH if self.metric is Metric.CPU else _MANY
        if self.is_factor():
            return f"{self.ratio:.{self._digits()}f} times as {many}"
        return f"{_part(self.ratio)} % {more if self.ratio >= 1 else less}"

    def much_of_it(self) -> str:
        """`1.9 times as much CPU per request as`, `12 % more requests per second than`."""
        return f"{self.much()} {self.of} {'as' if self.is_factor() else 'than'}"

    def verb(self, than: str = "") -> str:
        """`needs 93 % more CPU per request (85 to 101 %)`, or `needs ... than X`; `has a p99 93 % higher`."""
        if self.metric in PERCENTILES:
            ends = f" {'as' if self.is_factor() else 'than'} {than}" if than else ""
            return f"has a {self.of} {self.much()}{ends} ({self.interval()})"
        much = f"{self.much_of_it()} {than}" if than else f"{self.much()} {self.of}"
        return f"{'needs' if self.metric is Metric.CPU else 'served'} {much} ({self.interval()})"

    def _digits(self) -> int:
        """The decimals of a factor that its interval justifies."""
        low, high = self.bounds or (0.0, 1.0)
        if self.ratio >= 9.95:
            return 0 if high - low >= 1 else 1
        return 1 if high - low >= 0.1 else 2


def change(metric: Metric, difference: float, interval: Bounds | None) -> Change:
    """The change of a metric's figure, from a difference of speeds (a ratio - 1) and its interval."""
    ratio, bounds = 1 + difference, interval and (1 + interval[0], 1 + interval[1])
    if not metric.less_is_better:
        return Change(metric, ratio, bounds)
    return Change(metric, _inverse(ratio), bounds and (_inverse(bounds[1]), _inverse(bounds[0])))


def change_of(metric: Metric, gap: Contrast) -> Change:
    """The change from A to B."""
    return change(metric, gap.difference, gap.interval)


def column_name(metric: Metric, against: str) -> str:
    """The heading of a column of changes: `CPU against the best`."""
    return f"{metric if metric in PERCENTILES else 'CPU' if metric is Metric.CPU else 'requests/s'} against {against}"


def change_words(metric: Metric, gap: Contrast) -> str:
    """B against A: `needs 93 % more CPU per request (85 to 101 %)`; without a verdict `CPU per request +0.6 % (..)`."""
    found = change_of(metric, gap)
    return found.verb() if gap.called and found.bounds else f"{found.of} {found.column()}"


def _inverse(ratio: float) -> float:
    return 1 / ratio if ratio > 0 else math.inf


def _part(ratio: float) -> str:
    """Percent more or less: `93`; just below 100 % with enough digits to tell: `99.3`."""
    if 0 < ratio < 0.01:
        return f"{100 * (1 - ratio):.{-math.floor(math.log10(ratio)) - 2}f}"
    return size_number(abs(ratio - 1))


def _signed(ratio: float) -> str:
    """`+93`, `-48`; `0` if it rounds to zero."""
    part = _part(ratio)
    return "0" if part == "0.0" else f"{'-' if ratio < 1 else '+'}{part}"
