"""What the length of a turn does to the figures: a run with TURN_MS=20,100,1000 has a window for each in every round.

A turn as long as the window is one service alone for all of its seconds: the reference.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median, stdev

from bench.core.errors import UserError
from bench.records.record import Record, load
from bench.stats.estimates import estimate

FigureOf = Callable[[Record], float | None]
FIGURES: Mapping[str, FigureOf] = {
    "CPU per request": lambda record: record.cpu_per_success_s,
    "requests/s": lambda record: record.goodput,
}
Logs = dict[tuple[str, float], dict[int, float]]
"""By (service, length of a turn in s): the logarithm of a figure by round."""


def lengths(folders: Sequence[str]) -> tuple[str, bool]:
    """(tables, True): each service's figures by length of a turn, relative to the longest, and the spread of rounds."""
    rows: list[str] = []
    for folder in folders:
        turns = _turn_lengths(folder)
        with Path(folder, "records.jsonl").open(encoding="utf-8") as lines:
            records = [record for record in load(lines) if record.id in turns and record.valid]
        for scenario in dict.fromkeys(record.scenario for record in records):
            own = [record for record in records if record.scenario == scenario]
            for name, read in FIGURES.items():
                rows += _table(f"{scenario}: {name}", _logs(own, turns, read), scale=1e6 if "CPU" in name else 1.0)
    return "\n".join(rows), True


def _turn_lengths(folder: str) -> dict[str, float]:
    """The length of a turn in s, by measurement; UserError where the run has only one."""
    planned = [json.loads(line) for line in Path(folder, "plan.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {line["id"]: line["turn_s"] for line in planned if line.get("mode") == "turns"}
    if len(set(found.values())) < 2:
        raise UserError(f"{folder} has no turns of several lengths: run it with TURN_MS=20,100,1000")
    return found


def _logs(records: Sequence[Record], turns: Mapping[str, float], read: FigureOf) -> Logs:
    found: Logs = defaultdict(dict)
    for record in records:
        if value := read(record):
            found[record.service, turns[record.id]][record.round] = math.log(value)
    return found


def _table(title: str, logs: Logs, scale: float) -> list[str]:
    if not logs:
        return []
    services = list(dict.fromkeys(service for service, _ in logs))
    every = sorted({length for _, length in logs})
    heads = ["service", f"{every[-1] * 1000:.0f} ms (alone)", *(f"{length * 1000:.0f} ms" for length in every[:-1])]
    rows = [f"| {title} |", "", f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 1)}"]
    for service in services:
        alone = logs.get((service, every[-1]), {})
        words = [f"{scale * math.exp(median(alone.values())):.4g}" if alone else "–"]
        words += [_change(logs.get((service, length), {}), alone) for length in every[:-1]]
        rows.append(f"| {' | '.join((service, *words))} |")
    spread = [_spread(services, length, logs) for length in (every[-1], *every[:-1])]
    rows.append(f"| {' | '.join(('spread of a difference per round', *spread))} |")
    return [*rows, ""]


def _change(values: Mapping[int, float], alone: Mapping[int, float]) -> str:
    """The mean change against the longest turns of the same rounds, with its 95 % interval."""
    found = estimate(tuple(values[n] - alone[n] for n in values if n in alone))
    if found is None or found.error is None:
        return "–"
    interval = found.interval(0.95)
    half = (interval.high - interval.low) / 2
    return f"{100 * math.expm1(found.mean):+.1f} ± {100 * half:.1f} %"


def _spread(services: Sequence[str], length: float, logs: Logs) -> str:
    """The median over every two services of the standard deviation of their difference from round to round."""
    found = []
    for a, b in combinations(services, 2):
        one, other = logs.get((a, length), {}), logs.get((b, length), {})
        both = [one[n] - other[n] for n in one if n in other]
        if len(both) > 1:
            found.append(stdev(both))
    return f"{100 * median(found):.1f} %" if found else "–"
