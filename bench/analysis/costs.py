"""What services cost besides CPU time per request: memory, start-up, image size, and how workers share the CPU time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.tables.ranking import Spread, Throttled
from bench.analysis.tables.remarks import spread_of, throttled
from bench.records.record import Record

Services = Mapping[str, Sequence[Record]]
"""Records by service, in the order of the report."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The values of one figure in a service's records; `missing` says why there are none."""

    values: tuple[float, ...]
    missing: str


@dataclass(frozen=True, slots=True)
class ServiceCosts:
    """Memory and image size in bytes, start-up in seconds; memory under load only of valid records."""

    service: str
    memory_idle_bytes: Observed
    memory_loaded_bytes: Observed
    start_s: Observed
    image_bytes: Observed


def costs_of(services: Services, starts: Mapping[str, float | None]) -> Iterator[ServiceCosts]:
    """The costs of each service. `starts`: start-up in its verification, for services without one in their records."""
    for service, records in services.items():
        start_s = _samples("start_s", records)
        if not start_s.values and (verified := starts.get(service)) is not None:
            start_s = Observed((verified,), "")
        idle, image = _samples("memory_idle_bytes", records), _samples("image_bytes", records)
        loaded = _samples("memory_loaded_bytes", [record for record in records if record.valid])
        yield ServiceCosts(service, idle, loaded, start_s, image)


def _samples(name: str, records: Sequence[Record]) -> Observed:
    values = tuple(value for record in records if (value := getattr(record, name)) is not None)
    return Observed(values, records[0].nulls.get(name, "") if records else "no valid measurement")


@dataclass(frozen=True, slots=True)
class WorkerCosts:
    """How a service's CPU time spreads over its workers, and how long its quota throttled it; None if unknown."""

    service: str
    spread: Spread | None
    throttled: Throttled | None


def worker_costs_of(services: Services, knobs: Mapping[str, Any]) -> Iterator[WorkerCosts]:
    """Of each service of which either is known."""
    for service, own in services.items():
        found = WorkerCosts(service, spread_of(own, knobs), next(throttled(own), None))
        if found.spread or found.throttled:
            yield found


def unknown_cpu(records: Iterable[Record]) -> str:
    """Why no valid record has its CPU time per request; empty if one has it, or none is valid."""
    valid = [record for record in records if record.valid]
    known = any(record.cpu_per_success_s is not None for record in valid)
    return "" if known or not valid else valid[0].nulls["cpu_per_success_s"]
