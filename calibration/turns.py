"""What taking turns does to comparisons: short turns against turns so long that a service is as good as alone.

Both tables are of the same services, scenarios and connections, and of the same containers in each round. Their data
are separate: the long turns have no part in the figures or intervals that the short ones are judged by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.core.errors import UserError
from bench.core.formats import markdown_table
from bench.core.groups import grouped
from bench.export.columns import contrasts_of
from bench.stats.table_verdicts import FASTER, SLOWER
from bench.tools.levels import Level
from calibration.report import verdict
from calibration.widths import half_width

WITHIN = 0.95
"""The share of differences that must be within the interval that the table in short turns states."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The difference of two services in short turns and in long ones, as a ratio - 1, with the interval of each.

    `called`, `reversed`: whether the short turns have a verdict, and whether the long ones have the opposite one.
    """

    table: str
    pair: str
    short: float
    long: float
    short_interval: Sequence[float]
    long_interval: Sequence[float]
    called: bool
    reversed: bool

    @property
    def apart(self) -> float:
        """How far the short turns are from the long ones, as a logarithm."""
        return math.log1p(self.short) - math.log1p(self.long)

    @property
    def within(self) -> bool:
        """Whether the ratio in long turns, with all its noise, is in the interval of the short ones."""
        low, high = self.short_interval
        return low <= self.long <= high


def compared(folder: str) -> Iterator[Compared]:
    """Each difference of a run that was measured in short and in long turns."""
    lines = [one for one in contrasts_of(folder) if one["interval"]]
    long = {_key(one): one for one in lines if Level.read(one["level"]).turn_s}
    for line in lines:
        other = long.get(_key(line))
        if other is None or Level.read(line["level"]).turn_s:
            continue
        table, pair = f"{line['scenario']} {line['tool']} {line['level']}", f"{line['a']} to {line['b']}"
        figures = (line["difference"], other["difference"], line["interval"], other["interval"])
        opposite = {line["verdict"], other["verdict"]} == {FASTER, SLOWER}
        yield Compared(table, pair, *figures, line["verdict"] in (FASTER, SLOWER), opposite)


def _key(line: dict[str, Any]) -> tuple[str, ...]:
    return line["scenario"], line["tool"], str(Level.read(line["level"]).connections), line["a"], line["b"]


HEADS = ("table", "differences", "short turns known to ±", "long turns known to ±", "apart, median", "largest",
         "called", "reversed", "within the interval", "")  # fmt: skip


def turns(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): for each table, how far short turns are from long ones, and how many are within."""
    if not (differences := [one for folder in folders for one in compared(folder)]):
        raise UserError("these runs have no table that was measured in short and in long turns")
    rows, holds = [], True
    for table, group in grouped(differences, lambda one: one.table).items():
        apart, inside = [abs(one.apart) for one in group], sum(one.within for one in group)
        most = max(group, key=lambda one: abs(one.apart))
        fine = inside >= WITHIN * len(group) and not any(one.reversed for one in group)
        holds &= fine
        intervals = ("short_interval", "long_interval")
        widths = [median(half_width(getattr(one, name)) for one in group) for name in intervals]
        words = [table, str(len(group)), *map(_percent, widths), _percent(median(apart))]
        words += [f"{_percent(abs(most.apart))} ({most.pair})", str(sum(one.called for one in group))]
        words += [str(sum(one.reversed for one in group)), f"{inside} ({inside / len(group):.1%})", verdict(fine)]
        rows.append(words)
    return markdown_table(HEADS, rows, range(1, 5)), holds


def _percent(logarithm: float) -> str:
    return f"{100 * logarithm:.1f} %"
