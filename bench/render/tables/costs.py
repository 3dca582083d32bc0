"""What a service costs beside its requests/s: CPU for each good answer, memory, start-up, the size of its image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from bench.analysis.cells import Cell, Context, cells_of, natural
from bench.core.formats import NOTHING, milliseconds, number
from bench.records.record import Record
from bench.render.table import Table

MB = 1_000_000
SERVICE_NOTES = (
    "Idle is what the service held when it was ready and nothing was asked of it, without files that the kernel may "
    "drop; the peak is the kernel's own count, such files in it, the greatest of the valid measurements.",
    "Start-up is from the container's start to the first good answer that the load generator saw: median, least and "
    "greatest. Its first look comes some tenths of a second after the start, so that the truth may be less.",
)


def costs(records: Sequence[Record], context: Context) -> list[Table]:
    """One table of the services, and one of CPU time for each tool and level: services down, scenarios across.

    Where no CPU time at all was counted, one sentence says why.
    """
    valid = [record for record in records if record.valid]
    if valid and all(record.cpu_per_success_s is None for record in valid):
        return [_services(records, context, f"CPU time is not known: {valid[0].nulls['cpu_per_success_s']}.")]
    cells = cells_of(records, context)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.first.tool, cell.first.level), []).append(cell)
    keys = sorted(groups, key=lambda key: [*map(natural, key)])
    tables = [_cpu(*key, groups[key], context) for key in keys]
    return [_services(records, context), *tables] if cells else []


def _services(records: Sequence[Record], context: Context, *notes: str) -> Table:
    by_service: dict[str, list[Record]] = {}
    for record in records:
        by_service.setdefault(record.service, []).append(record)
    rows = [
        (
            name,
            _figure(own, "memory_idle_bytes", _megabytes),
            _figure([record for record in own if record.valid], "memory_peak_bytes", _megabytes),
            _figure(own, "start_s", _seconds),
            _figure(own, "image_bytes", _megabytes),
        )
        for name in _in_order(by_service, context)
        for own in (by_service[name],)
    ]
    columns = ("service", "idle memory", "peak memory", "start-up, at most", "image")
    return Table("What each service costs", columns, tuple(rows), notes=(*SERVICE_NOTES, *notes))


def _cpu(tool: str, level: str, cells: Sequence[Cell], context: Context) -> Table:
    scenarios = sorted({cell.first.scenario for cell in cells}, key=natural)
    grid = {(cell.service, cell.first.scenario): _cpu_words(cell) for cell in cells}
    rows = tuple(
        (name, *(grid.get((name, scenario), NOTHING) for scenario in scenarios))
        for name in _in_order({cell.service for cell in cells}, context)
    )
    title = f"{tool} {level}: CPU time of a request (requests/s per core)"
    return Table(title, ("service", *scenarios), rows)


def _cpu_words(cell: Cell) -> str:
    if not cell.valid:
        return cell.state
    cpu, rate = cell.mean_of(_cpu_s), cell.mean_of(_rate)
    if cpu is None:
        return cell.valid[0].nulls["cpu_per_success_s"]
    return milliseconds(cpu) + (f" ({number(rate)}/s)" if rate is not None else "")


def _figure(records: Sequence[Record], name: str, write: Callable[[Sequence[float]], str]) -> str:
    """One figure of a service's records in words, or why there is none."""
    values = [value for record in records if (value := getattr(record, name)) is not None]
    if values:
        return write(values)
    return records[0].nulls[name] if records else "no valid measurement"


def _in_order(names: Iterable[str], context: Context) -> list[str]:
    place = {name: index for index, name in enumerate(context.order)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def _megabytes(sizes: Sequence[float]) -> str:
    return f"{number(max(sizes) / MB)} MB"


def _seconds(values: Sequence[float]) -> str:
    words = f"{number(median(values))} s"
    return words if min(values) == max(values) else f"{words} ({number(min(values))} to {number(max(values))})"


def _cpu_s(record: Record) -> float | None:
    return record.cpu_per_success_s


def _rate(record: Record) -> float | None:
    return record.goodput_per_core
