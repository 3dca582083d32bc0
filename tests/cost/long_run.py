"""Many short measurements in a row: finds what grows, from the samples of scripts/harness-cost.sh --long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from bench.core.errors import UserError

MEMORY_KB = 1024
"""How much a process may grow: bash does not return memory."""
FOLDERS_B = 1 << 20
"""How much the engine's own files may grow: databases grow by pages."""
LEAST = 6
"""The fewest samples of a run, to compare its first and last third."""
UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
RESULTS, FOLDERS = "bytes of results", "bytes of the engine's folders"
COUNTS = ("containers", "networks", "volumes", "images", "layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The machine before, during or after (`when`) a run with `measured` measurements so far.

    `processes`: (memory in kB, open files) by process id.
    """

    when: str
    measured: int
    run: str
    values: dict[str, float] = field(default_factory=dict)
    processes: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Growth:
    """A figure at begin and end, and how much it may grow (None: it is expected to grow)."""

    name: str
    first: float
    last: float
    allowed: float | None

    @property
    def verdict(self) -> str:
        """`holds`, `GROWS`, or empty if it may grow."""
        if self.allowed is None:
            return ""
        return "holds" if self.last - self.first <= self.allowed else "GROWS"

    def row(self) -> str:
        """A row of the table."""
        allowed = "" if self.allowed is None else f"{self.allowed:,.0f}"
        return f"| {self.name} | {self.first:,.0f} | {self.last:,.0f} | {allowed} | {self.verdict} |"


def long_run(argv: Sequence[str]) -> int:
    """`long SAMPLES`: print figures before and after, and in each run; exit status 1 if something grows."""
    if len(argv) != 1:
        raise UserError("long takes a file of samples; see scripts/harness-cost.sh")
    samples = list(read_samples(Path(argv[0]).read_text()))
    measured, found = judged(samples)
    print(f"{measured} measurements, {len(samples)} samples", "")
    print("| figure | first | last | may grow by | |", "| --- | --- | --- | --- | --- |", sep="\n")
    print(*(one.row() for one in found), sep="\n")
    return int(any(one.verdict == "GROWS" for one in found))


def read_samples(text: str) -> Iterator[Sample]:
    """The samples, in order."""
    sample: Sample | None = None
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "sample":
            if sample:
                yield sample
            when, measured, run = rest.split(" ", 2)
            sample = Sample(when=when, measured=int(measured), run=run)
        elif sample is None:
            raise UserError("the file does not begin with a sample")
        elif name == "process":
            # A process that has just ended has no figures.
            if len(words := rest.split()) == 3:
                pid, memory, files = map(int, words)
                sample.processes[pid] = (memory, files)
        else:
            key, _, value = line.rpartition(" ")
            sample.values[key] = _number(value)
    if sample:
        yield sample


def _number(text: str) -> float:
    found = re.fullmatch(r"([0-9.]+)([kMGT]?B)?", text)
    if not found:
        raise UserError(f"'{text}' is not a number")
    return float(found[1]) * UNITS[found[2] or "B"]


def judged(samples: Sequence[Sample]) -> tuple[int, list[Growth]]:
    """The number of measurements, and each figure; UserError if there are too few samples."""
    ends = {sample.when: sample.values for sample in samples if sample.when != "during"}
    runs = [list(group) for _, group in groupby((s for s in samples if s.when == "during"), key=lambda s: s.run)]
    if not runs or ends.keys() != {"before", "after"}:
        raise UserError("there is no sample before, during or after the runs")
    if short := [run[0].run for run in runs if len(run) < LEAST]:
        raise UserError(f"fewer than {LEAST} samples of {', '.join(short)}: measure more")
    measured = sum(run[-1].measured for run in runs)
    return measured, [*_ends(ends["before"], ends["after"], measured), *(one for run in runs for one in _run(run))]


def _ends(before: Mapping[str, float], after: Mapping[str, float], measured: int) -> Iterator[Growth]:
    for name in before:
        if name in COUNTS:
            yield Growth(name, before[name], after[name], 0)
        elif name == FOLDERS:
            yield Growth(name, before[name], after[name], FOLDERS_B)
        elif name != RESULTS:
            # Docker prints four digits.
            yield Growth(f"bytes, {name}", before[name], after[name], max(1e3, before[name] * 1e-3))
    yield Growth(RESULTS, before[RESULTS], after[RESULTS], None)
    yield Growth("of them for each measurement", 0, (after[RESULTS] - before[RESULTS]) / measured, None)


def _run(samples: Sequence[Sample]) -> Iterator[Growth]:
    """Growth during a run: from the maximum of the first third of its samples to the minimum of the last third."""
    name = samples[0].run
    for count in ("containers", "networks", "volumes"):
        yield _thirds(f"{name}: {count}", [sample.values[count] for sample in samples], 0)
    lasting = set.intersection(*(set(sample.processes) for sample in samples))
    if not lasting:
        raise UserError(f"no process of {name} was there in all of its samples")
    for pid in sorted(lasting):
        memory, files = zip(*(sample.processes[pid] for sample in samples), strict=True)
        yield _thirds(f"{name}: kB of memory of process {pid}", memory, MEMORY_KB)
        yield _thirds(f"{name}: open files of process {pid}", files, 0)


def _thirds(name: str, values: Sequence[float], allowed: float) -> Growth:
    third = len(values) // 3
    return Growth(name, max(values[:third]), min(values[-third:]), allowed)
