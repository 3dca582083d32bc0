"""Requests/s by scenario and level, with a column per package version, Python or service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bench.analysis.cells.cell import Cell, Context, cells_of, natural
from bench.core.formats import NOTHING, percent
from bench.core.groups import grouped
from bench.matrix.packages import PACKAGE
from bench.records.record import Record
from bench.render.table import Table, without_empty
from bench.words.cells import difference_words, rate_words

REFERENCE = "reference"


def levels(records: Sequence[Record], context: Context) -> list[Table]:
    """A set of tables per varied axis (package version, Python); else one table of services per tool."""
    cells = cells_of(records, context)
    tables: list[Table] = []
    if len({cell.first.package for cell in cells}) > 1:
        tables += _tables(cells, context, "package", _version, lambda r: f"Python {r.python}")
    if len({cell.first.python for cell in cells}) > 1:
        tables += _tables(cells, context, "python", lambda r: f"Python {r.python}", _package_words)
    return tables or _by_service(cells, context)


def _tables(
    cells: Iterable[Cell],
    context: Context,
    axis: str,
    column: Callable[[Record], str],
    fixed: Callable[[Record], str],
) -> list[Table]:
    """One table per stack, base, tool and value of the other axis."""
    groups = grouped(cells, lambda cell: (cell.stack, cell.first.base, cell.first.tool, fixed(cell.first)))
    return [
        _side_by_side(f"{stack} on {base}, {of}, {tool}", group, context, axis, column)
        for (stack, base, tool, of), group in sorted(groups.items(), key=lambda item: [*map(natural, item[0])])
    ]


def _by_service(cells: Iterable[Cell], context: Context) -> list[Table]:
    groups = grouped(cells, lambda cell: cell.first.tool)
    return [
        _side_by_side(f"All services, {tool}", group, context, "stack", lambda record: record.service)
        for tool, group in groups.items()
    ]


def _side_by_side(
    title: str, cells: Sequence[Cell], context: Context, axis: str, column: Callable[[Record], str]
) -> Table:
    place = {name: index for index, name in enumerate(context.order)}
    names = {column(cell.first): place.get(cell.service, len(place)) for cell in cells}
    order = sorted(names, key=lambda name: (names[name] if axis == "stack" else 0, natural(name)))
    grid: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        grid.setdefault((cell.first.scenario, cell.first.level), {})[column(cell.first)] = cell
    columns = ["scenario", "level", order[0]]
    for name in order[1:]:
        columns += [name, f"{name} vs {order[0]}"]
    columns.append(REFERENCE)
    rows = []
    for (scenario, level), row in grid.items():
        base = row.get(order[0])
        words = [scenario, level, _words(base)]
        for name in order[1:]:
            words += [_words(row.get(name)), difference_words(base, row.get(name))]
        rows.append([*words, _reference(context, axis, scenario, level)])
    kept, kept_rows = without_empty(columns, rows, [REFERENCE])
    return Table(f"{title}: requests/s", kept, kept_rows, labels=2, prose=(REFERENCE,))


def _words(cell: Cell | None) -> str:
    return NOTHING if cell is None else rate_words(cell)


def _reference(context: Context, axis: str, scenario: str, level: str) -> str:
    """The ratios of the reference comparison along this axis; versions and Pythons have other names there."""
    if context.reference is None:
        return NOTHING
    words = []
    for group in context.reference.along(axis, scenario, level):
        ratios = [(figure.name, group.ratio(figure, "goodput")) for figure in group.figures[1:]]
        listed = ", ".join(f"{name} {percent(ratio)}" for name, ratio in ratios if ratio is not None)
        words.append(f"{group.of}: {listed} vs {group.figures[0].name}")
    return "; ".join(words) or NOTHING


def _version(record: Record) -> str:
    return record.package or "as locked"


def _package_words(record: Record) -> str:
    found = PACKAGE.match(record.package or "")
    return f"{found[1]} {found[2]}" if found else "packages as locked"
