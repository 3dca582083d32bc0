"""The knee of each service: the highest rate that holds, next to its peak goodput in closed loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.analysis.cells.cell import Cell, Context, cells_of, confirmed
from bench.analysis.cells.latency import key_of
from bench.core.formats import NOTHING, milliseconds, number, share
from bench.core.groups import grouped
from bench.load.knee_search import APART
from bench.plan.levels import SEARCHED
from bench.records.knee import CONFIRMATIONS
from bench.records.record import Record
from bench.render.table import Table
from bench.words.cells import doubts

NOTE = (
    "The knee is the highest rate at which p99 stays within the limit, with at most 0.1 % errors and at least 99 % of"
    f" the rate sent; {100 * (APART - 1):.0f} % more failed in two trials. It is confirmed if it holds in all later"
    f" rounds, at least {CONFIRMATIONS}. Every trial is in the raw files. Peak goodput is the highest mean of the"
    " run's closed loops."
)


def knee(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per scenario and limit."""
    cells = cells_of(records, context)
    peaks: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        if cell.first.connections is not None and cell.goodput is not None:
            place = (cell.service, cell.first.scenario)
            if place not in peaks or cell.goodput > (peaks[place].goodput or 0):
                peaks[place] = cell
    searched = (cell for cell in cells if cell.first.level.startswith(SEARCHED))
    groups = grouped(searched, lambda cell: (cell.first.scenario, cell.first.level))
    return [_table(*place, group, peaks, context) for place, group in groups.items()]


def _table(
    scenario: str, level: str, cells: Sequence[Cell], peaks: Mapping[tuple[str, str], Cell], context: Context
) -> Table:
    limit = level.removeprefix(f"{SEARCHED}p99-").removesuffix("ms")
    columns = ("service", "knee/s", "later rounds", "p99 at the knee", "peak goodput/s", "knee / peak", "confirmed")
    rows = tuple(_row(cell, peaks.get((cell.service, scenario)), context) for cell in cells)
    return Table(f"{scenario}: knee (p99 ≤ {limit} ms)", columns, rows, notes=(NOTE,), prose=("confirmed",))


def _row(cell: Cell, peak: Cell | None, context: Context) -> tuple[str, ...]:
    found, held, later = confirmed(cell.records)
    best = peak.goodput if peak is not None else None
    top = NOTHING if peak is None or best is None else f"{number(best)} ({peak.first.tool} {peak.first.level})"
    if found is None or found.knee_rate is None:
        return cell.service, NOTHING, NOTHING, NOTHING, top, NOTHING, doubts(cell.records)
    rate = found.knee_rate
    latencies = context.latencies.get(key_of(found))
    p99 = None if latencies is None else latencies.percentiles_s["p99"]
    return (
        cell.service,
        number(rate),
        f"held in {held} of {later}",
        milliseconds(p99),
        top,
        share(rate / best) if best else NOTHING,
        f"no: {doubt}" if (doubt := doubts(cell.records)) else "yes",
    )
