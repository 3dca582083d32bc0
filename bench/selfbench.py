"""What the harness itself costs, from timestamps and samples that scripts/bench-self.sh saved."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.build import reviewed, service_names
from bench.duets import Judged
from bench.errors import UserError
from bench.latencies import merged_latencies
from bench.page.document import html
from bench.page.windows import Window as Shown
from bench.rundir import read_run, read_service
from bench.tables.page import content

MEASUREMENTS = 10_000
PAGE_MEASUREMENTS = 5_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Reading a clock of 10 ms ticks over less than this says nothing.
SHORTEST_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class Figure:
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


def run(argv: Sequence[str]) -> int:
    """`self RUN SAMPLES NAME=BEGIN_NS,END_NS...`: print the table; exit status 1 when a goal is missed."""
    if len(argv) < 2:
        raise UserError("self takes a run, a file of samples and intervals; see scripts/bench-self.sh")
    folder, samples = Path(argv[0]), Path(argv[1])
    windows = list(_windows(folder))
    spans = dict(_interval(word) for word in argv[2:])
    seconds, megabytes = records_cost()
    figures = [
        _fixed_cost(windows),
        _harness_cpu(windows, samples.read_text().splitlines()),
        Figure(f"{MEASUREMENTS:,} measurements to records, report and page", "s", 5, seconds, "wall"),
        Figure("the same, memory", "MB", 500, megabytes, "peak resident"),
        Figure("rebuild after a change of the app alone", "s", 3, spans["rebuild"], "one service"),
        Figure("setup.sh with nothing to do", "s", 1, spans["setup"], "one call"),
        *_page_figures(spans),
    ]
    return _table(figures)


def _page_figures(spans: Mapping[str, float]) -> Iterator[Figure]:
    """The page's own goals, from `self-page` and tests/cost/page_times.py."""
    size = f"page of {PAGE_MEASUREMENTS:,} measurements"
    for key, name, unit, most, factor, note in (
        ("page", f"{size}: made", "s", 3, 1, "wall, from records that were read"),
        ("first-picture", f"{size}: first picture", "s", 1, 1, "median, from the navigation"),
        ("interaction", f"{size}: an interaction", "ms", 100, 1000, "median of the worst, to the next frame"),
    ):
        value = spans.get(key)
        yield Figure(name, unit, most, None if value is None else value * factor, note if value else "no browser")


def run_page(argv: Sequence[str]) -> int:
    """`self-page FOLDER`: write a synthetic run and its page there; print `page=0,NS`, what the page alone takes."""
    if len(argv) != 1:
        raise UserError("self-page takes a folder; see scripts/bench-self.sh")
    folder = argv[0]
    maker = [sys.executable, "tests/support/make_run.py", str(PAGE_MEASUREMENTS), folder]
    subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    windows: list[Shown] = []
    records = reviewed(source, services, windows)
    latencies = merged_latencies(folder, records)
    begin = time.monotonic_ns()
    words = content(source, services, records, Judged(), latencies)
    page = html(source, services, records, Judged(), windows=windows, latencies=latencies, words=words)
    print(f"page=0,{time.monotonic_ns() - begin}")
    (Path(folder) / "index.html").write_text(page, encoding="utf-8")
    return 0


def run_builds(argv: Sequence[str]) -> int:
    """`self-builds BUILDS HISTORIES`: time and bytes of cold builds; exit status 1 when a goal is missed.

    BUILDS has lines `NAME STATUS BEGIN_NS END_NS`, HISTORIES a file NAME.jsonl for each image that was built.
    """
    if len(argv) != 2:
        raise UserError("self-builds takes a file of builds and a folder of histories; see scripts/bench-self.sh")
    builds = [line.split() for line in Path(argv[0]).read_text().splitlines()]
    failed = [name for name, status, _, _ in builds if status != "0"]
    seconds = (max(int(b[3]) for b in builds) - min(int(b[2]) for b in builds)) / 1e9
    layers = [read_layers(path) for path in sorted(Path(argv[1]).glob("*.jsonl"))]
    bytes_each = own_bytes(layers) / len(layers) if layers else None
    megabytes = None if bytes_each is None else bytes_each / 1e6
    note = f"{len(layers)} services"
    figures = [
        Figure("cold build of a service", "s", 15, seconds / len(builds), f"{seconds:.0f} s for {len(builds)}"),
        Figure("bytes of its own, beside what all share", "MB", 60, megabytes, note),
        Figure("services that do not build", "", 0, len(failed), ", ".join(failed) or note),
    ]
    return _table(figures)


def read_layers(path: Path) -> dict[str, int]:
    """Sizes in bytes of an image's layers, by what and when made each, from `docker history` as JSON lines.

    Two images that share a layer have it from one build step, so that step and time tell it from others.
    """
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return {f"{e['CreatedAt']} {e['CreatedBy']}": int(e["Size"]) for e in entries if int(e["Size"])}


def own_bytes(images: Sequence[Mapping[str, int]]) -> int:
    """Bytes of all layers, each counted once, less those that every image has."""
    every = set.intersection(*(set(layers) for layers in images))
    return sum(size for key, size in {k: v for layers in images for k, v in layers.items()}.items() if key not in every)


def _table(figures: Sequence[Figure]) -> int:
    print("| figure | at most | here | |", "| --- | --- | --- | --- |", *(f.row() for f in figures), sep="\n")
    return int(any(f.value is None or f.value > f.most for f in figures))


@dataclass(frozen=True, slots=True)
class Window:
    """One measurement: `fixed_s` is its wall time beside load and warm-up; the load's times in ns."""

    fixed_s: float
    start_ns: int
    end_ns: int


def _windows(folder: Path) -> Iterator[Window]:
    for path in sorted(folder.glob("raw/r*/*/*/*/meta.json")):
        meta, tool = json.loads(path.read_text()), json.loads((path.parent / "tool.json").read_text())
        if "warm_ns" not in meta:
            # One side of a pair, whose rounds are another unit.
            continue
        load, warm = tool["end_ns"] - tool["start_ns"], meta["warm_ns"] - meta["ready_ns"]
        fixed = meta["end_ns"] - meta["begin_ns"] - load - warm
        yield Window(fixed / 1e9, tool["start_ns"], tool["end_ns"])


def _fixed_cost(windows: Sequence[Window]) -> Figure:
    costs = [w.fixed_s for w in windows]
    value = statistics.median(costs) if costs else None
    note = f"median of {len(costs)}, most {max(costs):.2f}" if costs else "no measurement"
    return Figure("fixed cost of a measurement", "s", 2.5, value, note)


def _harness_cpu(windows: Sequence[Window], lines: Sequence[str]) -> Figure:
    """Share of one core, from samples `NS TICKS` of the harness's processes that lie inside windows."""
    samples = [(int(ns), int(ticks)) for ns, ticks in (line.split() for line in lines if line.count(" ") == 1)]
    busy = wall = 0.0
    for window in windows:
        inside = [s for s in samples if window.start_ns <= s[0] <= window.end_ns]
        if len(inside) > 1 and inside[-1][0] - inside[0][0] >= SHORTEST_WINDOW_S * 1e9:
            busy += (inside[-1][1] - inside[0][1]) / TICKS_PER_S
            wall += (inside[-1][0] - inside[0][0]) / 1e9
    value = 100 * busy / wall if wall else None
    note = f"over {wall:.0f} s of load" if wall else "no window was long enough"
    return Figure("CPU of the harness during windows", "% of a core", 2, value, note)


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


def _interval(word: str) -> tuple[str, float]:
    name, _, ends = word.partition("=")
    begin, _, end = ends.partition(",")
    return name, (int(end) - int(begin)) / 1e9
