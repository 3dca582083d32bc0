"""The same cell by several tools: what each says, and where they disagree by more than their own noise.

A tool's interval is the t interval of its mean over the rounds; of rates and times on the scale of logarithms, where
noise is a factor, so that the mean is the geometric one. Two tools disagree on a figure where their intervals do
not meet and their means are at least `LEAST` apart: both are printed, so that a reader can check it by eye.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.cells import Cell, Context, cells_of, without_empty
from bench.analysis.tool_agreement import CLIENT, CONFIDENCE, LEAST, SERVER, disagreements, figure_words, figures_of
from bench.core.formats import NOTHING, number
from bench.records.record import Record
from bench.render.table import Table

NOTE = (
    f"With each (geometric) mean its {CONFIDENCE:.0%} interval over the rounds. Tools disagree where their intervals do"
    f" not meet and the means are {LEAST:.0%} apart or more. ab prints whole milliseconds and hey tenths: half of that"
    " is in the intervals of their latencies."
)
RATE_NOTE = (
    "vegeta sends at its rate whatever comes back, so that its good answers per second are what was asked and no peak:"
    " its success share is the figure, beside hey's, the one closed loop that can be held to a rate."
)


def four_tools(records: Sequence[Record], context: Context) -> list[Table]:
    """A table for each cell and way of loading it, and one of all disagreements."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells_of(records, context):
        groups.setdefault((cell.service, cell.first.scenario, _load(cell.first)), []).append(cell)
    tables = [_table(key, cells) for key, cells in groups.items()]
    rows = tuple(row for key, cells in groups.items() for row in disagreements(key, cells))
    columns = ("service", "scenario", "load", "figure", "tools", "known cause")
    told = (NOTE,) if rows else (NOTE, "They disagree nowhere.")
    return [*tables, Table("Where the tools disagree", columns, rows, labels=len(columns), notes=told)]


def _load(record: Record) -> str:
    """The same words for tools that were asked for the same."""
    if record.rate is not None:
        return f"{number(record.rate)}/s asked"
    asked = f", {number(record.count)} requests" if record.count else ""
    return f"{record.connections} connections{asked}"


def _table(key: tuple[str, str, str], cells: Sequence[Cell]) -> Table:
    figures = (*figures_of(cells), CLIENT)
    columns = ("tool", "valid rounds", *(compared.name for compared in figures), "not valid because")
    rows = [
        (
            cell.first.tool,
            f"{len(cell.valid)} of {len(cell.records)}",
            *(figure_words(cell, compared) for compared in figures),
            NOTHING if len(cell.valid) == len(cell.records) else cell.details,
        )
        for cell in cells
    ]
    kept, kept_rows = without_empty(columns, rows, (columns[-1], SERVER.name, CLIENT.name))
    notes = (RATE_NOTE,) if cells[0].first.rate is not None else ()
    return Table(" ".join(key[:2]) + f", {key[2]}", kept, kept_rows, notes=notes, prose=(columns[-1],))
