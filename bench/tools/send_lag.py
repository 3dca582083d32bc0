"""How late vegeta sent requests and how long responses took: `lag.json` and `latencies.json`.

vegeta measures latency from the moment a request is sent, which hides the time that a late request waited (coordinated
omission). Request i of an attack at R/s is due i/R after the first one. Lag is relative to the most punctual request,
so that a late first request does not hide the lag of the others. Percentiles are judged relative to the median lag,
because a delay common to all requests (such as a timer's) is the same load, started later.

The files are written once, right after the measurement, because decoding vegeta's results is slow.
"""

from __future__ import annotations

import csv
import heapq
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from bench.core.typed import read_or_none
from bench.tools.reading import go_error_kind

LATE_S = 0.001
"""A request later than this, relative to the median lag, counts as late."""
MAX_SHIFT = 0.1
"""How much a percentile counted from the schedule may exceed the same percentile counted from sending."""
MOST_WORKERS = 0.99
"""From this share in flight, all workers count as in use: workers between two requests have none in flight."""
BEYOND = 50
"""Requests that must lie above a percentile for it to be reported: p99 needs 5,000 in total, p99.9 50,000."""
ROUNDS = 3
"""From this number of rounds on, `BEYOND` applies to all rounds together, with fewer to each round."""
SHARES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
JUDGED = ("p50", "p90", "p99")
"""Percentiles that make a measurement invalid if lag shifts them; p99.9 is only left out of the report."""
DIGITS = 3
"""Significant digits in latencies.json, as many as the report prints: an error of at most 0.5 %."""


def least_requests(share: float) -> int:
    """The minimum number of requests for which this percentile (0.99 is p99) is reported."""
    return round(BEYOND / (1 - share))


@dataclass(frozen=True, slots=True)
class Attack:
    """The requests of one attack in the order of sending: the time sent and the latency of each, in ns."""

    sent_ns: array[int]
    took_ns: array[int]

    @property
    def requests(self) -> int:
        """The number of requests sent."""
        return len(self.sent_ns)


def read_csv(lines: Iterable[str], timeout_s: float) -> Attack:
    """Read the output of `vegeta encode -to csv`; ValueError if it is malformed.

    The latency of a timed-out request counts as `timeout_s`.
    """
    timeout_ns = round(timeout_s * 1e9)
    rows = []
    for row in csv.reader(lines):
        if len(row) < 9:
            raise ValueError(f"{len(row)} fields in a line of vegeta's CSV")
        timed_out = row[1] == "0" and go_error_kind(row[5]) == "timeout"
        rows.append((int(row[8]), int(row[0]), timeout_ns if timed_out else int(row[2])))
    rows.sort()
    return Attack(array("q", (row[1] for row in rows)), array("q", (row[2] for row in rows)))


def lags(attack: Attack, rate: float) -> list[float]:
    """The lag of each request in ns, relative to the most punctual one."""
    step = 1e9 / rate
    first = attack.sent_ns[0] if attack.sent_ns else 0
    offsets = [sent - first - number * step for number, sent in enumerate(attack.sent_ns)]
    earliest = min(offsets, default=0.0)
    return [offset - earliest for offset in offsets]


def most_in_flight(attack: Attack) -> int:
    """The maximum number of requests in flight at the same time."""
    open_until: list[int] = []
    most = 0
    for sent, took in zip(attack.sent_ns, attack.took_ns, strict=True):
        while open_until and open_until[0] <= sent:
            heapq.heappop(open_until)
        heapq.heappush(open_until, sent + took)
        most = max(most, len(open_until))
    return most


def quantile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank quantile of sorted values: the smallest one that `share` of the values do not exceed."""
    # 1e-9 absorbs rounding, so that 0.9 of 10 is 9.
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def quantile_of(counts: Mapping[int, int], share: float) -> int:
    """`quantile` for values with their counts; there must be at least one."""
    left = math.ceil(share * sum(counts.values()) - 1e-9)
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    return max(counts)


def lag_facts(attack: Attack, rate: float, workers: int) -> dict[str, Any]:
    """The content of lag.json; times are in seconds, null if nothing was sent."""
    from_first = lags(attack, rate)
    ordered = sorted(from_first)
    any_sent = bool(ordered)
    middle = quantile(ordered, 0.5) if any_sent else 0
    late = [lag - middle for lag in from_first]
    sides = {
        "as_sent_s": sorted(map(float, attack.took_ns)),
        "from_schedule_s": sorted(took + lag for took, lag in zip(attack.took_ns, late, strict=True)),
    }
    percentiles = {
        name: {key: quantile(side, share) / 1e9 for key, share in SHARES.items()} if any_sent else None
        for name, side in sides.items()
    }
    return {
        "schema": 1,
        "requests": attack.requests,
        "rate": rate,
        "workers": workers,
        "in_flight_max": most_in_flight(attack),
        "late_s": LATE_S,
        "late_ratio": sum(lag > LATE_S * 1e9 for lag in late) / len(late) if any_sent else None,
        "lag_s": {"p50": middle / 1e9, "p99": quantile(ordered, 0.99) / 1e9, "max": ordered[-1] / 1e9}
        if any_sent
        else None,
        **percentiles,
    }


def latency_facts(attack: Attack, rate: float) -> dict[str, Any]:
    """The content of latencies.json: latencies, rounded to `DIGITS` digits, with their counts.

    Latencies are counted from sending, and under `due` from the schedule.
    """
    from_first = lags(attack, rate)
    middle = quantile(sorted(from_first), 0.5) if from_first else 0
    due = (max(0, round(took + lag - middle)) for took, lag in zip(attack.took_ns, from_first, strict=True))
    return {
        "schema": 1,
        "requests": attack.requests,
        "max_ns": max(attack.took_ns, default=None),
        **_listed(Counter(map(_rounded, attack.took_ns))),
        "due": _listed(Counter(map(_rounded, due))),
    }


def _listed(counts: Mapping[int, int]) -> dict[str, list[int]]:
    ordered = sorted(counts)
    return {"ns": ordered, "counts": [counts[value] for value in ordered]}


def save_schedule(
    lines: Iterable[str], rate: float, timeout_s: float, workers: int, *, lag: Path, latencies: Path
) -> None:
    """Write lag.json and latencies.json from vegeta's CSV; ValueError if that is malformed."""
    # The CSV contains response bodies, which may exceed the default limit.
    csv.field_size_limit(1 << 30)
    try:
        attack = read_csv(lines, timeout_s)
    except csv.Error as error:
        raise ValueError(str(error)) from error
    for file, facts in ((lag, lag_facts(attack, rate, workers)), (latencies, latency_facts(attack, rate))):
        file.write_text(json.dumps(facts, separators=(",", ":")) + "\n")


def _rounded(value: int) -> int:
    unit: int = 10 ** max(0, len(str(value)) - DIGITS)
    return (value + unit // 2) // unit * unit


def is_moved(sent_s: float, due_s: float) -> bool:
    """Whether a percentile counted from the schedule is too far above the one counted from sending."""
    return due_s > (1 + MAX_SHIFT) * sent_s


Count = Annotated[int, Meta(ge=0, lt=10**18)]
Figure = Annotated[float, Meta(ge=0, lt=10**18)]
LAGS = ("p50", "p99", "max")
"""The keys of `lag_s`."""


@dataclass(frozen=True, slots=True)
class Lag:
    """lag.json, in seconds; `workers` is vegeta's limit of workers, `in_flight_max` the most that it used."""

    requests: Count
    workers: Count
    in_flight_max: Count
    late_ratio: Figure
    lag_s: Mapping[str, Figure]
    as_sent_s: Mapping[str, Figure]
    from_schedule_s: Mapping[str, float]

    def __post_init__(self) -> None:
        for keys, figures in ((LAGS, self.lag_s), (SHARES, self.as_sent_s), (SHARES, self.from_schedule_s)):
            if missing := {*keys} - figures.keys():
                raise ValueError(f"without {missing}")

    def moved(self, names: Iterable[str] = JUDGED) -> Iterator[str]:
        """The percentiles that lag shifted too far, among those with enough requests."""
        for name in names:
            sent, due = self.as_sent_s[name], self.from_schedule_s[name]
            if self.requests >= least_requests(SHARES[name]) and is_moved(sent, due):
                yield name

    def faults(self) -> Iterator[str]:
        """Texts on how the load differed from the planned one."""
        moved = [
            f"{name} is {1000 * self.from_schedule_s[name]:.3g} ms from when requests were due, "
            f"{1000 * self.as_sent_s[name]:.3g} ms as sent"
            for name in self.moved()
        ]
        if moved:
            p99_ms, most_ms = 1000 * self.lag_s["p99"], 1000 * self.lag_s["max"]
            late = f"the client was late by {p99_ms:.3g} ms (p99), {most_ms:.3g} ms at most"
            share = f"{self.late_ratio:.2%} of requests by more than {1000 * LATE_S:g} ms"
            yield f"{late}, {share}, {self.in_flight_max} in flight at once: {', '.join(moved)}"
        yield from self.shortage()

    def shortage(self) -> Iterator[str]:
        """A text if requests had to wait for a worker, else nothing."""
        if self.in_flight_max >= MOST_WORKERS * self.workers:
            yield f"all {self.workers} of vegeta's workers were in use: requests that were due then were not sent"


def read_lag(facts: Mapping[str, Any] | None) -> Lag | None:
    """Parse the content of lag.json; None if it is malformed or nothing was sent."""
    return read_or_none(Lag, facts)
