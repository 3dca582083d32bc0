"""When vegeta really sent each request, and what every answer took: `lag.json` and `latencies.json`.

vegeta takes a request's time where it leaves, so that one which leaves late hides what it waited for. Request i of
an attack at R/s is due i/R after the first. The lag is told from the schedule through the requests that were most in
time, so that a late first one does not hide that of the others; percentiles are judged from the one through the
middle, as a delay that all share (a timer's) is the same load, begun later. Read once, when it was measured: decoding
results is slow.
"""

from __future__ import annotations

import csv
import heapq
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.parse.text import go_error_kind

LATE_S = 0.001
"""A request so much behind the middle of the lags is called late: latencies are to be right within 5 % and 1 ms."""
MAX_SHIFT, MAX_SHIFT_S = 0.05, LATE_S
"""How far a percentile counted from the schedule may lie above the same percentile counted from the sending."""
MOST_WORKERS = 0.99
"""Share of the workers that, in use at one moment, is all of them: one between two requests is in neither."""
BEYOND = 50
"""Requests that must lie above a percentile for it to be told: 5,000 for p99, 50,000 for p99.9."""
SHARES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
JUDGED = ("p50", "p90", "p99")
"""Percentiles that make a measurement invalid when the lag moves them; p99.9 is left out of the report alone."""
DIGITS = 3
"""Significant digits of the latencies in latencies.json: 0.5 % at most, and what the report prints."""


def least_requests(share: float) -> int:
    """Requests of a round without which this percentile is not told."""
    return round(BEYOND / (1 - share))


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack's requests in the order of sending: when each left and how long it took, in ns."""

    sent_ns: array[int]
    took_ns: array[int]

    @property
    def requests(self) -> int:
        """How many were sent."""
        return len(self.sent_ns)


def read_csv(lines: Iterable[str], timeout_s: float) -> Attack:
    """The attack of `vegeta encode -to csv`; a timeout counts at the timeout's value. ValueError when it is none."""
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
    """How late each request left, in ns."""
    step = 1e9 / rate
    first = attack.sent_ns[0] if attack.sent_ns else 0
    offsets = [sent - first - number * step for number, sent in enumerate(attack.sent_ns)]
    earliest = min(offsets, default=0.0)
    return [offset - earliest for offset in offsets]


def most_in_flight(attack: Attack) -> int:
    """The most requests that were open at one moment."""
    open_until: list[int] = []
    most = 0
    for sent, took in zip(attack.sent_ns, attack.took_ns, strict=True):
        while open_until and open_until[0] <= sent:
            heapq.heappop(open_until)
        heapq.heappush(open_until, sent + took)
        most = max(most, len(open_until))
    return most


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least value that this share of all is not above (nearest rank)."""
    # Less a rounding error, so that 0.9 of 10 is 9.
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def quantile_of(counts: Mapping[int, int], share: float) -> int:
    """The same of values with their counts, of which there is at least one."""
    left = math.ceil(share * sum(counts.values()) - 1e-9)
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    return max(counts)


def lag_facts(attack: Attack, rate: float, workers: int) -> dict[str, Any]:
    """What lag.json holds; times in seconds, null where nothing was sent."""
    from_first = lags(attack, rate)
    ordered = sorted(from_first)
    some = bool(ordered)
    middle = quantile(ordered, 0.5) if some else 0
    late = [lag - middle for lag in from_first]
    sides = {
        "as_sent_s": sorted(map(float, attack.took_ns)),
        "from_schedule_s": sorted(took + lag for took, lag in zip(attack.took_ns, late, strict=True)),
    }
    told = {
        name: {key: quantile(side, share) / 1e9 for key, share in SHARES.items()} if some else None
        for name, side in sides.items()
    }
    return {
        "schema": 1,
        "requests": attack.requests,
        "rate": rate,
        "workers": workers,
        "in_flight_max": most_in_flight(attack),
        "late_s": LATE_S,
        "late_ratio": sum(lag > LATE_S * 1e9 for lag in late) / len(late) if some else None,
        "lag_s": {"p50": middle / 1e9, "p99": quantile(ordered, 0.99) / 1e9, "max": ordered[-1] / 1e9}
        if some
        else None,
        **told,
    }


def latency_facts(attack: Attack) -> dict[str, Any]:
    """What latencies.json holds: every latency, to `DIGITS` digits, with its count."""
    counts = Counter(map(_rounded, attack.took_ns))
    ordered = sorted(counts)
    return {
        "schema": 1,
        "requests": attack.requests,
        "max_ns": max(attack.took_ns, default=None),
        "ns": ordered,
        "counts": [counts[value] for value in ordered],
    }


def _rounded(value: int) -> int:
    unit: int = 10 ** max(0, len(str(value)) - DIGITS)
    return (value + unit // 2) // unit * unit


@dataclass(frozen=True, slots=True)
class Lag:
    """What lag.json told: seconds; `workers` is what vegeta was allowed, `in_flight_max` the most that it used."""

    requests: int
    workers: int
    in_flight_max: int
    late_ratio: float
    lag_s: Mapping[str, float]
    as_sent_s: Mapping[str, float]
    from_schedule_s: Mapping[str, float]

    def moved(self, names: Iterable[str] = JUDGED) -> Iterator[str]:
        """The percentiles, of those that the requests are enough for, that the lag has moved too far."""
        for name in names:
            sent, due = self.as_sent_s[name], self.from_schedule_s[name]
            if self.requests >= least_requests(SHARES[name]) and due - sent > MAX_SHIFT * sent + MAX_SHIFT_S:
                yield name

    def faults(self) -> Iterator[str]:
        """In what the load was not the asked one, in words."""
        moved = [
            f"{name} is {1000 * self.from_schedule_s[name]:.3g} ms from the asked times, "
            f"{1000 * self.as_sent_s[name]:.3g} ms as sent"
            for name in self.moved()
        ]
        if moved:
            late = f"late by {1000 * self.lag_s['p99']:.3g} ms (p99), {1000 * self.lag_s['max']:.3g} ms at most"
            share = f"{self.late_ratio:.2%} of requests by more than {1000 * LATE_S:g} ms"
            yield f"{late}, {share}: {', '.join(moved)}"
        yield from self.shortage()

    def shortage(self) -> Iterator[str]:
        """Whether requests had to wait for a worker, in words."""
        if self.in_flight_max >= MOST_WORKERS * self.workers:
            yield f"all {self.workers} workers of vegeta were in use: what was due then was not sent"


def read_lag(facts: Mapping[str, Any] | None) -> Lag | None:
    """The values of lag.json; None where it is no such file, or nothing was sent."""
    if facts is None:
        return None
    try:
        return Lag(
            int(_number(facts["requests"])),
            int(_number(facts["workers"])),
            int(_number(facts["in_flight_max"])),
            _number(facts["late_ratio"]),
            {key: _number(facts["lag_s"][key]) for key in ("p50", "p99", "max")},
            {key: _number(facts["as_sent_s"][key]) for key in SHARES},
            # Above the middle's, an early request may seem to have its answer before it is due.
            {key: _number(max(0, facts["from_schedule_s"][key])) for key in SHARES},
        )
    except (KeyError, TypeError, ValueError):
        return None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise ValueError("not a number that can be")
    return value
