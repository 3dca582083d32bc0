"""The second pass of the gate: causes that need several records of a run, or the counters of the host.

- `loadgen-bound`: what was measured may be the load generator. Its goodput is above half of what the same tool reached
  against the null server in this run, or its tool waited for a CPU, or its CPUs were busy. The null server's own
  measurements are there to be bound by it: they are exempt, and noise does not void them either.
- `host`: the hypervisor, or programs that are no part of the measurement, took CPU time in one of a round's windows.
  That voids the solo figures of the whole round: who is left out must be decided by the rule, never by the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.records.record import MEASURED, Cause, Record

NULL = "null"
"""The service that answers statically: what a tool reaches against it is the tool's own ceiling."""
MAX_OF_CEILING = 0.50
"""Share of the tool's ceiling that a service's goodput may reach."""
MAX_BUSY = 0.85
"""Share of the load generator's CPUs that its work may take."""

Predicate = Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class NoiseLimits:
    """Shares of a window that may be lost to the hypervisor, to other programs, and to the tool's waiting for a CPU."""

    steal: float = 0.01
    foreign: float = 0.05
    wait: float = 0.10


def noise_limits_of(knobs: Mapping[str, Any]) -> NoiseLimits:
    """The limits as the run's knobs have them, in percent; the default for what is no number."""
    default = NoiseLimits()
    return NoiseLimits(
        _share(knobs.get("MAX_STEAL"), default.steal),
        _share(knobs.get("MAX_FOREIGN_CPU"), default.foreign),
        _share(knobs.get("MAX_LOADGEN_WAIT"), default.wait),
    )


def alone(record: Record) -> bool:
    """Whether one service was under load by itself."""
    return record.mode != "duet"


def apply_run_rules(records: Iterable[Record], limits: NoiseLimits, is_solo: Predicate = alone) -> list[Record]:
    """The records of a run with the causes that only all of them together show.

    What others took of the machine, the load generator's CPUs among it, hits both sides of a pair alike: a pair's
    windows are held to the tool's ceiling alone, and show nothing of others, since each side is another to the other.
    """
    every = list(records)
    ceilings = ceilings_of(every)
    noise = noisy_rounds([record for record in every if is_solo(record)], limits)
    return [_with(record, ceilings, noise if is_solo(record) else None, limits) for record in every]


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Requests/s that tools reached against the null server: by (tool, scenario), and the best of each tool."""

    cells: Mapping[tuple[str, str], float]
    tools: Mapping[str, float]

    def of(self, record: Record) -> tuple[float, str] | None:
        """The ceiling for a record and the scenario that it was found with; None where there is none."""
        cell = self.cells.get((record.tool, record.scenario))
        if cell is not None:
            return cell, record.scenario
        best = self.tools.get(record.tool)
        return None if best is None else (best, "its best")


def ceilings_of(records: Iterable[Record]) -> Ceilings:
    """The best of each tool's valid measurements of the null server.

    One that kept up with the rate that was asked for says nothing of how much higher the tool would have come.
    """
    cells: dict[tuple[str, str], float] = {}
    tools: dict[str, float] = {}
    for record in records:
        goodput = record.goodput
        if record.service != NULL or not record.valid or not goodput:
            continue
        if record.rate is not None and goodput >= 0.99 * record.rate:
            continue
        key = (record.tool, record.scenario)
        cells[key] = max(goodput, cells.get(key, 0.0))
        tools[record.tool] = max(goodput, tools.get(record.tool, 0.0))
    return Ceilings(cells, tools)


def noisy_rounds(records: Iterable[Record], limits: NoiseLimits) -> dict[int, str]:
    """The rounds that are void, each with the measurements that showed it."""
    shown: defaultdict[int, list[str]] = defaultdict(list)
    for record in records:
        if record.outcome == MEASURED and (told := ", ".join(_noise(record, limits))):
            shown[record.round].append(f"{record.id} {told}")
    return {number: _some(details) for number, details in shown.items()}


def _noise(record: Record, limits: NoiseLimits) -> Iterator[str]:
    if record.steal_ratio is not None and record.steal_ratio > limits.steal:
        yield f"steal {record.steal_ratio:.1%}"
    if record.foreign_ratio is not None and record.foreign_ratio > limits.foreign:
        yield f"foreign CPU {record.foreign_ratio:.1%}"


def _some(details: Sequence[str], most: int = 3) -> str:
    rest = len(details) - most
    return "; ".join(details[:most]) + (f"; and {rest} more of the round" if rest > 0 else "")


def _with(record: Record, ceilings: Ceilings, noise: Mapping[int, str] | None, limits: NoiseLimits) -> Record:
    """`noise` is None for one side of a pair."""
    if record.outcome != MEASURED or record.service == NULL:
        return record
    starved = () if noise is None else _starved(record, limits)
    bound = "; ".join((*_ceiling(record, ceilings), *starved))
    causes = [Cause("loadgen-bound", bound)] if bound else []
    if noise and record.round in noise:
        causes.append(Cause("host", noise[record.round]))
    return replace(record, valid=False, causes=(*record.causes, *causes)) if causes else record


def _ceiling(record: Record, ceilings: Ceilings) -> Iterator[str]:
    ceiling = ceilings.of(record)
    if ceiling and record.goodput is not None and record.goodput > MAX_OF_CEILING * ceiling[0]:
        share = record.goodput / ceiling[0]
        yield f"{share:.0%} of the {ceiling[0]:.6g}/s that {record.tool} reaches against the null server ({ceiling[1]})"


def _starved(record: Record, limits: NoiseLimits) -> Iterator[str]:
    if record.loadgen_busy_ratio is not None and record.loadgen_busy_ratio > MAX_BUSY:
        yield f"{record.tool}'s CPUs were {record.loadgen_busy_ratio:.1%} busy"
    if record.loadgen_wait_ratio is not None and record.loadgen_wait_ratio > limits.wait:
        yield f"{record.tool} waited for a CPU {record.loadgen_wait_ratio:.1%} of the window"


def _share(value: Any, default: float) -> float:
    try:
        share = float(value) / 100
    except (TypeError, ValueError):
        return default
    return share if 0 <= share < float("inf") else default
