"""Latency over the rounds of a cell: merged distributions, and percentiles if there are enough requests.

Computed exactly, from latencies.json of each round. `vegeta report` can merge results too, but it interpolates
percentiles between few points of the distribution: it gave a p90 of 96 ms although nine in ten took 92 ms or less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from typing import Any

from bench.core.files import as_object, items, mapping, read_bytes
from bench.records.record import Record
from bench.tools.send_lag import ROUNDS, SHARES, is_moved, least_requests, quantile_of, read_lag

DRAWN = tuple(round(1 - 10 ** (-step / 8), 6) for step in range(1, 33))
"""Shares at which a distribution is drawn: eight per decade of the tail, up to 99.99 %."""

LATE = "sent too late"
"""Why a percentile that send lag distorted is missing."""

LatencyKey = tuple[str, str, str, float | None]
"""Service, scenario, level and rate: rounds at different rates are not merged."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latency of all rounds together, in seconds; `missing` says why a value is None.

    `least`: the smallest number of requests in a round. `curve`: (share, seconds) up to the highest share that the
    rounds support, for drawing only. From three rounds on, all of them together need enough requests for a percentile;
    with fewer rounds, each needs enough.
    """

    rounds: int
    requests: int
    least: int
    percentiles_s: Mapping[str, float | None]
    max_s: float | None
    missing: Mapping[str, str]
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """One round: the number of requests by latency in ns; `late`: the percentiles that send lag distorted.

    `due`: the same, counted from when requests were due on a schedule shifted by the median send lag, `behind_ns`. Both
    are None in runs made before they were saved.
    """

    requests: int
    max_ns: int
    counts: Mapping[int, int]
    late: frozenset[str] = frozenset()
    due: Mapping[int, int] | None = None
    behind_ns: int | None = None


LatenciesByCell = Mapping[LatencyKey, Latencies]


def latency_key(record: Record) -> LatencyKey:
    """The cell of a record, at its rate."""
    return record.service, record.scenario, record.level, record.rate


def merged_latencies(path: str, records: Iterable[Record]) -> dict[LatencyKey, Latencies]:
    """The latencies of every open-loop cell with a valid round; reads the run's folder, one cell at a time."""
    wanted = [record for record in records if record.valid and record.connections is None]
    wanted.sort(key=lambda record: (*latency_key(record)[:3], record.rate or 0))
    return {
        key: merge(found for record in group if (found := read_distribution(folder_of(path, record))))
        for key, group in groupby(wanted, key=latency_key)
    }


def folder_of(path: str, record: Record) -> str:
    """Where a measurement of the run at `path` left its files."""
    return f"{path}/{PurePath(record.raw_file).parent}"


def read_distribution(folder: str) -> Distribution | None:
    """The distribution from latencies.json and lag.json of a measurement; None if the first is missing or malformed."""
    facts = as_object(read_bytes(f"{folder}/latencies.json") or b"")
    if facts is None:
        return None
    requests, max_ns = facts.get("requests"), facts.get("max_ns")
    counts = _counts(facts, requests)
    if counts is None or not _whole([requests, max_ns]):
        return None
    lag = read_lag(as_object(read_bytes(f"{folder}/lag.json") or b""))
    return Distribution(
        int(requests or 0),
        int(max_ns or 0),
        counts,
        frozenset(lag.moved(SHARES) if lag else ()),
        _counts(mapping(facts.get("due")), requests),
        round(1e9 * lag.lag_s["p50"]) if lag else None,
    )


def _counts(facts: Mapping[str, Any], requests: Any) -> dict[int, int] | None:
    """Numbers of requests by latency; None if there are none, or they do not add up to `requests`."""
    values, counts = items(facts.get("ns")), items(facts.get("counts"))
    if not values or len(values) != len(counts) or not _whole([*values, *counts]) or sum(counts) != requests:
        return None
    return dict(zip(values, counts, strict=True))


def merge(rounds: Iterable[Distribution]) -> Latencies:
    """One distribution of all rounds; pure."""
    every = list(rounds)
    if not every:
        reason = "no latencies.json was saved"
        return Latencies(0, 0, 0, dict.fromkeys(SHARES), None, dict.fromkeys((*SHARES, "max"), reason))
    counts, due = together(one.counts for one in every), together(one.due or {} for one in every)
    least = min(one.requests for one in every)
    enough = sum(counts.values()) if len(every) >= ROUNDS else least
    percentiles: dict[str, float | None] = {}
    missing = {}
    for name, share in SHARES.items():
        if enough < least_requests(share):
            missing[name] = f"too few: {enough:,} of {least_requests(share):,}"
        elif any(name in one.late for one in every) or _is_late(counts, due, share):
            missing[name] = LATE
        percentiles[name] = None if name in missing else quantile_of(counts, share) / 1e9
    longest = max(one.max_ns for one in every) / 1e9
    # Send lag may have distorted everything above the lowest percentile that it distorted.
    most = min((share for name, share in SHARES.items() if missing.get(name) == LATE), default=1.0)
    shares = [share for share in DRAWN if share < most and enough >= least_requests(share)]
    curve = _quantiles(counts, shares)
    return Latencies(len(every), sum(one.requests for one in every), least, percentiles, longest, missing, curve)


def upper_bound(rounds: Iterable[tuple[Distribution, int]], share: float) -> float | None:
    """The most that a percentile can be, in seconds, had every request been sent when it was due; None if unknown.

    `rounds`: each round, and how many requests were due in it. Latency counts from the schedule of the most punctual
    request: sent on time, a request would have been answered no later. Requests never sent count as above all others.
    """
    every = [*rounds]
    bounds, due = dict[int, int](), 0
    for one, wanted in every:
        if one.due is None or one.behind_ns is None:
            return None
        due += max(wanted, one.requests)
        for value, count in one.due.items():
            bounds[value + one.behind_ns] = bounds.get(value + one.behind_ns, 0) + count
    sent = sum(bounds.values())
    if sent < least_requests(share) or share * due > sent:
        return None
    return quantile_of(bounds, share * due / sent) / 1e9


def together(rounds: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Counts of several rounds, added up."""
    counts: dict[int, int] = {}
    for one in rounds:
        for value, count in one.items():
            counts[value] = counts.get(value, 0) + count
    return counts


def _is_late(counts: Mapping[int, int], due: Mapping[int, int], share: float) -> bool:
    """Whether lag moved a percentile of all rounds together; a single round may have too few requests to tell."""
    whole = sum(due.values()) == sum(counts.values())
    return whole and is_moved(quantile_of(counts, share) / 1e9, quantile_of(due, share) / 1e9)


def _quantiles(counts: Mapping[int, int], shares: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """(share, seconds) for ascending shares, as `quantile_of` would give them, in one pass."""
    total, seen, found = sum(counts.values()), 0, []
    values = iter(sorted(counts))
    value = 0
    for share in shares:
        while seen < math.ceil(share * total - 1e-9):
            value = next(values)
            seen += counts[value]
        found.append((share, value / 1e9))
    return tuple(found)


def _whole(values: Sequence[Any]) -> bool:
    """Whether all are counts; checked by set and extremes, since there are thousands of them."""
    return set(map(type, values)) == {int} and min(values) >= 0 and max(values) < 1 << 63
