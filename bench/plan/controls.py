"""The tables that a plan compares, and its control: the null server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.matrix.model import Matrix, Preset
from bench.plan.cells import NullCell, PlannedCell, TurnsTable
from bench.plan.vary import varies_capacity
from bench.tools import TOOLS

NULL_ROUTES = ("plaintext", "json")
"""The routes that the null server answers."""


def _shows_speed(cell: PlannedCell) -> bool:
    # Two loads with a fixed number of requests do not end together, and goodput at a fixed rate is not speed.
    return not (cell.level.count or cell.level.open_loop or cell.level.rate)


def turn_tables(preset: Preset, cells: Iterable[PlannedCell], *, several_cpus: bool = False) -> Iterable[TurnsTable]:
    """The tables that are measured in turns: two services or more under the same closed loop.

    `several_cpus`: whether a service has more than one CPU, so that it may use more or less of them.
    """
    if preset.mode != "turns":
        return
    tables: dict[tuple[str, str, str], list[PlannedCell]] = {}
    for cell in cells:
        if _shows_speed(cell) and not cell.alone:
            tables.setdefault((cell.scenario, cell.tool, cell.level.name), []).append(cell)
    for group in tables.values():
        if len(group) > 1:
            yield TurnsTable(tuple(group), capacity=varies_capacity((cell.service for cell in group), several_cpus))


def null_cells(matrix: Matrix, cells: Sequence[PlannedCell]) -> tuple[NullCell, ...]:
    """One for each closed-loop tool: its most connections, on a planned route that the null server answers if any."""
    found: dict[str, NullCell] = {}
    for cell in sorted(
        filter(_shows_speed, cells), key=lambda c: (c.level.connections or 0, c.route.name in NULL_ROUTES), reverse=True
    ):
        route = cell.route if cell.route.name in NULL_ROUTES else matrix.route_of(NULL_ROUTES[0])[0]
        found.setdefault(cell.tool, NullCell(route, route.scenario, route.path, cell.tool, cell.level))
    return tuple(found[tool] for tool in TOOLS if tool in found)
