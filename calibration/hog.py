"""How much other programs on the server's CPU change CPU per request: windows beside a hog of 0, 5, 20 and 50 %.

A cgroup's CPU time excludes the time of other programs, but not their effects: cold caches, and a tool that waits
longer.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bench.core.errors import UserError
from bench.core.groups import grouped
from bench.records.file import read_records
from bench.run.reader import read_raw, read_run
from bench.stats.estimates import LEAST_SPREAD, Interval
from calibration.report import row

LEVELS = "hog.txt"
"""Lines of `BEGIN_NS END_NS PERCENT`, as calibration/busy.py writes them."""
HEADS = (
    "CPU that the hog used",
    "CPU per request, against none",
    "requests/s, against none",
    "windows, beside it and without",
)
HARMLESS = math.log(1.03)
"""Changes within this are acceptable."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Window:
    """A window of one service: how busy the hog was (in percent of a CPU), CPU per request (s), requests/s."""

    service: str
    percent: int
    cpu_s: float
    goodput: float


@dataclass(frozen=True, slots=True)
class Welch:
    """The change from one sample to the other: Welch's t test of the logarithms."""

    one: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of `other` minus mean of `one`."""
        return fmean(self.other) - fmean(self.one)

    def interval(self, confidence: float) -> Interval:
        """Welch's interval of the change; infinite if a side has fewer than two values, or identical ones."""
        sides = self.one, self.other
        if any(len(values) < 2 or max(values) - min(values) < LEAST_SPREAD for values in sides):
            return Interval(-math.inf, math.inf, confidence)
        from scipy.stats import ttest_ind  # takes most of a second to load

        found = ttest_ind(self.other, self.one, equal_var=False).confidence_interval(confidence)
        return Interval(float(found.low), float(found.high), confidence)


def hog(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether the interval of each level allows a change of CPU per request within 3 %)."""
    found = [window for folder in folders for window in _windows(folder)]
    if not any(window.percent for window in found):
        raise UserError(f"{folders[0]} has no windows beside a hog: it is not a run of this self-test")
    return report(found)


def report(windows: Sequence[Window]) -> tuple[str, bool]:
    """As `hog`, of its windows."""
    rows, holds = [row(HEADS), row(["---:"] * len(HEADS))], True
    cpu = deviations(windows, lambda window: window.cpu_s)
    rate = deviations(windows, lambda window: window.goodput)
    for percent in sorted(cpu.keys() - {0}):
        moved, slower = (Welch(tuple(found[0]), tuple(found[percent])) for found in (cpu, rate))
        around = moved.interval(CONFIDENCE)
        counts = f"{len(cpu[percent])} and {len(cpu[0])}"
        rows.append(row([f"{percent} %", words(moved), words(slower), counts]))
        holds &= around.low <= HARMLESS and around.high >= -HARMLESS
    return "\n".join(rows), holds


def words(change: Welch) -> str:
    """`+1.2 % (-0.4 to +2.8)`: the change of the mean and its 95 % interval, as Welch's test has it."""
    around = change.interval(CONFIDENCE)
    mean, low, high = (100 * math.expm1(value) for value in (change.mean, around.low, around.high))
    return f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})"


def deviations(windows: Iterable[Window], figure: Callable[[Window], float]) -> dict[int, list[float]]:
    """By level: the logarithm of each window's figure relative to the mean of its service's windows without a hog."""
    found: dict[int, list[float]] = defaultdict(list)
    for group in grouped(windows, lambda window: window.service).values():
        quiet = [math.log(figure(window)) for window in group if window.percent == 0]
        for window in group:
            if quiet:
                found[window.percent].append(math.log(figure(window)) - fmean(quiet))
    return found


def level_at(levels: Sequence[tuple[int, int, int]], begin_ns: int, end_ns: int) -> int | None:
    """The level of the whole window in percent; None if it changed. `levels`: (from, to, percent), in order."""
    index = bisect_right([begin for begin, _, _ in levels], begin_ns) - 1
    return levels[index][2] if index >= 0 and end_ns <= levels[index][1] else None


def _windows(folder: str) -> Iterable[Window]:
    path = Path(folder, LEVELS)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    levels = [(int(begin), int(end), int(percent)) for begin, end, percent in (line.split() for line in lines)]
    records = {record.id: record for record in read_records(Path(folder))}
    for planned in read_run(folder).planned:
        record, tool = records.get(planned.id), read_raw(folder, planned).tool or {}
        if record is None or not record.cpu_per_success_s or not record.goodput or not tool.get("end_ns"):
            continue
        percent = level_at(levels, tool["start_ns"], tool["end_ns"])
        if percent is not None:
            yield Window(record.service, percent, record.cpu_per_success_s, record.goodput)
