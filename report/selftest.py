"""Figures whose truth is known beforehand: `selftest latency RUN` prints truth, measured and error of each.

The run is one of services/frameworks/synthetic. Percentiles are exact (nearest rank) and over all requests of all
rounds, out of vegeta's own results; requests that were not answered are among them, at the time that they took.
"""

from __future__ import annotations

import csv
import io
import math
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from report.build import build_records, service_names
from report.cli import find_run
from report.errors import UserError
from report.record import Record
from report.rundir import read_run, read_service
from report.selftest_pairs import PAIRS
from report.tables.model import milliseconds

LEAST_REQUESTS = 5000
"""Of a round, below which a p99 says nothing."""
LATENCY_COLUMN = 2

Latencies = Callable[[Record], Sequence[float]]
"""Gives the latencies of one measurement, in seconds."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A percentile that a scenario is known to have, and how far a measurement of it may be off; times in seconds."""

    scenario: str
    percentile: float
    truth_s: float
    relative: float
    absolute_s: float = 0.0

    @property
    def allowed_s(self) -> float:
        """The largest error, either way."""
        return self.relative * self.truth_s + self.absolute_s


# At a steady rate a stall of 1 s in every 10 holds a tenth of the requests, for 0 to 1 s evenly: one in a hundred
# waits longer than 0.9 s. Of 98 that take 1 ms and 2 that take 50, the p90 is the one and the p99 the other.
LATENCY = (
    Promise("stall", 0.99, 0.900, 0.05),
    Promise("mix", 0.90, 0.001, 0.05, 0.001),
    Promise("mix", 0.99, 0.050, 0.05, 0.001),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured of a promise; `value_s` None where nothing was, with the reason."""

    promise: Promise
    value_s: float | None
    requests: int
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was measured, and is near enough."""
        return self.value_s is not None and abs(self.value_s - self.promise.truth_s) <= self.promise.allowed_s

    def row(self) -> str:
        """A row of the table."""
        promise = self.promise
        words = [promise.scenario, f"p{100 * promise.percentile:g}", milliseconds(promise.truth_s)]
        if self.value_s is None:
            words += [f"not measured: {self.reason}", "", milliseconds(promise.allowed_s), "MISSED"]
        else:
            error = self.value_s - promise.truth_s
            words += [milliseconds(self.value_s), f"{1000 * error:+.2f} ms ({error / promise.truth_s:+.1%})"]
            words += [milliseconds(promise.allowed_s), "holds" if self.holds else "MISSED"]
        return f"| {' | '.join(words)} | {self.requests:,} |"


HEADS = (
    "| scenario | figure | truth | measured | error | allowed | verdict | requests |",
    "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |",
)


def run(argv: Sequence[str]) -> int:
    """`selftest latency RUN`, `selftest aa|power RUN...`: print the table; 0 when every promise holds, else 1."""
    if len(argv) < 2 or argv[0] not in ("latency", *PAIRS) or (argv[0] == "latency" and len(argv) > 2):
        raise UserError("usage: selftest latency RUN, or selftest aa|power RUN...")
    folder = str(find_run(argv[1]))
    if argv[0] in PAIRS:
        text, holds = PAIRS[argv[0]]([folder, *(str(find_run(name)) for name in argv[2:])])
        print(text)
        return 0 if holds else 1
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    records = list(build_records(source, services))
    found = [judge(promise, records, lambda record: latencies_s(folder, record)) for promise in LATENCY]
    print(*HEADS, *(one.row() for one in found), sep="\n")
    return 0 if all(one.holds for one in found) else 1


def judge(promise: Promise, records: Iterable[Record], read: Latencies) -> Found:
    """What the rounds of the promise's scenario say together; `read` gives the latencies of one measurement."""
    rounds = [record for record in records if record.scenario == promise.scenario and record.tool == "vegeta"]
    if not rounds:
        return Found(promise, None, 0, "it is not in this run")
    values: list[float] = []
    for record in rounds:
        if not record.valid:
            causes = "; ".join(f"{cause.cause}: {cause.detail}" for cause in record.causes)
            return Found(promise, None, len(values), f"round {record.round} is not valid ({causes})")
        of_round = read(record)
        values += of_round
        if len(of_round) < LEAST_REQUESTS:
            few = f"round {record.round} has {len(of_round)} requests, and a p99 needs {LEAST_REQUESTS}"
            return Found(promise, None, len(values), few)
    return Found(promise, percentile(values, promise.percentile), len(values))


def percentile(values: Sequence[float], part: float) -> float:
    """The nearest-rank percentile of at least one value: the least that `part` of them do not exceed."""
    rank = max(1, math.ceil(part * len(values) - 1e-9))
    return sorted(values)[rank - 1]


def latencies_s(folder: str, record: Record) -> list[float]:
    """Every latency in a measurement's results.bin, which vegeta itself decodes; none where it cannot."""
    results = os.path.join(folder, os.path.dirname(record.raw_file), "results.bin")
    done = subprocess.run(["vegeta", "encode", "-to", "csv", results], capture_output=True, text=True, check=False)
    return list(from_csv(done.stdout)) if done.returncode == 0 else []


def from_csv(text: str) -> Iterator[float]:
    """The latencies, in seconds, of vegeta's CSV (its third column, in nanoseconds)."""
    for row in csv.reader(io.StringIO(text)):
        yield int(row[LATENCY_COLUMN]) / 1e9
