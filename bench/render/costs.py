"""What services cost: CPU time per successful response, memory, start-up, image size; the limits of the load tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

from bench.analysis.cells.cell import Cell, Context, cells_of
from bench.analysis.tables.remarks import spread_of, throttled
from bench.core.formats import NOTHING, megabytes, milliseconds, number
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.alone import by_scenario
from bench.render.table import Column, Table, table_of
from bench.words.cells import state_words
from bench.words.remarks import spread_words, throttled_words

SERVICE_NOTES = (
    "Idle memory is measured when the service is ready, before any load, without reclaimable page cache. Peak memory"
    " is the kernel's counter, including page cache; the highest of the valid measurements.",
    "Start-up is from the container's start to the first successful response: median, lowest and highest. The first "
    "request is sent some tenths of a second after the start, so this is an upper bound.",
)
PROCESS_NOTE = (
    "Shares of the CPU time of the worker processes (utime and stime of each), the busiest first, as means over all"
    " windows. Workers are taken to be the N processes with the most CPU time (N: configured workers)."
)


Starts = Mapping[str, float | None]
"""Seconds from a service's start to its first response in its verification; measurements in turns have no such time."""


def cost_tables(records: Sequence[Record], context: Context, knobs: Mapping[str, Any], starts: Starts) -> list[Table]:
    """What each service costs, then its CPU time by process.

    The CPU time per request is only that of services measured alone; the rankings have the others'.
    """
    services = grouped((record for record in records if record.mode != "null"), lambda record: record.service)
    services = {name: services[name] for name in context.in_order(services)}
    alone = {name: [one for one in own if one.mode == "solo"] for name, own in services.items()}
    alone = {name: own for name, own in alone.items() if own}
    return [
        *(_of_services(alone, context, starts) if alone else [_service_costs(services, starts)] if services else []),
        *_process_table(services, knobs),
    ]


Services = Mapping[str, Sequence[Record]]
"""Records by service, in the order of the report."""


def _of_services(services: Services, context: Context, starts: Starts) -> list[Table]:
    """One table of the services, and one of CPU time per tool and level; without any CPU time, a note says why."""
    records = [record for own in services.values() for record in own]
    valid = [record for record in records if record.valid]
    if valid and all(record.cpu_per_success_s is None for record in valid):
        return [_service_costs(services, starts, f"CPU time is unknown: {valid[0].nulls['cpu_per_success_s']}.")]
    title = "CPU time per request (requests/s per core)"
    return [_service_costs(services, starts), *by_scenario(cells_of(records, context), context, title, _cpu_words)]


def _service_costs(services: Services, starts: Starts, *notes: str) -> Table:
    def figure(name: str, write: Callable[[Sequence[float]], str], service: str) -> str:
        """A figure of the service's records, or why there is none; peak memory only of valid records."""
        own = [record for record in services[service] if record.valid or name != "memory_peak_bytes"]
        values = [value for record in own if (value := getattr(record, name)) is not None]
        if not values and name == "start_s" and (start_s := starts.get(service)) is not None:
            values = [start_s]
        if values:
            return write(values)
        return own[0].nulls[name] if own else "no valid measurement"

    def most(sizes: Sequence[float]) -> str:
        return megabytes(max(sizes))

    columns = [
        Column("service", str, left=True),
        Column("idle memory", partial(figure, "memory_idle_bytes", most)),
        Column("peak memory", partial(figure, "memory_peak_bytes", most)),
        Column("start-up", partial(figure, "start_s", _seconds)),
        Column("image size", partial(figure, "image_bytes", most)),
    ]
    return table_of("Costs of each service", columns, services, (*SERVICE_NOTES, *notes))


def _seconds(values: Sequence[float]) -> str:
    words = f"{number(median(values))} s"
    return words if min(values) == max(values) else f"{words} ({number(min(values))} to {number(max(values))})"


def _cpu_words(cell: Cell) -> str:
    known = cell.of_known_cpu
    if not known:
        return state_words(cell)
    cpu = [r.cpu_per_success_s for r in known if r.cpu_per_success_s is not None]
    rates = [r.goodput_per_core for r in known if r.goodput_per_core is not None]
    if not cpu:
        return known[0].nulls["cpu_per_success_s"]
    return milliseconds(fmean(cpu)) + (f" ({number(fmean(rates))}/s)" if rates else "")


def _process_table(services: Services, knobs: Mapping[str, Any]) -> list[Table]:
    """How a service's CPU time spreads over its workers, and how long its quota throttled it, if either is known."""
    rows = []
    for name, own in services.items():
        stopped = next(map(throttled_words, throttled(own)), NOTHING)
        spread = spread_of(own, knobs)
        if spread or stopped != NOTHING:
            uneven = ", uneven" if spread and spread.uneven else ""
            rows.append((name, f"{spread_words(spread)}{uneven}" if spread else NOTHING, stopped))
    columns: list[Column[tuple[str, str, str]]] = [
        Column("service", lambda row: row[0], left=True),
        Column("CPU time of its workers", lambda row: row[1]),
        Column("CPU quota", lambda row: row[2]),
    ]
    return [table_of("CPU time by process", columns, rows, [PROCESS_NOTE])] if rows else []


def null_table(records: Iterable[Record]) -> list[Table]:
    """Each tool's rate with the null server; empty if it was not measured."""
    null = (record for record in records if record.mode == "null")
    groups = grouped(null, lambda record: (record.tool, record.scenario, record.level))

    def rates(group: Iterable[Record]) -> list[float]:
        return [record.goodput for record in group if record.valid and record.goodput is not None]

    def most(group: Sequence[Record]) -> str:
        causes = sorted({f"{cause.cause}: {cause.detail}" for record in group for cause in record.causes})
        target = " (the target)" * (group[0].rate is not None)
        return number(max(rates(group))) + target if rates(group) else "; ".join(causes) or NOTHING

    columns: list[Column[list[Record]]] = [
        Column("tool", lambda group: group[0].tool, left=True),
        Column("scenario", lambda group: group[0].scenario, left=True),
        Column("level", lambda group: group[0].level, left=True),
        Column("max requests/s", most),
        Column("valid rounds", lambda group: f"{len(rates(group))} of {len(group)}"),
    ]
    return [table_of("Null server: the limit of each tool on this host", columns, groups.values())] if groups else []
