"""What the harness itself costs, from timestamps and samples that scripts/harness-cost.sh saved."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.core.errors import UserError
from tests.cost.page_cost import PAGE_MEASUREMENTS

MEASUREMENTS = 10_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Reading a clock of 10 ms ticks over less than this says nothing.
SHORTEST_WINDOW_S = 1.0
STAT = re.compile(r"\d+ \((.*)\) \S+(?: \S+){10} (\d+) (\d+) ")
HARNESS = re.compile(r"matrix\.sh|docker|dockerd|docker-compose|containerd|containerd-shim.*")


@dataclass(frozen=True, slots=True)
class Cost:
    """One figure with the most that it may be; `value` None where it was not measured, with the reason."""

    name: str
    unit: str
    most: float
    value: float | None
    note: str

    def row(self) -> str:
        """A row of the table."""
        if self.value is None:
            return f"| {self.name} | {self.most:g} {self.unit} | not measured: {self.note} | |"
        verdict = "holds" if self.value <= self.most else "MISSED"
        return f"| {self.name} | {self.most:g} {self.unit} | {self.value:.3g} {self.unit} ({self.note}) | {verdict} |"


def harness_cost(argv: Sequence[str]) -> int:
    """`run RUN SAMPLES NAME=BEGIN_NS,END_NS...`: print the table; exit status 1 when a goal is missed."""
    if len(argv) < 2:
        raise UserError("run takes a run, a file of samples and intervals; see scripts/harness-cost.sh")
    folder, samples = Path(argv[0]), Path(argv[1])
    windows = list(_windows(folder))
    spans = dict(interval_s(word) for word in argv[2:])
    seconds, megabytes = records_cost()
    figures = [
        _fixed_cost(windows),
        harness_cpu(windows, list(read_samples(samples.read_text(errors="replace")))),
        Cost(f"{MEASUREMENTS:,} measurements to records, report and page", "s", 5, seconds, "wall"),
        Cost("the same, memory", "MB", 500, megabytes, "peak resident"),
        Cost("rebuild after a change of the app alone", "s", 3, spans["rebuild"], "one service"),
        Cost("setup.sh with nothing to do", "s", 1, spans["setup"], "one call"),
        *_page_figures(spans),
    ]
    return print_table(figures)


def _page_figures(spans: Mapping[str, float]) -> Iterator[Cost]:
    """The page's own goals, from `page` and tests/cost/page_times.py."""
    size = f"page of {PAGE_MEASUREMENTS:,} measurements"
    for key, name, unit, most, factor, note in (
        ("page", f"{size}: made", "s", 3, 1, "wall, from records that were read"),
        ("first-picture", f"{size}: first picture", "s", 1, 1, "median, from the navigation"),
        ("interaction", f"{size}: an interaction", "ms", 100, 1000, "median of the worst, to the next frame"),
    ):
        value = spans.get(key)
        yield Cost(name, unit, most, None if value is None else value * factor, note if value else "no browser")


def print_table(figures: Sequence[Cost]) -> int:
    print("| figure | at most | here | |", "| --- | --- | --- | --- |", *(f.row() for f in figures), sep="\n")
    return int(any(f.value is None or f.value > f.most for f in figures))


@dataclass(frozen=True, slots=True)
class LoadWindow:
    """One measurement: `fixed_s` is its wall time beside load and warm-up; the load's times in ns."""

    fixed_s: float
    start_ns: int
    end_ns: int


def _windows(folder: Path) -> Iterator[LoadWindow]:
    for path in sorted(folder.glob("raw/r*/*/*/*/meta.json")):
        meta, tool = json.loads(path.read_text()), json.loads((path.parent / "tool.json").read_text())
        if "warm_ns" not in meta:
            # Of a block, which is another unit.
            continue
        load, warm = tool["end_ns"] - tool["start_ns"], meta["warm_ns"] - meta["ready_ns"]
        fixed = meta["end_ns"] - meta["begin_ns"] - load - warm
        yield LoadWindow(fixed / 1e9, tool["start_ns"], tool["end_ns"])


def _fixed_cost(windows: Sequence[LoadWindow]) -> Cost:
    costs = [w.fixed_s for w in windows]
    value = statistics.median(costs) if costs else None
    note = f"median of {len(costs)}, most {max(costs):.2f}" if costs else "no measurement"
    return Cost("fixed cost of a measurement", "s", 2.5, value, note)


def read_samples(text: str) -> Iterator[tuple[int, int]]:
    """(time in ns, the harness's CPU ticks so far), from times and the lines of /proc/PID/stat after each."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.isdigit()]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield int(lines[start]), sum(_ticks(line) for line in lines[start + 1 : end])


def _ticks(line: str) -> int:
    """utime and stime of a process of the harness: the scripts and Docker's own, whoever started them."""
    found = STAT.match(line)
    return int(found[2]) + int(found[3]) if found and HARNESS.fullmatch(found[1]) else 0


def harness_cpu(windows: Sequence[LoadWindow], samples: Sequence[tuple[int, int]]) -> Cost:
    """Share of one core that the harness's processes had, from the samples that lie inside windows."""
    busy = wall = 0.0
    for window in windows:
        inside = [s for s in samples if window.start_ns <= s[0] <= window.end_ns]
        if len(inside) > 1 and inside[-1][0] - inside[0][0] >= SHORTEST_WINDOW_S * 1e9:
            busy += (inside[-1][1] - inside[0][1]) / TICKS_PER_S
            wall += (inside[-1][0] - inside[0][0]) / 1e9
    value = 100 * busy / wall if wall else None
    note = f"over {wall:.0f} s of load" if wall else "no window was long enough"
    return Cost("CPU of the harness during windows", "% of a core", 2, value, note)


def records_cost() -> tuple[float, float]:
    """(wall seconds, peak resident MB) of building records and report from synthetic raw files."""
    with tempfile.TemporaryDirectory(dir="results") as folder:
        maker = [sys.executable, "tests/support/make_run.py", str(MEASUREMENTS), folder]
        subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        builder = subprocess.Popen([sys.executable, "-m", "bench", "build", folder])
        _, status, usage = os.wait4(builder.pid, 0)
        seconds = time.monotonic() - begin
    if status:
        raise UserError("the report of the synthetic run does not build; the lines above say why")
    return seconds, usage.ru_maxrss / 1024


def interval_s(word: str) -> tuple[str, float]:
    """(name, seconds) of `NAME=BEGIN_NS,END_NS`."""
    name, _, ends = word.partition("=")
    begin, _, end = ends.partition(",")
    return name, (int(end) - int(begin)) / 1e9
