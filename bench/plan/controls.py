"""The pairs that a plan compares, and its controls: A/A pairs and the null server."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from bench.core.tools import TOOLS
from bench.matrix.model import Matrix
from bench.matrix.preset import Preset
from bench.plan.cells import NullCell, Pair, PlannedCell, Table
from bench.plan.selection import Selection
from bench.plan.vary import varies_capacity

NULL_ROUTES = ("plaintext", "json")
"""The routes that the null server answers."""


def _pairable(cell: PlannedCell) -> bool:
    # Two loads with a fixed number of requests do not end together, and goodput at a fixed rate is not speed.
    return not cell.level.count and not cell.level.open_loop


def compared_pairs(preset: Preset, cells: Iterable[PlannedCell]) -> Iterable[Pair]:
    """The pairs of each scenario, tool and level: every service with the first, or with every other (`pairs`)."""
    if preset.mode in ("solo", "turns"):
        return
    tables: dict[tuple[str, str, str], list[PlannedCell]] = {}
    for cell in filter(_pairable, cells):
        tables.setdefault((cell.scenario, cell.tool, cell.level.name), []).append(cell)
    sides = [
        pair
        for group in tables.values()
        for pair in (itertools.combinations(group, 2) if preset.pairs == "all" else ((group[0], c) for c in group[1:]))
    ]
    for number, (a, b) in enumerate(sides, 1):
        yield Pair(f"p{number:03}", a, b)


def turn_tables(preset: Preset, cells: Iterable[PlannedCell], *, several_cpus: bool = False) -> Iterable[Table]:
    """The tables that are measured in turns: two services or more under the same closed loop.

    `several_cpus`: whether a service has more than one CPU, so that it may use more or less of them.
    """
    if preset.mode != "turns":
        return
    tables: dict[tuple[str, str, str], list[PlannedCell]] = {}
    for cell in filter(_pairable, cells):
        if not cell.alone and not cell.level.rate:
            tables.setdefault((cell.scenario, cell.tool, cell.level.name), []).append(cell)
    for group in tables.values():
        if len(group) > 1:
            yield Table(tuple(group), capacity=varies_capacity((cell.service for cell in group), several_cpus))


def control_pairs(preset: Preset, cells: Sequence[PlannedCell], wanted: Selection) -> Iterable[Pair]:
    """A/A pairs of the preset's `twin`, else of the first service: one a metric (CPU and, with duets, goodput)."""
    if wanted.controls != "all" or preset.mode == "turns":
        return
    able = [cell for cell in cells if _pairable(cell) and wanted.twin in ("", cell.service.name)]
    able.sort(key=lambda cell: cell.service.stack != preset.twin)
    chosen = {cell.route.waits: cell for cell in reversed(able)}
    if preset.mode == "solo":
        chosen = {cell.route.waits: cell for cell in able[:1]}
    for number, waits in enumerate(sorted(chosen), 1):
        yield Pair(f"aa{number}", chosen[waits], chosen[waits])


def null_cells(matrix: Matrix, cells: Sequence[PlannedCell]) -> tuple[NullCell, ...]:
    """One for each closed-loop tool: its most connections, on a planned route that the null server answers if any."""
    found: dict[str, NullCell] = {}
    loops = [c for c in cells if not c.level.open_loop and not c.level.count and not c.level.rate]
    for cell in sorted(loops, key=lambda c: (c.level.connections or 0, c.route.name in NULL_ROUTES), reverse=True):
        route = cell.route if cell.route.name in NULL_ROUTES else matrix.routes[NULL_ROUTES[0]]
        found.setdefault(cell.tool, NullCell(route, route.scenario, route.path, cell.tool, cell.level))
    return tuple(found[tool] for tool in TOOLS if tool in found)
