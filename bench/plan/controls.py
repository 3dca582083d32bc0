"""The pairs that a plan compares, and its controls: A/A pairs and the null server."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from bench.core.tools import TOOLS
from bench.matrix.model import Matrix, Preset
from bench.plan.cells import Cell, NullCell, Pair
from bench.plan.selection import Selection

# What the null server offers, and its name.
NULL_ROUTES = ("plaintext", "json")


def _pairable(cell: Cell) -> bool:
    # Two loads by count do not end together, and what one tool does alone at a rate says nothing of speed.
    return not cell.level.count and not cell.level.open_loop


def compared_pairs(preset: Preset, cells: Iterable[Cell]) -> Iterable[Pair]:
    """Each cell with the first of its table (or with all of it), as the preset says."""
    if preset.mode == "solo":
        return
    tables: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in filter(_pairable, cells):
        tables.setdefault((cell.scenario, cell.tool, cell.level.name), []).append(cell)
    both = [
        pair
        for group in tables.values()
        for pair in (itertools.combinations(group, 2) if preset.pairs == "all" else ((group[0], c) for c in group[1:]))
    ]
    for number, (a, b) in enumerate(both, 1):
        yield Pair(f"p{number:03}", a, b)


def control_pairs(preset: Preset, cells: Sequence[Cell], wanted: Selection) -> Iterable[Pair]:
    """The preset's twin, else the first service, beside itself: where CPU is the judge, and (with duets) goodput."""
    if wanted.controls != "all":
        return
    able = [cell for cell in cells if _pairable(cell) and wanted.twin in ("", cell.service.name)]
    able.sort(key=lambda cell: cell.service.stack != preset.twin)
    chosen = {cell.route.waits: cell for cell in reversed(able)}
    if preset.mode == "solo":
        chosen = {cell.route.waits: cell for cell in able[:1]}
    for number, waits in enumerate(sorted(chosen), 1):
        yield Pair(f"aa{number}", chosen[waits], chosen[waits])


def null_cells(matrix: Matrix, cells: Sequence[Cell]) -> tuple[NullCell, ...]:
    """For every closed-loop tool its most connections, on a route of the plan that the null server has, else any."""
    found: dict[str, NullCell] = {}
    loops = [c for c in cells if not c.level.open_loop and not c.level.count and not c.level.rate]
    for cell in sorted(loops, key=lambda c: (c.level.connections or 0, c.route.name in NULL_ROUTES), reverse=True):
        route = cell.route if cell.route.name in NULL_ROUTES else matrix.routes[NULL_ROUTES[0]]
        found.setdefault(cell.tool, NullCell(route, route.scenario, route.path, cell.tool, cell.level))
    return tuple(found[tool] for tool in TOOLS if tool in found)
