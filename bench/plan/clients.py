"""Several load generators on one cell (`--loadgens N`): which plans they cannot measure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bench.core.errors import UserError
from bench.plan.cells import NullCell, Plan, PlannedCell
from bench.plan.levels import Level

MOST = 32
"""Load generators on one cell."""
OPTION = "--loadgens"


def with_clients(plan: Plan, clients: int, *, other_options: Iterable[str] = ()) -> Plan:
    """The plan with so many load generators on each cell; UserError where it cannot be measured so.

    `other_options` are those on the command line that go with one load generator only.
    """
    if not 1 <= clients <= MOST:
        raise UserError(f"{OPTION} takes a number from 1 to {MOST}")
    if clients == 1:
        return plan
    if plan.preset.mode != "solo" or plan.tables:
        raise UserError(f"{OPTION} needs --mode solo: turns are given by one load generator that holds all tools")
    if named := next(iter(other_options), None):
        raise UserError(f"{OPTION} does not go with {named}, which takes one load generator: leave one of them out")
    cells: list[PlannedCell | NullCell] = [*plan.cells, *plan.nulls]
    for cell in cells:
        if cause := refused(cell.level, clients):
            raise UserError(f"{OPTION} {clients}: {cause}")
    return replace(plan, clients=clients)


def refused(level: Level, clients: int) -> str | None:
    """Why so many load generators cannot share this level; None if they can."""
    if level.knee_p99_s is not None:
        return f"level {level.name} is searched by one load generator: give a rate (r500)"
    if level.count is not None:
        return f"level {level.name}: load generators that send a number of requests end at different times"
    for value, what in ((level.connections, "connections"), (level.rate, "requests/s")):
        if value is not None and value < clients:
            return f"level {level.name} has fewer {what} than load generators"
    return None
