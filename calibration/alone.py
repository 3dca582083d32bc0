"""How much taking turns biases ratios of unlike servers: compares a run in turns with a solo run of the same services.

The truth is what a service serves alone; in turns, it works right after others, whose data fill the caches. The two
runs should directly follow each other: windows of one run alternate between services within minutes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, median, quantiles, variance

from bench.analysis.tables.observations import BUSY
from bench.analysis.tables.planned import turn_bias
from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes
from bench.core.formats import listed
from bench.core.groups import grouped
from bench.records.file import read_records
from bench.records.record import Record
from bench.run.reader import read_run
from calibration.report import head, row, verdict

LEAST_ROUNDS = 3
WITHIN = 0.95
"""The share of contrasts whose bias must be within the stated bias."""
Sample = tuple[float, float, int]
"""Of the logarithms of a service's speeds: mean, squared standard error, count."""


@dataclass(frozen=True, slots=True)
class Bias:
    """The error of the ratio of two services in turns, as a logarithm, and the half-width of its 95 % interval."""

    scenario: str
    a: str
    b: str
    value: float
    half: float


def biases(records: Iterable[Record]) -> list[Bias]:
    """The bias of every two services of a scenario that were measured both ways in at least `LEAST_ROUNDS` rounds."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if value := _speed(record):
            found[record.scenario, record.tool, record.level][f"{record.mode} {record.service}"].append(math.log(value))
    every = []
    for (scenario, _, _), values in found.items():
        known = {name: _sample(own) for name, own in values.items() if len(own) >= LEAST_ROUNDS}
        both = sorted(name[5:] for name in known if name.startswith("solo ") and f"turns {name[5:]}" in known)
        every += [_bias(scenario, a, b, known) for a, b in combinations(both, 2)]
    return every


def _speed(record: Record) -> float | None:
    """Successes per second, corrected for other programs' CPU time; None if the window does not show the speed.

    A window limited by the load generator shows it only if the server was busy all the time.
    """
    causes = {cause.cause for cause in record.causes}
    if record.mode == "turns":
        value, busy = record.speed, record.server_busy_ratio
        causes -= {"host"}
    elif record.mode == "solo":
        busy = min(1.0, (record.server_cpu_s or 0.0) / (record.duration_s or math.inf))
        value = (record.goodput or 0.0) / (1 - (record.foreign_ratio or 0.0) * busy**2)
    else:
        return None
    return value or None if not causes or (causes == {"loadgen-bound"} and (busy or 0.0) >= BUSY) else None


def left_out(records: Iterable[Record]) -> list[str]:
    """Lines on services of a scenario that were measured both ways, but in too few windows that show their speed."""
    told: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        if record.mode in ("turns", "solo"):
            told[record.scenario, record.service][record.mode] += _speed(record) is not None
    return [
        f"{scenario}: without {service}, whose speed {counts['turns']} windows in turns and {counts['solo']} alone tell"
        for (scenario, service), counts in sorted(told.items())
        if min(counts["turns"], counts["solo"]) < LEAST_ROUNDS
    ]


def _sample(values: Sequence[float]) -> Sample:
    return fmean(values), variance(values) / len(values), len(values)


def _bias(scenario: str, a: str, b: str, known: dict[str, Sample]) -> Bias:
    from scipy.special import stdtrit

    turns, alone = ([known[f"{mode} {name}"] for name in (a, b)] for mode in ("turns", "solo"))
    value = (turns[0][0] - turns[1][0]) - (alone[0][0] - alone[1][0])
    squares = [one[1] for one in (*turns, *alone)]
    # Degrees of freedom by Welch and Satterthwaite.
    parts = sum(one[1] ** 2 / (one[2] - 1) for one in (*turns, *alone))
    df = sum(squares) ** 2 / parts if parts else 1.0
    return Bias(scenario, a, b, value, float(stdtrit(df, 0.975)) * math.sqrt(sum(squares)))


def by_length(folders: Sequence[str]) -> dict[str, list[Record]]:
    """Records by length of turns; each list has the solo records too."""
    solo, found = list[Record](), defaultdict[str, list[Record]](list)
    for folder in folders:
        planned = {one.id: one for one in read_run(folder).planned} if Path(folder, "plan.jsonl").exists() else {}
        for record in read_records(Path(folder)):
            if record.mode == "solo":
                solo.append(record)
            elif record.mode == "turns":
                turn_s = planned[record.id].turn_s if record.id in planned else None
                found[f"{1000 * turn_s:.0f} ms" if turn_s else ""].append(record)
    return {name: [*solo, *found[name]] for name in sorted(found, key=lambda name: (len(name), name))}


HEADS = ("turns of", "scenario", "contrasts", "each known to ±", "median", "95 % are within", "largest", "stated",
         "within it", "")  # fmt: skip


def alone(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): how far ratios in turns are from solo ratios, beside the bias that reports state.

    Noise makes contrasts larger, so it counts against the stated bias.
    """
    by_turns = by_length(folders)
    cpus = {_cpu(folder) for folder in folders}
    if len(cpus) > 1:
        raise UserError(f"these runs are of several machines: {listed(sorted(map(str, cpus)))}")
    (cpu,) = cpus
    rows, holds = head(HEADS, 2), True
    for turns, records in by_turns.items():
        for scenario, seen in grouped(biases(records), lambda one: one.scenario).items():
            stated = math.log1p(turn_bias(scenario, cpu).share)
            sizes = [abs(one.value) for one in seen]
            inside = sum(size <= stated for size in sizes)
            fine = inside >= WITHIN * len(seen)
            holds &= fine
            most = max(seen, key=lambda one: abs(one.value))
            high = quantiles(sizes, n=20)[-1] if len(sizes) > 1 else sizes[0]
            words = [turns, scenario, str(len(seen)), _percent(median(one.half for one in seen))]
            words += [_percent(median(sizes)), _percent(min(high, max(sizes)))]
            words += [f"{most.a} to {most.b}: {_percent(most.value)} ({_percent(most.value - most.half)} to "
                      f"{_percent(most.value + most.half)})"]  # fmt: skip
            rows.append(row([*words, _percent(stated), f"{inside} of {len(seen)}", verdict(fine)]))
    if len(rows) == len(head(HEADS, 2)):
        raise UserError("no two services were measured both in turns and alone, in three rounds or more each")
    return "\n".join([*rows, "", *left_out(next(iter(by_turns.values())))]), holds


def _cpu(folder: str) -> str | None:
    return mapping(mapping(as_object(read_bytes(f"{folder}/run.json") or b"")).get("host")).get("cpu")


def _percent(logarithm: float) -> str:
    return f"{100 * math.expm1(logarithm):.1f} %"
