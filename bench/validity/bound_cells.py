"""Cells that a load tool cannot load: after some rounds of which the tool was the limit, no more are measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bench.records.make import NOT_RUN
from bench.records.record import MEASURED, Cause, Record
from bench.validity.run_rules import BOUND

BOUND_AFTER = 2
"""So many first rounds of a cell decide it: one alone may be an accident."""
CellKey = tuple[str, str, str, str]
"""Service, scenario, tool, level."""


def cell_key(record: Record) -> CellKey:
    """The record's cell."""
    return record.service, record.scenario, record.tool, record.level


def is_bound(record: Record) -> bool:
    """Whether the tool, and at most noise of the host beside it, is what speaks against a window measured alone."""
    causes = {cause.cause for cause in record.causes}
    return record.mode == "solo" and record.outcome == MEASURED and BOUND in causes and causes <= {BOUND, "host"}


def bound_cells(records: Iterable[Record]) -> dict[CellKey, str]:
    """Closed loops whose first rounds are all bound by their tool, with the facts of the last of these rounds.

    Later rounds do not matter, so that a run which goes on leaves out what it left out before.
    """
    rounds: dict[CellKey, dict[int, Record]] = {}
    for record in records:
        if record.mode == "solo" and record.rate is None and record.outcome == MEASURED:
            rounds.setdefault(cell_key(record), {})[record.round] = record
    found = {}
    for key, measured in rounds.items():
        first = [measured[number] for number in sorted(measured)[:BOUND_AFTER]]
        if len(first) == BOUND_AFTER and all(map(is_bound, first)):
            found[key] = next(cause.detail for cause in first[-1].causes if cause.cause == BOUND)
    return found


def with_reasons(records: Iterable[Record]) -> list[Record]:
    """The records, where those that were not measured for their tool's sake say so."""
    every = list(records)
    bound = bound_cells(every)

    def told(record: Record) -> Record:
        detail = bound.get(cell_key(record)) if record.mode == "solo" and record.outcome == NOT_RUN else None
        return record if detail is None else replace(record, causes=(Cause(BOUND, f"{detail}; not measured on"),))

    return [told(record) for record in every]
