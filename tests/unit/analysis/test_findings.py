"""What a run's records show together: counts, noise, and the costs of its services."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from turns_runs import record, service_of

from bench.analysis.findings import findings_of
from bench.records.record import Cause, Record
from bench.render.costs import cost_tables
from bench.run.facts import RunFacts
from bench.run.reader import ServiceFacts


def alone(stack: str = "aiohttp", **changes: Any) -> Record:
    return replace(record(stack, **changes), mode="solo", id=f"alone-{stack}-{changes.get('round', 1)}")


def test_windows_with_noise_are_counted_in_turns_and_alone_but_not_those_of_the_null_server() -> None:
    noisy = {"foreign_ratio": 0.3, "steal_ratio": 0.2, "causes": [Cause("host", "foreign CPU 30 %")]}
    null = replace(record("aiohttp", **noisy), mode="null", service="null")
    records = [record("aiohttp", **noisy), alone(**noisy), alone(round=2, foreign_ratio=0.001), null]
    found = findings_of(records, RunFacts())
    assert (found.noise.windows, found.noise.foreign, found.noise.steal) == (3, 2, 2)
    assert (found.planned, found.measured, found.valid, found.noisy, found.rounds) == (4, 4, 1, 3, 2)


def test_the_null_server_has_cells_of_its_own() -> None:
    null = [replace(record("aiohttp", round=n), mode="null", service="null", id=f"null-{n}") for n in (1, 2)]
    found = findings_of([*null, alone()], RunFacts())
    assert [len(cell.records) for cell in found.null] == [2]
    assert [cell.service for cell in found.cells] == [service_of("aiohttp")] == [*found.order]


def test_costs_are_of_services_alone_if_there_are_any() -> None:
    both = findings_of([alone(), record("aiohttp"), record("tornado")], RunFacts())
    assert [one.service for one in both.costs] == [service_of("aiohttp")]
    assert len(both.costs[0].start_s.values) == 1
    turns = findings_of([record("aiohttp"), record("tornado")], RunFacts())
    assert {one.service for one in turns.costs} == {service_of("aiohttp"), service_of("tornado")}


def test_a_start_is_that_of_the_verification_if_no_measurement_has_one() -> None:
    name = service_of("aiohttp")
    services = {name: ServiceFacts(name=name, start_s=0.7)}
    for own, expected in ((record("aiohttp", start_s=None), 0.7), (record("aiohttp"), 0.5)):
        (costs,) = findings_of([own], RunFacts(), services).costs
        assert costs.start_s.values == (expected,)
    (costs,) = findings_of([record("aiohttp", start_s=None)], RunFacts()).costs
    assert (costs.start_s.values, costs.start_s.missing) == ((), "not in this test")


def test_without_any_cpu_time_a_note_says_why_in_place_of_its_table() -> None:
    unknown = findings_of([alone(cpu_s=None)], RunFacts())
    assert unknown.unknown_cpu == "not in this test"
    (table,) = cost_tables(unknown)
    assert table.notes[-1] == "CPU time is unknown: not in this test."
    known = findings_of([alone(cpu_s=None), alone("tornado")], RunFacts())
    assert known.unknown_cpu == "" and len(cost_tables(known)) == 2
    assert findings_of([alone(causes=[Cause("host", "steal")], cpu_s=None)], RunFacts()).unknown_cpu == ""
