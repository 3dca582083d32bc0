"""Figures whose truth is known beforehand: `selftest latency RUN` prints truth, measured and error of each.

The run is one of services/frameworks/synthetic. Percentiles are exact (nearest rank) and over all requests of all
rounds, out of vegeta's own results; requests that were not answered are among them, at the time that they took. A
knee is the one that the report confirms.
"""

from __future__ import annotations

import csv
import io
import math
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.analysis.knee import confirmed, doubts
from bench.core.formats import milliseconds, number
from bench.plan.levels import SEARCHED
from bench.records.record import Record

LEAST_REQUESTS = 5000
"""Of a round, below which a p99 says nothing."""
LATENCY_COLUMN = 2

LatenciesOf = Callable[[Record], Sequence[float]]
"""Gives the latencies of one measurement, in seconds."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A figure that a scenario is known to have, and how far a measurement of it may be off.

    A percentile of the latencies, in seconds; where none is named the knee, in requests/s.
    """

    scenario: str
    percentile: float | None
    truth: float
    relative: float
    absolute: float = 0.0

    @property
    def allowed(self) -> float:
        """The largest error, either way."""
        return self.relative * self.truth + self.absolute

    @property
    def figure(self) -> str:
        """Its name: `p99` or `knee`."""
        return "knee" if self.percentile is None else f"p{100 * self.percentile:g}"

    def words(self, value: float) -> str:
        """A value of the figure: `51.8 ms`, `878/s`."""
        return f"{number(value)}/s" if self.percentile is None else milliseconds(value)

    def error_words(self, value: float) -> str:
        """How far it is off: `+1.84 ms (+3.7 %)`, `-22/s (-2.4 %)`."""
        error = value - self.truth
        size = f"{error:+.0f}/s" if self.percentile is None else f"{1000 * error:+.2f} ms"
        return f"{size} ({100 * error / self.truth:+.1f} %)"


# At a steady rate a stall of 1 s in every 10 holds a tenth of the requests, for 0 to 1 s evenly: one in a hundred
# waits longer than 0.9 s. Of 98 that take 1 ms and 2 that take 50, the p90 is the one and the p99 the other. Above the
# rate that one worker answers its queue grows for as long as the load does: in the 6 s of a trial past the limit of
# 100 ms from 1.7 % too much on.
LATENCY = (
    Promise("stall", 0.99, 0.900, 0.05),
    Promise("mix", 0.90, 0.001, 0.05, 0.001),
    Promise("mix", 0.99, 0.050, 0.05, 0.001),
    Promise("capacity-900", None, 900, 0.05),
)


@dataclass(frozen=True, slots=True)
class PromiseResult:
    """What was measured of a promise; `value` None where nothing was, with the reason."""

    promise: Promise
    value: float | None
    requests: int
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was measured, and is near enough."""
        return self.value is not None and abs(self.value - self.promise.truth) <= self.promise.allowed

    def row(self) -> str:
        """A row of the table."""
        promise = self.promise
        words = [promise.scenario, promise.figure, promise.words(promise.truth)]
        if self.value is None:
            words += [f"not measured: {self.reason}", ""]
        else:
            words += [promise.words(self.value), promise.error_words(self.value)]
        words += [promise.words(promise.allowed), "holds" if self.holds else "MISSED"]
        return f"| {' | '.join(words)} | {self.requests:,} |"


def result_of(promise: Promise, records: Iterable[Record], read: LatenciesOf) -> PromiseResult:
    """What the rounds of the promise's scenario say together; `read` gives the latencies of one measurement."""
    if promise.percentile is None:
        return _judge_knee(promise, [record for record in records if record.scenario == promise.scenario])
    rounds = [record for record in records if record.scenario == promise.scenario and record.tool == "vegeta"]
    if not rounds:
        return PromiseResult(promise, None, 0, "it is not in this run")
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
    return PromiseResult(promise, percentile(values, promise.percentile), len(values))


def _judge_knee(promise: Promise, records: Iterable[Record]) -> PromiseResult:
    rounds = [record for record in records if record.level.startswith(SEARCHED)]
    if not rounds:
        return PromiseResult(promise, None, 0, "it is not in this run")
    requests = sum(record.requests or 0 for record in rounds)
    found, _, _ = confirmed(rounds)
    doubt, rate = doubts(rounds), None if found is None else found.knee_rate
    if doubt or rate is None:
        at = "" if rate is None else f"{promise.words(rate)} is not confirmed: "
        return PromiseResult(promise, None, requests, f"{at}{doubt}")
    return PromiseResult(promise, rate, requests)


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
