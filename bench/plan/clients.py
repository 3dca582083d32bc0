"""Several load generators that load each cell together (`--loadgens N`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bench.core.errors import UserError
from bench.plan.cells import Plan
from bench.plan.levels import Level

MOST_LOADGENS = 32
"""The most load generators on one cell."""


def with_clients(plan: Plan, clients: int, *, other_options: Iterable[str] = ()) -> Plan:
    """The plan with `clients` load generators on each cell; UserError if they cannot load it together.

    `other_options`: the options given that allow only one load generator.
    """
    if not 1 <= clients <= MOST_LOADGENS:
        raise UserError(f"--loadgens takes a number from 1 to {MOST_LOADGENS}")
    if clients == 1:
        return plan
    if plan.preset.mode != "solo" or plan.tables:
        raise UserError("--loadgens needs --mode solo: services that take turns share one load generator")
    if named := next(iter(other_options), None):
        raise UserError(f"--loadgens does not go with {named}, which takes one load generator: leave one of them out")
    for cell in (*plan.cells, *plan.nulls):
        if cause := cannot_share(cell.level, clients):
            raise UserError(f"--loadgens {clients}: {cause}")
    return replace(plan, clients=clients)


def cannot_share(level: Level, clients: int) -> str | None:
    """Why `clients` load generators cannot share this level; None if they can."""
    if level.knee_p99_s is not None:
        return f"level {level.name} is searched by one load generator: give a rate (r500)"
    if level.count is not None:
        return f"level {level.name}: load generators that send a number of requests end at different times"
    for value, what in ((level.connections, "connections"), (level.rate, "requests/s")):
        if value is not None and value < clients:
            return f"level {level.name} has fewer {what} than load generators"
    return None
