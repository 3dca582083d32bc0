"""Latency over the rounds of a cell: merged distributions, and percentiles if there are enough requests.

Every round in which the load ran is part of them. If the client was late, what is known is an upper bound.

Computed exactly, from the whole histogram of each round. `vegeta report` can merge results too, but it interpolates
percentiles between few points of the distribution: it gave a p90 of 96 ms although nine in ten took 92 ms or less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePath
from typing import Any

from bench.analysis.causes import ASKED, causes_beside
from bench.core.files import as_object, items, mapping, read_bytes
from bench.records.record import MEASURED, Record
from bench.tools import tool_of
from bench.tools.levels import Level
from bench.tools.parsed import Histogram, Timed
from bench.tools.send_lag import ROUNDS, SHARES, is_moved, least_requests, quantile_of, read_lag

DRAWN = tuple(round(1 - 10 ** (-step / 8), 6) for step in range(1, 33))
"""Shares at which a distribution is drawn: eight per decade of the tail, up to 99.99 %."""

LATE = "the client was late"
"""Why a percentile that send lag distorted is missing."""
LOOSE = 3
"""An upper bound above this many times the percentile as sent is about the client, not the service."""

LatencyKey = tuple[str, str, Level, float | None]
"""Service, scenario, level and rate: rounds at different rates are not merged."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latency of all rounds together, in seconds; `missing` says why a value is None.

    `bounds_s`: the most that percentiles can be that are missing because the client was late. `curve`: (share, seconds)
    up to the highest share that the rounds support, for drawing only. From three rounds on, all of them together need
    enough requests for a percentile; with fewer rounds, each needs enough.
    """

    rounds: int
    percentiles_s: Mapping[str, float | None]
    missing: Mapping[str, str]
    curve: tuple[tuple[float, float], ...] = ()
    bounds_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Distribution:
    """One round: the number of requests by latency in ns, and how many were due according to the plan.

    `scheduled`: the same, counted from when requests were due on a schedule that is shifted by the median send lag,
    `behind_ns`. Runs made before these were saved count as punctual. `client_late`: see `Histogram`.
    """

    requests: int
    counts: Mapping[int, int]
    scheduled: Mapping[int, int]
    behind_ns: int = 0
    due: int = 0
    client_late: Mapping[int, int] = field(default_factory=dict)


LatenciesByCell = Mapping[LatencyKey, Latencies]


def latency_key(record: Record) -> LatencyKey:
    """The cell of a record, at its rate."""
    return record.service, record.scenario, record.level, record.rate


def merged_latencies(path: str, records: Iterable[Record]) -> dict[LatencyKey, Latencies]:
    """The latencies of every open-loop cell with a round that counts; reads the run's folder, one cell at a time."""
    wanted = sorted(counted(records), key=lambda record: (*latency_key(record)[:3], record.rate or 0))
    return {
        key: merge(found for record in group if (found := read_distribution(path, record)))
        for key, group in groupby(wanted, key=latency_key)
    }


def counted(records: Iterable[Record]) -> list[Record]:
    """The open-loop loads that ran as planned, or would have if the client had been on time."""
    loads = (record for record in records if record.connections is None and record.outcome == MEASURED)
    return [record for record in loads if not causes_beside(record, {ASKED})]


def merged_of(records: Iterable[Record], latencies: LatenciesByCell) -> Latencies | None:
    """The latency of an open-loop cell; None if its rounds had several rates, or none of them counts."""
    keys = {latency_key(record) for record in counted(records)}
    return latencies.get(keys.pop()) if len(keys) == 1 else None


def read_distributions(path: str, record: Record) -> dict[Timed, Distribution]:
    """A round of the run at `path` by what was timed: what was saved of responses, or else in the tool's output."""
    if saved := _read_saved(path, record):
        return {Timed.RESPONSE: saved}
    found = tool_of(record.tool).histograms(read_bytes(f"{path}/{record.raw_file}") or b"")
    return {timed: _distribution(record, one, timed) for timed, one in found.items()}


def read_distribution(path: str, record: Record) -> Distribution | None:
    """That of responses, or of the first event of each stream; None if there is none."""
    return next(iter(read_distributions(path, record).values()), None)


def _distribution(record: Record, timed: Histogram, what: Timed) -> Distribution:
    due = 0 if what is Timed.EVENT else round((record.rate or 0) * (record.asked_s or 0))
    return Distribution(sum(timed.counts.values()), timed.counts, timed.due, 0, due, timed.client_late)


def _read_saved(path: str, record: Record) -> Distribution | None:
    """From its latencies.json and lag.json; None if the first is missing or malformed."""
    folder = f"{path}/{PurePath(record.raw_file).parent}"
    if (facts := as_object(read_bytes(f"{folder}/latencies.json") or b"")) is None:
        return None
    requests = facts.get("requests")
    counts = _counts(facts, requests)
    if counts is None or not _whole([requests, facts.get("max_ns")]):
        return None
    lag = read_lag(as_object(read_bytes(f"{folder}/lag.json") or b""))
    scheduled = _counts(mapping(facts.get("due")), requests) or counts
    behind_ns, due = round(1e9 * lag.lag_s["p50"]) if lag else 0, round((record.rate or 0) * (record.asked_s or 0))
    return Distribution(int(requests or 0), counts, scheduled, behind_ns, due)


def _counts(facts: Mapping[str, Any], requests: Any) -> dict[int, int] | None:
    """Numbers of requests by latency; None if there are none, or they do not add up to `requests`."""
    values, counts = items(facts.get("ns")), items(facts.get("counts"))
    if not values or len(values) != len(counts) or not _whole([*values, *counts]) or sum(counts) != requests:
        return None
    return dict(zip(values, counts, strict=True))


def merge(rounds: Iterable[Distribution]) -> Latencies:
    """One distribution of all rounds; pure."""
    distributions = list(rounds)
    if not distributions:
        return Latencies(0, dict.fromkeys(SHARES), dict.fromkeys(SHARES, "no latencies.json was saved"))
    counts = together(one.counts for one in distributions)
    least = min(one.requests for one in distributions)
    enough = sum(counts.values()) if len(distributions) >= ROUNDS else least
    percentiles, bounds = dict[str, float | None](), dict[str, float]()
    missing = {}
    for name, share in SHARES.items():
        sent_s = quantile_of(counts, share) / 1e9
        due_s, most_s = due_percentile(distributions, share), due_percentile(distributions, share, bound=True)
        if enough < least_requests(share):
            missing[name] = f"too few: {enough:,} of {least_requests(share):,}"
        elif (
            due_s is None or is_moved(sent_s, due_s) or is_moved(sent_s, sent_s + _client_late_s(distributions, share))
        ):
            missing[name] = LATE
            if most_s is not None and most_s <= LOOSE * sent_s:
                bounds[name] = most_s
        percentiles[name] = None if name in missing else sent_s
    # Send lag may have distorted everything above the lowest percentile that it distorted.
    most = min((share for name, share in SHARES.items() if missing.get(name) == LATE), default=1.0)
    shares = [share for share in DRAWN if share < most and enough >= least_requests(share)]
    return Latencies(len(distributions), percentiles, missing, _quantiles(counts, shares), bounds)


def _client_late_s(rounds: Iterable[Distribution], share: float) -> float:
    """How much later than usual the client was at this share of all points in time; 0 if it did not look."""
    late = together(one.client_late for one in rounds)
    return (quantile_of(late, share) - quantile_of(late, 0.5)) / 1e9 if late else 0.0


def due_percentile(rounds: Iterable[Distribution], share: float, *, bound: bool = False) -> float | None:
    """A percentile of all rounds, in seconds, counted from when requests were due; None if too few of them were sent.

    Requests never sent count as above all others. `bound`: the most that it can be, had every request been sent when it
    was due. It counts from the schedule of the most punctual request: sent on time, a request would have been answered
    no later.
    """
    every = [*rounds]
    late = together({value + one.behind_ns * bound: count for value, count in one.scheduled.items()} for one in every)
    sent, due = sum(late.values()), sum(max(one.due, one.requests) for one in every)
    return quantile_of(late, share * due / sent) / 1e9 if share * due <= sent else None


def together(rounds: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Counts of several rounds, added up."""
    counts = Counter[int]()
    for one in rounds:
        counts.update(one)
    return counts


def _quantiles(counts: Mapping[int, int], shares: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """(share, seconds) for ascending shares, as `quantile_of` would give them, in one pass."""
    total, seen, curve = sum(counts.values()), 0, []
    values = iter(sorted(counts))
    value = 0
    for share in shares:
        while seen < math.ceil(share * total - 1e-9):
            value = next(values)
            seen += counts[value]
        curve.append((share, value / 1e9))
    return tuple(curve)


def _whole(values: Sequence[Any]) -> bool:
    """Whether all are counts; checked by set and extremes, since there are thousands of them."""
    return set(map(type, values)) == {int} and min(values) >= 0 and max(values) < 1 << 63
