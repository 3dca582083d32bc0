"""What the records of a run show together: they are counted, grouped and compared once, before any words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.cells.cell import Cell, cells_of, in_order
from bench.analysis.cells.knees import Knees, knees_of
from bench.analysis.costs import ServiceCosts, WorkerCosts, costs_of, unknown_cpu, worker_costs_of
from bench.analysis.services import Places, places_of
from bench.core.exchange import Wait
from bench.core.groups import grouped
from bench.records.record import MEASURED, Cause, Record
from bench.run.facts import RunFacts
from bench.run.reader import ServiceFacts
from bench.validity.run_rules import noise_limits_of


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many measurements of a service have a cause against them; `first`: the earliest of them and its details."""

    cause: str
    service: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Noise:
    """Of so many `windows`, those in which other programs (`foreign`) or the hypervisor (`steal`) took too much CPU."""

    windows: int
    foreign: int
    steal: int


@dataclass(frozen=True, slots=True)
class Findings:
    """Counts are of measurements; `noisy` ones have noise of the host against them.

    `rounds` and `cells` are those of services measured alone, which `alone` names; `null`: cells of the null server.
    `order`: the services in the order of the report. `waits`: of each scenario. `idle_bytes`: the memory of each
    service before any load.
    """

    planned: int
    measured: int
    valid: int
    noisy: int
    causes: tuple[CauseCount, ...]
    noise: Noise
    rounds: int
    alone: tuple[str, ...]
    order: tuple[str, ...]
    places: Places
    nodes: tuple[str, ...]
    tools: tuple[str, ...]
    idle_bytes: Mapping[str, int | None]
    cells: tuple[Cell, ...]
    null: tuple[Cell, ...]
    knees: Knees
    waits: Mapping[str, Wait | None]
    costs: tuple[ServiceCosts, ...]
    worker_costs: tuple[WorkerCosts, ...]
    unknown_cpu: str


def findings_of(
    records: Sequence[Record], facts: RunFacts, services: Mapping[str, ServiceFacts] | None = None
) -> Findings:
    """The findings of a run. `services`: in the order of the report."""
    services = services or {}
    solo = [record for record in records if record.mode == "solo"]
    ran = grouped((record for record in records if record.mode != "null"), lambda record: record.service)
    order = tuple(in_order(ran, (*services,)))
    by_service = {name: ran[name] for name in order}
    alone = {name: [one for one in own if one.mode == "solo"] for name, own in by_service.items()}
    alone = {name: own for name, own in alone.items() if own}
    cells = tuple(cells_of(solo, order))
    return Findings(
        planned=len(records),
        measured=sum(record.outcome == MEASURED for record in records),
        valid=sum(record.valid for record in records),
        noisy=sum(any(cause.cause == "host" for cause in record.causes) for record in records),
        causes=_causes(records),
        noise=_noise(records, facts.knobs),
        rounds=len({record.round for record in solo}),
        alone=tuple(dict.fromkeys(record.service for record in solo if record.outcome == MEASURED)),
        order=order,
        places=places_of(facts, records),
        nodes=tuple(sorted({record.node for record in records if record.node})),
        tools=tuple(sorted({f"{record.tool} {record.tool_version}" for record in records if record.tool_version})),
        idle_bytes={record.service: record.memory_idle_bytes for record in records},
        cells=cells,
        null=tuple(cells_of([record for record in records if record.mode == "null"], ())),
        knees=knees_of(cells),
        waits={name: facts.wait_of(name) for name in {record.scenario for record in records}},
        costs=tuple(costs_of(alone or by_service, {name: service.start_s for name, service in services.items()})),
        worker_costs=tuple(worker_costs_of(by_service, facts.knobs)),
        unknown_cpu=unknown_cpu(solo),
    )


def _causes(records: Iterable[Record]) -> tuple[CauseCount, ...]:
    """Every cause with its count by service."""

    def words(record: Record, cause: Cause) -> str:
        return f"{record.id} {record.scenario} {record.tool} {record.level}: {cause.detail}"

    pairs = [(record, cause) for record in records for cause in record.causes]
    by_cause = sorted(grouped(pairs, lambda pair: (pair[1].cause, pair[0].service)).items(), key=lambda one: one[0])
    return tuple(CauseCount(*key, len(against), words(*against[0])) for key, against in by_cause)


def _noise(records: Iterable[Record], knobs: Mapping[str, Any]) -> Noise:
    limits = noise_limits_of(knobs)
    seen = [record for record in records if record.mode in ("turns", "solo") and record.outcome == MEASURED]
    return Noise(
        len(seen),
        foreign=sum((record.foreign_ratio or 0) > limits.foreign for record in seen),
        steal=sum((record.steal_ratio or 0) > limits.steal for record in seen),
    )
