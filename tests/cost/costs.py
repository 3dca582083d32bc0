"""The cost of the harness itself: its goals, and the figures from the files of scripts/harness-cost.sh."""

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
from itertools import pairwise
from pathlib import Path

from bench.analysis.cells.latency import merged_latencies
from bench.analysis.findings import findings_of
from bench.core.errors import UserError
from bench.render.page.document import html
from bench.render.page.windows import WindowDetails, window_details_of
from bench.render.report import Report
from bench.run.reader import read_run, read_service
from bench.validity.run_records import reviewed, service_names

MEASUREMENTS = 10_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Over a shorter time, a clock with ticks of 10 ms is too coarse.
SHORTEST_WINDOW_S = 1.0
STAT = re.compile(r"\d+ \((.*)\) \S+(?: \S+){10} (\d+) (\d+) ")
HARNESS = re.compile(r"matrix\.sh|docker|dockerd|docker-compose|containerd|containerd-shim.*")


@dataclass(frozen=True, slots=True)
class Cost:
    """A figure and its goal, the `most` that it may be; `value` is None if not measured, and `note` then says why."""

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
    """`run RUN SAMPLES NAME=BEGIN_NS,END_NS...`: print the table; exit status 1 if a goal is missed."""
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
        *page_figures(spans),
    ]
    return print_table(figures)


def page_figures(spans: Mapping[str, float]) -> Iterator[Cost]:
    """The page's goals, from the figures of `page` and tests/cost/page_times.py."""
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
    """One measurement: `fixed_s` is its wall time without load and warm-up; begin and end of the load in ns."""

    fixed_s: float
    start_ns: int
    end_ns: int


def _windows(folder: Path) -> Iterator[LoadWindow]:
    for path in sorted(folder.glob("raw/r*/*/*/*/*/*/meta.json")):
        meta, tool = json.loads(path.read_text()), json.loads((path.parent / "tool.json").read_text())
        if "warm_ns" not in meta:
            # A window of a block: there the unit is the block.
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
    """(time in ns, CPU ticks of the harness so far), from lines with a time, then lines of /proc/PID/stat."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.isdigit()]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield int(lines[start]), sum(_ticks(line) for line in lines[start + 1 : end])


def _ticks(line: str) -> int:
    """utime + stime if the process belongs to the harness: the scripts and Docker, whoever started it; otherwise 0."""
    found = STAT.match(line)
    return int(found[2]) + int(found[3]) if found and HARNESS.fullmatch(found[1]) else 0


def harness_cpu(windows: Sequence[LoadWindow], samples: Sequence[tuple[int, int]]) -> Cost:
    """The share of one core that the harness's processes used, from samples inside windows."""
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


PAGE_MEASUREMENTS = 5_000


def page_cost(argv: Sequence[str]) -> int:
    """`page FOLDER`: write a synthetic run and its page there; print `page=0,NS`, the time for the page alone."""
    if len(argv) != 1:
        raise UserError("page takes a folder; see scripts/harness-cost.sh")
    folder = argv[0]
    maker = [sys.executable, "tests/support/make_run.py", str(PAGE_MEASUREMENTS), folder]
    subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    windows: list[WindowDetails] = []
    records = reviewed(source, services, lambda raw: windows.append(window_details_of(raw)))
    latencies = merged_latencies(folder, records)
    begin = time.monotonic_ns()
    report = Report(source, services, findings_of(records, source.facts, services), (), latencies)
    page = html(source, services, records, windows=windows, latencies=latencies, report=report)
    print(f"page=0,{time.monotonic_ns() - begin}")
    (Path(folder) / "index.html").write_text(page, encoding="utf-8")
    return 0


def build_cost(argv: Sequence[str]) -> int:
    """`builds BUILDS HISTORIES`: print time and bytes of cold builds; exit status 1 if a goal is missed.

    BUILDS has lines `NAME STATUS BEGIN_NS END_NS`, HISTORIES a file NAME.jsonl for each image that was built.
    """
    if len(argv) != 2:
        raise UserError("builds takes a file of builds and a folder of histories; see scripts/harness-cost.sh")
    builds = [line.split() for line in Path(argv[0]).read_text().splitlines()]
    failed = [name for name, status, _, _ in builds if status != "0"]
    seconds = (max(int(b[3]) for b in builds) - min(int(b[2]) for b in builds)) / 1e9
    layers = [read_layers(path) for path in sorted(Path(argv[1]).glob("*.jsonl"))]
    bytes_each = own_bytes(layers) / len(layers) if layers else None
    megabytes = None if bytes_each is None else bytes_each / 1e6
    note = f"{len(layers)} services"
    figures = [
        Cost("cold build of a service", "s", 15, seconds / len(builds), f"{seconds:.0f} s for {len(builds)}"),
        Cost("bytes of its own, beside what all share", "MB", 60, megabytes, note),
        Cost("services that do not build", "", 0, len(failed), ", ".join(failed) or note),
    ]
    return print_table(figures)


def read_layers(path: Path) -> dict[str, int]:
    """Sizes in bytes of an image's layers, by creation time and build step, from `docker history` as JSON lines.

    Images that share a layer have it from the same build step, so time and step identify it.
    """
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return {f"{e['CreatedAt']} {e['CreatedBy']}": int(e["Size"]) for e in entries if int(e["Size"])}


def own_bytes(images: Sequence[Mapping[str, int]]) -> int:
    """Bytes of all layers, each counted once, without those that every image has."""
    every = set.intersection(*(set(layers) for layers in images))
    return sum(size for key, size in {k: v for layers in images for k, v in layers.items()}.items() if key not in every)


SERVERS, MOST_RUN_S, MOST_REBUILD_S = 12, 300, 3
QUICK_ROWS, MOST_QUICK_S = 16, 240


def own_app_cost(argv: Sequence[str]) -> int:
    """`own RUN NAME=BEGIN_NS,END_NS...`: print both figures; status 1 if a goal is missed or a figure unknown."""
    if len(argv) != 3:
        raise UserError("own takes a run and two intervals; see scripts/harness-cost.sh")
    spans = dict(map(interval_s, argv[1:]))
    ranked = ranked_services(Path(argv[0]))
    whole = len(ranked) == SERVERS
    words = f"wall, images there; {len(ranked)} of {SERVERS} servers ranked"
    return print_table(
        [
            Cost("a ranked table of one's own app", "s", MOST_RUN_S, spans["own-run"] if whole else None, words),
            Cost(
                "rebuild after a change of the app alone",
                "s",
                MOST_REBUILD_S,
                spans["own-rebuild"] / SERVERS,
                f"a service; {spans['own-rebuild']:.1f} s for {SERVERS}",
            ),
        ]
    )


def quick_cost(argv: Sequence[str]) -> int:
    """`quick RUN quick=BEGIN_NS,END_NS`: print how long it took; status 1 if the goal is missed or a row not ranked."""
    if len(argv) != 2:
        raise UserError("quick takes a run and an interval; see scripts/harness-cost.sh")
    rows = len(_ranks(Path(argv[0])))
    taken = interval_s(argv[1])[1] if rows == QUICK_ROWS else None
    words = f"wall, images there; {rows} of {QUICK_ROWS} rows ranked"
    return print_table([Cost("the preset quick", "s", MOST_QUICK_S, taken, words)])


def ranked_services(folder: Path) -> set[str]:
    """The services that have a rank in the run's tables."""
    return {service for service, _ in _ranks(folder)}


def _ranks(folder: Path) -> set[tuple[str, str]]:
    """Service and scenario of each row that has a rank."""
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    ranked = (line for line in lines if line.get("kind") == "service" and line.get("rank"))
    return {(line["service"], line.get("scenario", "")) for line in ranked}


LEAST_LOAD, MANY = 0.5, 8
"""The least share of wall time that must be load, for tables of at least this many services."""
LONGEST_GAP_S = 60.0
"""A longer gap between two blocks means that the run was interrupted."""


@dataclass(frozen=True, slots=True)
class BlockTime:
    """One block: its begin and end, the load of all its turns, and the time that these waited for responses; in s."""

    services: int
    began: float
    ended: float
    load: float
    drain: float


def load_share(argv: Sequence[str]) -> int:
    """`load RUN`: print the share of load in the run's tables; exit status 1 if it is too small for MANY services."""
    if len(argv) != 1:
        raise UserError("load takes a run; see scripts/harness-cost.sh")
    blocks = sorted(block_times(Path(argv[0])), key=lambda block: block.began)
    if not blocks:
        raise UserError(f"{argv[0]} has no table in turns")
    wall = wall_seconds(blocks)
    load, drain = sum(block.load for block in blocks), sum(block.drain for block in blocks)
    most, share = max(block.services for block in blocks), load / wall
    verdict = ("holds" if share >= LEAST_LOAD else "MISSED") if most >= MANY else f"a goal from {MANY} services on"
    figure = f"{share:.0%}: {load:.0f} of {wall:.0f} s, and {drain:.0f} s for answers under way"
    print("| figure | at least | here | |", "| --- | --- | --- | --- |", sep="\n")
    print(
        f"| load of tables, {len(blocks)} blocks of up to {most} services | {LEAST_LOAD:.0%} | {figure} | {verdict} |"
    )
    return int(verdict == "MISSED")


def block_times(folder: Path) -> Iterator[BlockTime]:
    """The blocks with at least one measurement."""
    for place in sorted(folder.glob("raw/r*/b*")):
        tools = [json.loads(path.read_text()) for path in sorted(place.glob("*/*/*/*/tool.json"))]
        metas = [json.loads(path.read_text()) for path in sorted(place.glob("*/*/*/*/meta.json"))]
        turns = [tool["turns"] for tool in tools]
        if turns and metas:
            services = len({path.parent.name for path in place.glob("*/*/*/*/tool.json")})
            load, drain = (sum(turn[name] for turn in turns) / 1e9 for name in ("load_ns", "drain_ns"))
            yield BlockTime(services, metas[0]["begin_ns"] / 1e9, metas[0]["end_ns"] / 1e9, load, drain)


def wall_seconds(blocks: Sequence[BlockTime]) -> float:
    """From the begin of the first block to the end of the last one, without interruptions of the run."""
    gaps = [later.began - one.ended for one, later in pairwise(blocks)]
    return sum(block.ended - block.began for block in blocks) + sum(gap for gap in gaps if gap <= LONGEST_GAP_S)
