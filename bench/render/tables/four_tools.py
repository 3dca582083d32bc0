"""The same cell measured by several tools: the figures of each, and disagreements beyond their noise.

The interval is the t interval of the mean over the rounds; for rates and times it is computed on logarithms, so that
the mean is geometric. Two tools disagree on a figure if their intervals do not overlap and their means differ by at
least `LEAST`: both are shown, so that a reader can check it.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.cells.cell import Cell, Context, cells_of
from bench.analysis.cells.tool_agreement import (
    CLIENT,
    CONFIDENCE,
    LEAST,
    SERVER,
    Compared,
    Disagreement,
    disagreements,
    figures_of,
    interval_of,
)
from bench.core.formats import NOTHING, number, percent
from bench.core.groups import grouped
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.words.cells import details_words

NOTE = (
    f"Each (geometric) mean has its {CONFIDENCE:.0%} interval over the rounds. Tools disagree if their intervals do"
    f" not overlap and their means differ by {LEAST:.0%} or more. ab prints latencies in whole milliseconds and hey in"
    " tenths; their intervals include that rounding."
)
RATE_NOTE = (
    "vegeta sends at its target rate regardless of the responses, so its goodput is that rate and not a peak. Compare"
    " its success share with hey's, the only closed loop that accepts a target rate."
)


def four_tools(records: Sequence[Record], context: Context) -> list[Table]:
    """A table per cell and kind of load, and one of all disagreements."""
    cells = cells_of(records, context)
    groups = grouped(cells, lambda cell: (cell.service, cell.first.scenario, _load(cell.first)))
    tables = [_table(key, cells) for key, cells in groups.items()]
    rows = tuple(_row(key, one) for key, cells in groups.items() for one in disagreements(cells))
    columns = ("service", "scenario", "load", "figure", "tools", "known cause")
    notes = (NOTE,) if rows else (NOTE, "There are no disagreements.")
    return [*tables, Table("Disagreements between tools", columns, rows, labels=len(columns), notes=notes)]


def _load(record: Record) -> str:
    """The load, in the same words for every tool."""
    if record.rate is not None:
        return f"target {number(record.rate)}/s"
    count = f", {number(record.count)} requests" if record.count else ""
    return f"{record.connections} connections{count}"


def _table(key: tuple[str, str, str], cells: Sequence[Cell]) -> Table:
    figures = (*figures_of(cells), CLIENT)
    columns = ("tool", "valid rounds", *(compared.name for compared in figures), "why not valid")
    rows = [
        (
            cell.first.tool,
            f"{len(cell.valid)} of {len(cell.records)}",
            *(_figure(cell, compared) for compared in figures),
            NOTHING if len(cell.valid) == len(cell.records) else details_words(cell),
        )
        for cell in cells
    ]
    kept, kept_rows = without_empty(columns, rows, (columns[-1], SERVER.name, CLIENT.name))
    notes = (RATE_NOTE,) if cells[0].first.rate is not None else ()
    return Table(" ".join(key[:2]) + f", {key[2]}", kept, kept_rows, notes=notes, prose=(columns[-1],))


def _figure(cell: Cell, compared: Compared) -> str:
    """A figure of a cell with its interval, if there is one."""
    found = interval_of(cell, compared)
    if found is None:
        return NOTHING
    if found.low is None or found.high is None:
        return compared.write(found.mean)
    return f"{compared.write(found.mean)} ({compared.write(found.low)} to {compared.write(found.high)})"


def _row(key: tuple[str, str, str], found: Disagreement) -> tuple[str, ...]:
    causes = "; ".join(known.words for known in found.causes) or "none"
    return (*key, found.figure, f"{found.other} {percent(found.ratio)} vs {found.one}", causes)
