"""Latencies and knees of known value, measured with services/frameworks/synthetic.

Percentiles are exact (nearest rank) over all requests of all rounds in vegeta's results, including unanswered ones with
time that they took. The knee is the one that the report confirms. Server and client take time themselves, measured in
the same load: a wait of 0.2 ms is the difference to requests without one.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.analysis.cells.knees import confirmed
from bench.core.formats import markdown_table, milliseconds, number
from bench.records.record import Record
from bench.run.reader import read_run, read_service
from bench.tools.send_lag import quantile
from bench.validity.run_records import reviewed, service_names
from bench.words.cells import doubts
from calibration.report import verdict

LEAST_REQUESTS = 5000
"""The fewest requests of a round for a p99."""
STALLED = "r501"
"""The level of the loads in which scripts/selftest.sh stops the client now and then."""

HEADS = ("scenario", "figure", "truth", "measured", "error", "allowed", "verdict", "requests")

LatenciesOf = Callable[[Record], Sequence[float]]
"""Record of a measurement -> its latencies in seconds."""


@dataclass(frozen=True, slots=True)
class Promise:
    """The true value of a figure, and the allowed error of its measurement.

    The figure is a percentile of the latencies in seconds, or the knee in requests/s if `percentile` is None. `beside`:
    the percentile that is subtracted, of requests without a wait.
    """

    scenario: str
    percentile: float | None
    truth: float
    relative: float
    beside: float | None = None

    @property
    def allowed(self) -> float:
        """The largest error in either direction."""
        return self.relative * self.truth

    @property
    def figure(self) -> str:
        """Its name: `p99`, `p45 - p15` or `knee`."""
        less = "" if self.beside is None else f" - p{100 * self.beside:g}"
        return "knee" if self.percentile is None else f"p{100 * self.percentile:g}{less}"

    def words(self, value: float) -> str:
        """A value of the figure with its unit: `51.8 ms`, `878/s`."""
        return f"{number(value)}/s" if self.percentile is None else milliseconds(value)

    def error_words(self, value: float) -> str:
        """The error of a value: `+1.84 ms (+3.7 %)`, `-22/s (-2.4 %)`."""
        error = value - self.truth
        size = f"{error:+.0f}/s" if self.percentile is None else f"{1000 * error:+.2f} ms"
        return f"{size} ({100 * error / self.truth:+.1f} %)"


# stall: at a constant rate, a stall of 1 s in every 10 s delays a tenth of the requests by 0 to 1 s (uniformly), so one
# in a hundred waits longer than 0.9 s. mix: of 98 requests that take 1 ms and 2 that take 50 ms, p99 is 50 ms. exact:
# 30 % of the requests each wait for 0, 0.2 and 1 ms and 10 % for 10 ms, so p15, p45, p75 and p95 are in the middle.
# capacity: above the rate that the only worker can serve, its queue grows throughout the load; within a trial of 6 s,
# 1.7 % overload exceeds the limit of 100 ms.
LATENCY = (
    Promise("stall", 0.99, 0.900, 0.05),
    Promise("mix", 0.99, 0.050, 0.05),
    Promise("exact", 0.45, 0.0002, 0.1, 0.15),
    Promise("exact", 0.75, 0.001, 0.1, 0.15),
    Promise("exact", 0.95, 0.010, 0.1, 0.15),
    Promise("capacity-900", None, 900, 0.05),
)


@dataclass(frozen=True, slots=True)
class PromiseResult:
    """The measured value of a promise; None with a `reason` if there is none."""

    promise: Promise
    value: float | None
    requests: int
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the value was measured and its error is within the allowed one."""
        return self.value is not None and abs(self.value - self.promise.truth) <= self.promise.allowed

    def row(self) -> list[str]:
        """Its row in the table."""
        promise = self.promise
        words = [promise.scenario, promise.figure, promise.words(promise.truth)]
        if self.value is None:
            words += [f"not measured: {self.reason}", ""]
        else:
            words += [promise.words(self.value), promise.error_words(self.value)]
        return [*words, promise.words(promise.allowed), verdict(self.holds), f"{self.requests:,}"]


def latency(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether every promise holds) of one run."""
    (folder,) = folders
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    records = reviewed(source, services)
    results = [result_of(promise, records, lambda record: latencies_s(folder, record)) for promise in LATENCY]
    stalls, caught = stalls_caught(records)
    table = markdown_table(HEADS, [*(one.row() for one in results), stalls], (2, 3, 4, 5, 7))
    return table, caught and all(one.holds for one in results)


def stalls_caught(records: Iterable[Record]) -> tuple[list[str], bool]:
    """(row, whether it holds): every load in which the client was stopped has to be called late, and why."""
    loads = [record for record in records if record.level.text == STALLED]
    late = sum(any("the client was late" in cause.detail for cause in record.causes) for record in loads)
    requests, holds = sum(record.requests or 0 for record in loads), 0 < len(loads) == late
    words = ["client stopped", f"rounds called late at {STALLED}", str(len(loads)), str(late), "", ""]
    return [*words, verdict(holds), f"{requests:,}"], holds


def result_of(promise: Promise, records: Iterable[Record], read: LatenciesOf) -> PromiseResult:
    """The result over all rounds of the promise's scenario; `read` returns the latencies of a measurement."""
    if promise.percentile is None:
        return _knee_result(promise, [record for record in records if record.scenario == promise.scenario])
    loads = [one for one in records if (one.scenario, one.tool) == (promise.scenario, "vegeta")]
    rounds = [one for one in loads if one.level.text != STALLED]
    if not rounds:
        return PromiseResult(promise, None, 0, "not in this run")
    values: list[float] = []
    for record in rounds:
        if not record.valid:
            causes = "; ".join(f"{cause.cause}: {cause.detail}" for cause in record.causes)
            return PromiseResult(promise, None, len(values), f"round {record.round} is not valid ({causes})")
        of_round = read(record)
        values += of_round
        if len(of_round) < LEAST_REQUESTS:
            few = f"round {record.round} has {len(of_round)} requests, and a p99 needs {LEAST_REQUESTS}"
            return PromiseResult(promise, None, len(values), few)
    values.sort()
    less = 0.0 if promise.beside is None else quantile(values, promise.beside)
    return PromiseResult(promise, quantile(values, promise.percentile) - less, len(values))


def _knee_result(promise: Promise, records: Iterable[Record]) -> PromiseResult:
    if not (rounds := [record for record in records if record.level.searched]):
        return PromiseResult(promise, None, 0, "not in this run")
    requests = sum(record.requests or 0 for record in rounds)
    knee, _, _ = confirmed(rounds)
    doubt, rate = doubts(rounds), None if knee is None else knee.knee_rate
    if doubt or rate is None:
        at = "" if rate is None else f"{promise.words(rate)} is not confirmed: "
        return PromiseResult(promise, None, requests, f"{at}{doubt}")
    return PromiseResult(promise, rate, requests)


def latencies_s(folder: str, record: Record) -> list[float]:
    """Every latency in a measurement's results.bin, decoded by vegeta; empty if that fails."""
    results = os.path.join(folder, os.path.dirname(record.raw_file), "results.bin")
    done = subprocess.run(["vegeta", "encode", "-to", "csv", results], capture_output=True, text=True, check=False)
    return from_csv(done.stdout) if done.returncode == 0 else []


def from_csv(text: str) -> list[float]:
    """The latencies in vegeta's CSV, which are its third column, in seconds."""
    return [int(fields[2]) / 1e9 for fields in csv.reader(io.StringIO(text))]
