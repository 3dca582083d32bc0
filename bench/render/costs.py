"""What services cost: CPU time per successful response, memory, start-up, image size; the limits of the load tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import median

from bench.analysis.cells.cell import Cell, natural
from bench.analysis.costs import Observed, ServiceCosts, WorkerCosts
from bench.analysis.findings import Findings
from bench.core.formats import NOTHING, megabytes, milliseconds, number
from bench.core.groups import grouped
from bench.render.table import Column, Table, table_of, written
from bench.render.text import NOTES
from bench.words.cells import state_words
from bench.words.remarks import spread_words, throttled_words


def cost_tables(findings: Findings) -> list[Table]:
    """What each service costs, then its CPU time by process.

    The CPU time per request is only that of services measured alone; the rankings have the others'.
    """
    unknown = findings.unknown_cpu
    cells = () if unknown else findings.cells
    return [
        *_service_costs(findings.costs, [f"CPU time is unknown: {unknown}."] if unknown else []),
        *_cpu_by_scenario(cells, findings.order),
        *_process_table(findings.worker_costs),
    ]


def _service_costs(services: Sequence[ServiceCosts], notes: Iterable[str]) -> list[Table]:
    def most(observed: Observed) -> str:
        return megabytes(max(observed.values)) if observed.values else observed.missing

    columns: list[Column[ServiceCosts]] = [
        Column("service", lambda one: one.service, left=True),
        Column("idle memory", lambda one: most(one.memory_idle_bytes)),
        Column("memory under load", lambda one: most(one.memory_loaded_bytes)),
        Column("start-up", lambda one: _seconds(one.start_s)),
        Column("image size", lambda one: most(one.image_bytes)),
    ]
    return (
        [table_of("Costs of each service", columns, services, (NOTES["memory"], NOTES["start_up"], *notes))]
        if services
        else []
    )


def _seconds(observed: Observed) -> str:
    if not observed.values:
        return observed.missing
    low, high = min(observed.values), max(observed.values)
    words = f"{number(median(observed.values))} s"
    return words if low == high else f"{words} ({number(low)} to {number(high)})"


def _cpu_by_scenario(cells: Iterable[Cell], order: Sequence[str]) -> list[Table]:
    """A table per tool and level: a row per service, a column per scenario."""
    tables = []
    groups = grouped(cells, lambda cell: (cell.first.tool, cell.first.level))
    for tool, level in sorted(groups, key=lambda key: [*map(natural, map(str, key))]):
        by_place = {(cell.first.scenario, cell.service): cell for cell in groups[tool, level]}

        def words(scenario: str, service: str, by_place: Mapping[tuple[str, str], Cell] = by_place) -> str:
            return written(by_place.get((scenario, service)), _cpu_words)

        scenarios = sorted({scenario for scenario, _ in by_place}, key=natural)
        shown = {service for _, service in by_place}
        columns = [
            Column("service", str, left=True),
            *(Column(scenario, partial(words, scenario)) for scenario in scenarios),
        ]
        title = f"{tool} {level}: CPU time per request (requests/s per core)"
        tables.append(table_of(title, columns, [service for service in order if service in shown]))
    return tables


def _cpu_words(cell: Cell) -> str:
    if not cell.counted:
        return state_words(cell)
    if cell.cpu_per_success_s is None:
        return next(one.nulls["cpu_per_success_s"] for one in cell.counted if one.cpu_per_success_s is None)
    per_core = cell.mean_of(lambda record: record.goodput_per_core)
    return milliseconds(cell.cpu_per_success_s) + ("" if per_core is None else f" ({number(per_core)}/s)")


def _process_table(services: Sequence[WorkerCosts]) -> list[Table]:
    """How a service's CPU time spreads over its workers, and how long its quota throttled it."""

    def spread(one: WorkerCosts) -> str:
        return f"{spread_words(one.spread)}{', uneven' * one.spread.uneven}" if one.spread else NOTHING

    columns: list[Column[WorkerCosts]] = [
        Column("service", lambda one: one.service, left=True),
        Column("CPU time of its workers", spread),
        Column("CPU quota", lambda one: written(one.throttled, throttled_words)),
    ]
    return [table_of("CPU time by process", columns, services, [NOTES["processes"]])] if services else []


def null_table(cells: Sequence[Cell]) -> list[Table]:
    """Each tool's rate with the null server; empty if it was not measured."""

    def most(cell: Cell) -> str:
        rates = [record.goodput for record in cell.valid if record.goodput is not None]
        if rates:
            return number(max(rates)) + " (the target)" * (cell.first.rate is not None)
        causes = sorted({f"{cause.cause}: {cause.detail}" for record in cell.records for cause in record.causes})
        return "; ".join(causes) or NOTHING

    columns: list[Column[Cell]] = [
        Column("tool", lambda cell: cell.first.tool, left=True),
        Column("scenario", lambda cell: cell.first.scenario, left=True),
        Column("level", lambda cell: str(cell.first.level), left=True),
        Column("max requests/s", most),
        Column("valid rounds", lambda cell: f"{len(cell.valid)} of {len(cell.records)}"),
    ]
    return [table_of("Null server: the limit of each tool on this host", columns, cells)] if cells else []
