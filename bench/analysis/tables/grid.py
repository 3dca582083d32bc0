"""Services that differ in two knobs: which value of one is enough at each value of the other, and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bench.analysis.services import Places, differing, varied_knobs
from bench.analysis.tables.ranking import Contrast, Ranking
from bench.core.groups import grouped


@dataclass(frozen=True, slots=True)
class Line:
    """Services by rising values of one knob; `value` is that of the other knob, None if they do not have it."""

    server: str
    value: str | None
    services: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Grid:
    """A line for each value of `down`; the values of `across` are its columns."""

    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[Line, ...]

    @property
    def services(self) -> list[str]:
        """All services in the grid."""
        return [name for row in self.rows for name in row.services.values()]

    def lines(self, knob: str) -> list[Line]:
        """The lines along this knob."""
        if knob == self.across:
            return [*self.rows]
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for row in self.rows:
            for column, service in row.services.items():
                if row.value is not None:
                    lines.setdefault((row.server, column), {})[row.value] = service
        return [Line(server, column, services) for (server, column), services in lines.items()]


@dataclass(frozen=True, slots=True)
class Enough:
    """On a line, more than `value` is not measurably faster, or faster by `at_most` (None: unknown).

    `largest`, `smallest`: whether it is that value of the line. `gain`: its lead over the smallest value; None if not
    shown.
    """

    line: Line
    value: str
    largest: bool
    smallest: bool
    at_most: float | None
    gain: Contrast | None


def grid_of(services: Sequence[str], places: Places) -> Grid | None:
    """The grid of a table's services; None unless a server has several values of two knobs, all numbers.

    A server that only has one of the two knobs is a line of its own.
    """
    known = [name for name in services if name in places]
    if not differing(known, places) <= {"settings", "server"}:
        return None
    by_server = {
        server: {name: places[name].settings for name in own}
        for server, own in grouped(known, lambda name: places[name].server).items()
    }
    varied = {server: varied_knobs([*own.values()]) for server, own in by_server.items()}
    pairs = {knobs for knobs in varied.values() if len(knobs) == 2}
    if len(pairs) != 1:
        return None
    both = pairs.pop()
    single = {knobs[0] for knobs in varied.values() if len(knobs) == 1} & set(both)
    across = single.pop() if len(single) == 1 else both[0]
    down = both[1] if across == both[0] else both[0]
    cells: dict[tuple[str, str | None], dict[str, str]] = {}
    for server, own in by_server.items():
        if varied[server] == both or varied[server] == (across,):
            for name, settings in own.items():
                if across in settings:
                    cells.setdefault((server, settings.get(down)), {})[settings[across]] = name
    try:
        columns = sorted({value for line in cells.values() for value in line}, key=Decimal)
        order = sorted(cells, key=lambda key: (key[1] is not None, key[0], Decimal(key[1] or 0)))
    except InvalidOperation:
        return None
    rows = (Line(*key, {value: cells[key][value] for value in columns if value in cells[key]}) for key in order)
    return Grid(across, down, tuple(columns), tuple(rows))


def enough_of(ranking: Ranking, lines: Iterable[Line]) -> list[Enough]:
    """For each line with two or more ranked services, the smallest value that no larger one is shown to beat."""
    ranked = {row.service for row in ranking.rows if row.rank is not None}
    known = [(line, {value: name for value, name in line.services.items() if name in ranked}) for line in lines]
    return [_enough(ranking, line, services) for line, services in known if len(services) > 1]


def _enough(ranking: Ranking, line: Line, services: Mapping[str, str]) -> Enough:
    values, names = [*services], [*services.values()]
    place = next(at for at, name in enumerate(names) if not any(ranking.lead(more, name) for more in names[at + 1 :]))
    gaps = [ranking.ahead(more, names[place]) for more in names[place + 1 :]]
    ends = [gap.interval[1] for gap in gaps if gap and gap.interval]
    return Enough(
        line=line,
        value=values[place],
        largest=place == len(values) - 1,
        smallest=place == 0,
        at_most=max(0.0, *ends) if ends and len(ends) == len(gaps) else None,
        gain=ranking.lead(names[place], names[0]),
    )


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """Memory under load, in bytes, of all services with one value of a knob."""

    value: str
    least: int
    most: int


def memory_along(ranking: Ranking, lines: Sequence[Line]) -> tuple[MemoryRange, MemoryRange, float, float] | None:
    """Memory with a knob's smallest and largest value, then the smallest and the largest ratio within a line."""
    sizes = {row.service: row.memory_loaded_bytes for row in ranking.rows if row.memory_loaded_bytes}
    known = [[(value, sizes[name]) for value, name in line.services.items() if name in sizes] for line in lines]
    ends = [(of_line[0], of_line[-1]) for of_line in known if len(of_line) > 1]
    if len({(first, last) for (first, _), (last, _) in ends}) != 1:
        return None
    (first, _), (last, _) = ends[0]
    low, high = [size for (_, size), _ in ends], [size for _, (_, size) in ends]
    ratios = [after / before for before, after in zip(low, high, strict=True)]
    return MemoryRange(first, min(low), max(low)), MemoryRange(last, min(high), max(high)), min(ratios), max(ratios)
