"""What a turn costs after those of other services: a run with TURN_MS=500 TURN_MARK_MS=100 reads each turn twice.

Up to the mark, a service works with caches that others have filled; after it, as it would alone. Both parts are of the
same half second, so that noise slower than that falls on both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.records.record import load
from bench.run.reader import read_raw, read_run
from bench.stats.estimates import Estimate

SAID_FROM = 0.03
"""A ratio of two services is worth something as far as it holds for each alone: above this, it is said beside it."""


def parts(folders: Sequence[str]) -> tuple[str, bool]:
    """(tables, whether no ratio is off by 3 %): CPU per request up to the mark, against after it, by service."""
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for folder in folders:
        with Path(folder, "records.jsonl").open(encoding="utf-8") as lines:
            valid = {record.id for record in load(lines) if record.valid}
        for planned in read_run(folder).planned:
            if planned.id in valid and (change := change_of(read_raw(folder, planned).tool or {})) is not None:
                logs[planned.scenario][planned.service].append(change)
    if not logs:
        raise UserError(f"{folders[0]} has no turns in two parts: run it with TURN_MS=500 TURN_MARK_MS=100")
    return report(logs)


def report(logs: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[str, bool]:
    """As `parts`, of the logarithms of each window's change by scenario and service."""
    tables, most = [], 0.0
    for scenario, services in logs.items():
        found = {service: Estimate(tuple(values)) for service, values in services.items()}
        tables += _table(scenario, found)
        most = max(most, _most(found))
    return "\n".join(tables), most <= SAID_FROM


def change_of(tool: Mapping[str, Any]) -> float | None:
    """The logarithm of (CPU time per byte up to the mark) / (that after it), over the turns of one window."""
    sums = [[0, 0], [0, 0]]
    for _, cpu_ns, received in tool.get("turns", {}).get("parts", []):
        for part in (0, 1):
            sums[part][0] += cpu_ns[part]
            sums[part][1] += received[part]
    if not all(value for part in sums for value in part):
        return None
    early, late = (cpu / received for cpu, received in sums)
    return math.log(early / late)


def _table(scenario: str, found: Mapping[str, Estimate]) -> list[str]:
    rows = [
        f"| {service} | {_percent(one)} | {one.n} |" for service, one in sorted(found.items(), key=lambda i: i[1].mean)
    ]
    heads = [f"| {scenario} | CPU per request up to the mark, against after it | windows |", "| --- | ---: | ---: |"]
    last = f"Ratios of two of these services are off by at most {100 * _most(found):.1f} % (means)."
    return [*heads, *rows, "", last, ""]


def _most(found: Mapping[str, Estimate]) -> float:
    means = [one.mean for one in found.values()]
    return math.expm1(max(means) - min(means))


def _percent(one: Estimate) -> str:
    if one.error is None:
        return f"{100 * math.expm1(one.mean):+.1f} %"
    interval = one.interval(0.95)
    low, high = (100 * math.expm1(edge) for edge in (interval.low, interval.high))
    return f"{100 * math.expm1(one.mean):+.1f} % ({low:+.1f} to {high:+.1f})"
