"""What a service costs: CPU time per successful response, memory, start-up, image size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

from bench.analysis.cells.cell import Cell, Context, cells_of, natural
from bench.core.formats import NOTHING, milliseconds, number
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table
from bench.words.cells import state_words

MB = 1_000_000
SERVICE_NOTES = (
    "Idle memory is measured when the service is ready, before any load, without reclaimable page cache. Peak memory"
    " is the kernel's counter, including page cache; the highest of the valid measurements.",
    "Start-up is from the container's start to the first successful response: median, lowest and highest. The first "
    "request is sent some tenths of a second after the start, so this is an upper bound.",
)


def costs(records: Sequence[Record], context: Context) -> list[Table]:
    """One table of the services, and one of CPU time per tool and level, with a row per service.

    If there is no CPU time at all, one sentence says why.
    """
    valid = [record for record in records if record.valid]
    if valid and all(record.cpu_per_success_s is None for record in valid):
        return [service_costs(records, context, f"CPU time is unknown: {valid[0].nulls['cpu_per_success_s']}.")]
    cells = cells_of(records, context)
    groups = grouped(cells, lambda cell: (cell.first.tool, cell.first.level))
    keys = sorted(groups, key=lambda key: [*map(natural, key)])
    tables = [_cpu(*key, groups[key], context) for key in keys]
    return [service_costs(records, context), *tables] if cells else []


def service_costs(records: Sequence[Record], context: Context, *notes: str) -> Table:
    """Memory, start-up and image size of each service."""
    by_service = grouped(records, lambda record: record.service)
    rows = [
        (
            name,
            _figure(own, "memory_idle_bytes", _megabytes),
            _figure([record for record in own if record.valid], "memory_peak_bytes", _megabytes),
            _figure(own, "start_s", _seconds),
            _figure(own, "image_bytes", _megabytes),
        )
        for name in context.in_order(by_service)
        for own in (by_service[name],)
    ]
    columns = ("service", "idle memory", "peak memory", "start-up", "image size")
    return Table("Costs of each service", columns, tuple(rows), notes=(*SERVICE_NOTES, *notes))


def _cpu(tool: str, level: str, cells: Sequence[Cell], context: Context) -> Table:
    scenarios = sorted({cell.first.scenario for cell in cells}, key=natural)
    grid = {(cell.service, cell.first.scenario): _cpu_words(cell) for cell in cells}
    rows = tuple(
        (name, *(grid.get((name, scenario), NOTHING) for scenario in scenarios))
        for name in context.in_order(cell.service for cell in cells)
    )
    title = f"{tool} {level}: CPU time per request (requests/s per core)"
    return Table(title, ("service", *scenarios), rows)


def _cpu_words(cell: Cell) -> str:
    known = cell.of_known_cpu
    if not known:
        return state_words(cell)
    cpu = [r.cpu_per_success_s for r in known if r.cpu_per_success_s is not None]
    rates = [r.goodput_per_core for r in known if r.goodput_per_core is not None]
    if not cpu:
        return known[0].nulls["cpu_per_success_s"]
    return milliseconds(fmean(cpu)) + (f" ({number(fmean(rates))}/s)" if rates else "")


def _figure(records: Sequence[Record], name: str, write: Callable[[Sequence[float]], str]) -> str:
    """One figure of a service's records, or why there is none."""
    values = [value for record in records if (value := getattr(record, name)) is not None]
    if values:
        return write(values)
    return records[0].nulls[name] if records else "no valid measurement"


def _megabytes(sizes: Sequence[float]) -> str:
    return f"{number(max(sizes) / MB)} MB"


def _seconds(values: Sequence[float]) -> str:
    words = f"{number(median(values))} s"
    return words if min(values) == max(values) else f"{words} ({number(min(values))} to {number(max(values))})"
