"""The tables of services measured alone: a function for each form that a preset may name in matrix.toml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from bench.analysis.cells.cell import (
    Cell,
    Context,
    FigureOf,
    base_of,
    difference,
    goodput,
    natural,
    reference_figure,
)
from bench.analysis.cells.cell import reference_ratio as reference_of
from bench.analysis.cells.knees import confirmed
from bench.analysis.cells.latency import Latencies, latency_key
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
    success,
)
from bench.core.formats import NOTHING, milliseconds, number, percent, share, times
from bench.core.groups import grouped
from bench.load.knee_search import APART
from bench.matrix.packages import PACKAGE
from bench.plan.levels import SEARCHED
from bench.records.knee import CONFIRMATIONS
from bench.records.record import Record
from bench.render.table import Column, Table, table_of, written
from bench.tools import TOOLS
from bench.tools.send_lag import BEYOND, ROUNDS, SHARES, least_requests
from bench.words.cells import details_words, difference_words, doubts, fewer_words, rate_words, span_words, state_words

SERVICE = Column[Cell]("service", lambda cell: cell.service, left=True)
LEVEL = Column[Cell]("level", lambda cell: cell.first.level, left=True)


def by_scenario(cells: Iterable[Cell], context: Context, title: str, words: Callable[[Cell], str]) -> list[Table]:
    """A table per tool and level: a row per service, a column per scenario."""
    tables = []
    groups = grouped(cells, lambda cell: (cell.first.tool, cell.first.level))
    for tool, level in sorted(groups, key=lambda key: [*map(natural, key)]):
        by_place = {(cell.first.scenario, cell.service): cell for cell in groups[tool, level]}
        columns = [Column("service", str, left=True)]
        for scenario in sorted({scenario for scenario, _ in by_place}, key=natural):
            own = {service: words(cell) for (where, service), cell in by_place.items() if where == scenario}
            columns.append(Column(scenario, partial(_of, own)))
        shown = {service for _, service in by_place}
        tables.append(table_of(f"{tool} {level}: {title}", columns, [one for one in context.order if one in shown]))
    return tables


def _of(words: Mapping[str, str], name: str) -> str:
    return words.get(name, NOTHING)


class _Levels:
    """The cells of one table, level by level; the cell that the others of a level are compared with comes first."""

    def __init__(self, cells: Iterable[Cell], context: Context) -> None:
        levels = grouped(cells, lambda cell: cell.first.level)
        self.first = {level: base_of(own, context) for level, own in levels.items()}
        self.rows = [cell for own in levels.values() for cell in sorted(own, key=lambda cell: not self.is_first(cell))]

    def is_first(self, cell: Cell) -> bool:
        """Whether the others of its level are compared with this cell."""
        return cell is self.first[cell.first.level]

    def percent(self, figure: FigureOf, cell: Cell) -> str:
        """A figure's difference from the first cell of the level."""
        return NOTHING if self.is_first(cell) else difference_words(self.first[cell.first.level], cell, figure)


def _ratio(base: Cell | None, cell: Cell, figure: FigureOf = goodput) -> float | None:
    found = difference(base, cell, figure)
    return found.ratio if found else None


# Requests/s.


def summary(cells: Sequence[Cell], context: Context) -> list[Table]:
    """Requests/s: a row per service, a column per scenario."""
    return by_scenario(cells, context, "requests/s", rate_words)


def tldr(cells: Sequence[Cell], context: Context) -> list[Table]:
    """A table for each scenario and level of the first closed-loop tool; an open loop's rate is given, not a result.

    From the highest requests/s to the lowest; services without a valid result follow, unranked.
    """
    closed = grouped((cell for cell in cells if cell.first.connections is not None), lambda cell: cell.first.tool)
    if not closed:
        return []
    own = closed[min(closed, key=("wrk", "hey", "ab", *TOOLS).index)]
    groups = grouped(own, lambda cell: (cell.first.scenario, cell.first.level))
    return [_tldr(group, context) for group in groups.values()]


def _tldr(cells: Sequence[Cell], context: Context) -> Table:
    ranked = [cell for cell in cells if cell.goodput is not None]
    unranked = [cell for cell in cells if cell.goodput is None]
    ranked.sort(key=lambda cell: (-(cell.goodput or 0), cell.service))
    base, first = base_of(ranked, context) if ranked else None, cells[0].first

    def of_target(cell: Cell) -> str:
        return share(cell.goodput / first.rate) if first.rate and cell.goodput is not None else NOTHING

    def why_not(cell: Cell) -> str:
        return details_words(cell) if cell.goodput is None else NOTHING

    columns = [
        SERVICE,
        Column("requests/s", lambda cell: NOTHING if cell.goodput is None else rate_words(cell), optional=True),
        Column("of target rate", of_target, optional=True),
        Column(f"vs {base.service}" if base else "ratio", lambda cell: times(_ratio(base, cell)), optional=True),
        Column("reference", lambda cell: times(reference_of(cell, context)), optional=True),
        Column("why not ranked", why_not, left=True, optional=True),
    ]
    notes = []
    if first.rate is not None and any((cell.goodput or 0) >= 0.99 * first.rate for cell in ranked):
        notes.append(
            f"Services at the target of {number(first.rate)}/s were limited by it, so they cannot be ranked among"
            " each other."
        )
    return table_of(f"TL;DR: {first.scenario}, {first.tool} {first.level}", columns, [*ranked, *unranked], notes)


def repeats(cells: Sequence[Cell], context: Context) -> Table:
    """Every round of closed loops, their mean, and the CPU time per request."""
    levels, first = _Levels(cells, context), cells[0].first

    def in_round(turn: int, cell: Cell) -> str:
        own = [record for record in cell.records if record.round == turn]
        return mean(Cell((own[-1],))) if own else NOTHING

    def mean(cell: Cell) -> str:
        return state_words(cell) if cell.goodput is None else number(cell.goodput)

    def reference(cell: Cell) -> str:
        return written(None if levels.is_first(cell) else reference_of(cell, context), percent)

    columns = [
        LEVEL,
        SERVICE,
        *(
            Column(f"round {turn}", partial(in_round, turn))
            for turn in sorted({record.round for cell in cells for record in cell.records})
        ),
        Column("mean", lambda cell: mean(cell) + fewer_words(cell)),
        Column("lowest to highest", lambda cell: span_words(cell.valid, goodput, number)),
        Column("mean vs first", partial(levels.percent, goodput)),
        Column("mean, reference", reference, optional=True),
        Column("CPU/request", lambda cell: milliseconds(cell.mean_of(_cpu)), optional=True),
        Column("CPU vs first", partial(levels.percent, _cpu), optional=True),
    ]
    note = "CPU/request is the CPU time of the service, and of its database if used, per successful response."
    return table_of(f"{first.scenario}, {first.tool}: requests/s by round", columns, levels.rows, [note])


def _cpu(record: Record) -> float | None:
    return record.cpu_per_success_s


# Requests/s with a column per package version, Python or service.


def levels(cells: Sequence[Cell], context: Context) -> list[Table]:
    """A set of tables per varied axis (package version, Python); else one table of services per tool."""
    tables: list[Table] = []
    if len({cell.first.package for cell in cells}) > 1:
        tables += _along(cells, context, "package", lambda record: record.package or "as locked", _python)
    if len({cell.first.python for cell in cells}) > 1:
        tables += _along(cells, context, "python", _python, _package)
    if tables:
        return tables
    return [
        _side_by_side(f"All services, {tool}", group, context, "stack", lambda record: record.service)
        for tool, group in grouped(cells, lambda cell: cell.first.tool).items()
    ]


def _python(record: Record) -> str:
    return f"Python {record.python}"


def _package(record: Record) -> str:
    found = PACKAGE.match(record.package or "")
    return f"{found[1]} {found[2]}" if found else "packages as locked"


def _along(
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


def _side_by_side(
    title: str, cells: Sequence[Cell], context: Context, axis: str, column: Callable[[Record], str]
) -> Table:
    names = {column(cell.first): context.order.index(cell.service) for cell in cells}
    first, *others = sorted(names, key=lambda name: (names[name] if axis == "stack" else 0, natural(name)))
    grid: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        grid.setdefault((cell.first.scenario, cell.first.level), {})[column(cell.first)] = cell

    def rate(name: str, load: tuple[str, str]) -> str:
        return written(grid[load].get(name), rate_words)

    def against_first(name: str, load: tuple[str, str]) -> str:
        return difference_words(grid[load].get(first), grid[load].get(name))

    columns: list[Column[tuple[str, str]]] = [
        Column("scenario", lambda load: load[0], left=True),
        Column("level", lambda load: load[1], left=True),
        Column(first, partial(rate, first)),
    ]
    for name in others:
        columns += [Column(name, partial(rate, name)), Column(f"{name} vs {first}", partial(against_first, name))]
    columns.append(Column("reference", lambda load: _reference(context, axis, *load), left=True, optional=True))
    return table_of(f"{title}: requests/s", columns, grid)


def _reference(context: Context, axis: str, scenario: str, level: str) -> str:
    """The ratios of the reference comparison along this axis; it has its own names for versions and Pythons."""
    if context.reference is None:
        return NOTHING
    words = []
    for group in context.reference.along(axis, scenario, level):
        ratios = [(figure.name, group.ratio(figure, "goodput")) for figure in group.figures[1:]]
        listed = ", ".join(f"{name} {percent(ratio)}" for name, ratio in ratios if ratio is not None)
        words.append(f"{group.of}: {listed} vs {group.figures[0].name}")
    return "; ".join(words) or NOTHING


# Latency, and open loops.

CLOSED_LOOP = (
    "Closed loop: each connection waits for the response before it sends the next request, so a stall of the server"
    " also delays requests and hardly shows in these percentiles."
)
OPEN_LOOP = (
    "Open loop: requests are sent at the target rate regardless of the responses. The distributions of all valid"
    " rounds are merged (percentiles are never averaged), and a timeout counts with its full length. A percentile"
    f" needs {BEYOND} requests above it, in {ROUNDS} rounds or more together, else in each: p99 needs"
    f" {least_requests(0.99):,} requests, p99.9 {least_requests(0.999):,}."
)


def wrk_latency(cells: Sequence[Cell], context: Context) -> Table:
    """Requests/s and the percentiles that wrk prints."""
    levels = _Levels(cells, context)
    compared: dict[str, FigureOf] = {
        "goodput": goodput,
        "p50_ms": partial(_latency_s, "p50"),
        "p99_ms": partial(_latency_s, "p99"),
    }

    def percentile(name: str, cell: Cell) -> str:
        return span_words(cell.valid, partial(_latency_s, name), milliseconds)

    def against_first(cell: Cell) -> str:
        first = levels.first[cell.first.level]
        return ratios(cell, [_ratio(first, cell, figure) for figure in compared.values()])

    def reference(cell: Cell) -> str:
        return ratios(cell, [reference_of(cell, context, metric) for metric in compared])

    def ratios(cell: Cell, found: Sequence[float | None]) -> str:
        return NOTHING if levels.is_first(cell) or not any(found) else ", ".join(map(times, found))

    columns = [
        LEVEL,
        SERVICE,
        Column("requests/s", rate_words),
        *(Column(f"{name}, closed loop", partial(percentile, name)) for name in ("p50", "p75", "p90", "p99")),
        Column("requests/s, p50, p99 vs first", against_first, optional=True),
        Column("reference", reference, optional=True),
    ]
    return table_of(f"{cells[0].first.scenario}, wrk, closed loop", columns, levels.rows, [CLOSED_LOOP])


def _latency_s(name: str, record: Record) -> float | None:
    return record.latency_s[name]


def vegeta(cells: Sequence[Cell], context: Context) -> Table:
    """Rates of open loops; invalid figures are shown with their cause, and not compared."""
    base = base_of(cells, context)

    def span(figure: FigureOf, write: Callable[[float], str], cell: Cell) -> str:
        return span_words(cell.valid or cell.records, figure, write)

    def reference_success(cell: Cell) -> str:
        found = reference_figure(cell, context)
        return written(found[1].success if found else None, share)

    columns = [
        SERVICE,
        Column("target/s", lambda cell: written(cell.first.rate, number)),
        Column("sent/s", partial(span, lambda record: record.sent_rate, number)),
        Column("goodput/s", partial(span, goodput, number)),
        Column("success", partial(span, success, share)),
        Column(f"goodput vs {base.service} {base.first.level}", lambda cell: times(_ratio(base, cell)), optional=True),
        Column("goodput, reference", lambda cell: times(reference_of(cell, context)), optional=True),
        Column("success, reference", reference_success, optional=True),
        Column("why not valid", lambda cell: NOTHING if cell.valid else details_words(cell), left=True, optional=True),
    ]
    rows = sorted(cells, key=lambda cell: cell is not base)
    return table_of(f"{base.first.scenario}, vegeta, open loop", columns, rows)


_Merged = tuple[Cell, float | None, Latencies | None]
"""A cell, one of its rates, and the merged rounds at that rate; None if no round is valid."""


def latency(cells: Sequence[Cell], context: Context) -> Table:
    """Latency of open loops; cells at a knee are in the knee table instead."""

    def merged(cell: Cell) -> list[_Merged]:
        """One row per rate: rounds that search for their knee may have different rates."""
        keys = dict.fromkeys(map(latency_key, cell.valid))
        rows = [(cell, key[3], context.latencies[key]) for key in keys if key in context.latencies]
        return [*rows] or [(cell, cell.first.rate, None)]

    def percentile(name: str, row: _Merged) -> str:
        found = row[2]
        if found is None:
            return NOTHING
        value = found.max_s if name == "max" else found.percentiles_s[name]
        return found.missing.get(name, "") if value is None else milliseconds(value)

    def requests(row: _Merged) -> str:
        cell, _, found = row
        return f"{found.requests:,} in {found.rounds} of {len(cell.records)}" if found else NOTHING

    def client(row: _Merged) -> str:
        known = [one for record in row[0].valid if (one := record.client_core_ratio) is not None]
        return f"{sum(known) / len(known):.3f}" if known else NOTHING

    def why_not(row: _Merged) -> str:
        return NOTHING if row[2] else details_words(row[0]) or NOTHING

    columns: list[Column[_Merged]] = [
        Column("service", lambda row: row[0].service, left=True),
        Column("level", lambda row: row[0].first.level, left=True),
        Column("target/s", lambda row: written(row[1], number)),
        *(Column(name, partial(percentile, name)) for name in (*SHARES, "max")),
        Column("requests", requests),
        Column("client's cores for 1,000/s", client, optional=True),
        Column("why not valid", why_not, left=True, optional=True),
    ]
    rows = [row for cell in cells for row in merged(cell)]
    return table_of(f"{cells[0].first.scenario}, vegeta, open loop: latency", columns, rows, [OPEN_LOOP])


KNEE = (
    "The knee is the highest rate at which p99 stays within the limit, with at most 0.1 % errors and at least 99 % of"
    f" the rate sent; {100 * (APART - 1):.0f} % more failed in two trials. It is confirmed if it holds in all later"
    f" rounds, at least {CONFIRMATIONS}. Every trial is in the raw files. Peak goodput is the highest mean of the"
    " run's closed loops."
)


def knee(cells: Sequence[Cell], context: Context) -> list[Table]:
    """A table per scenario and limit: the highest rate that holds, next to the peak goodput in closed loops."""
    peaks: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        if cell.first.connections is not None and cell.goodput is not None:
            place = (cell.service, cell.first.scenario)
            if place not in peaks or cell.goodput > (peaks[place].goodput or 0):
                peaks[place] = cell
    searched = (cell for cell in cells if cell.first.level.startswith(SEARCHED))
    groups = grouped(searched, lambda cell: (cell.first.scenario, cell.first.level))
    return [_knee(group, peaks, context) for group in groups.values()]


def _knee(cells: Sequence[Cell], peaks: Mapping[tuple[str, str], Cell], context: Context) -> Table:
    scenario = cells[0].first.scenario
    limit = cells[0].first.level.removeprefix(f"{SEARCHED}p99-").removesuffix("ms")

    def rate(cell: Cell) -> float | None:
        found, _, _ = confirmed(cell.records)
        return None if found is None else found.knee_rate

    def later(cell: Cell) -> str:
        _, held, every = confirmed(cell.records)
        return NOTHING if rate(cell) is None else f"held in {held} of {every}"

    def p99(cell: Cell) -> str:
        found, _, _ = confirmed(cell.records)
        latencies = context.latencies.get(latency_key(found)) if found and found.knee_rate is not None else None
        return milliseconds(None if latencies is None else latencies.percentiles_s["p99"])

    def peak(cell: Cell) -> str:
        best = peaks.get((cell.service, scenario))
        return f"{number(best.goodput or 0)} ({best.first.tool} {best.first.level})" if best else NOTHING

    def of_peak(cell: Cell) -> str:
        best, found = peaks.get((cell.service, scenario)), rate(cell)
        return share(found / best.goodput) if best and best.goodput and found is not None else NOTHING

    def answer(cell: Cell) -> str:
        doubt = doubts(cell.records)
        if rate(cell) is None:
            return doubt
        return f"no: {doubt}" if doubt else "yes"

    columns = [
        SERVICE,
        Column("knee/s", lambda cell: written(rate(cell), number)),
        Column("later rounds", later),
        Column("p99 at the knee", p99),
        Column("peak goodput/s", peak),
        Column("knee / peak", of_peak),
        Column("confirmed", answer, left=True),
    ]
    return table_of(f"{scenario}: knee (p99 ≤ {limit} ms)", columns, cells, [KNEE])


# The same cell by several tools. The interval is the t interval of the mean over the rounds; for rates and times it is
# computed on logarithms, so that the mean is geometric. Two tools disagree on a figure if their intervals do not
# overlap and their means differ by at least LEAST: both are shown, so that a reader can check it.

TOOLS_APART = (
    f"Each (geometric) mean has its {CONFIDENCE:.0%} interval over the rounds. Tools disagree if their intervals do"
    f" not overlap and their means differ by {LEAST:.0%} or more. ab prints latencies in whole milliseconds and hey in"
    " tenths; their intervals include that rounding."
)
GIVEN_RATE = (
    "vegeta sends at its target rate regardless of the responses, so its goodput is that rate and not a peak. Compare"
    " its success share with hey's, the only closed loop that accepts a target rate."
)


def four_tools(cells: Sequence[Cell], context: Context) -> list[Table]:
    """A table per cell and kind of load, and one of all disagreements beyond the tools' noise."""
    groups = grouped(cells, lambda cell: (cell.service, cell.first.scenario, _load(cell.first)))
    found = [(group[0], one) for group in groups.values() for one in disagreements(group)]
    columns: list[Column[tuple[Cell, Disagreement]]] = [
        Column("service", lambda row: row[0].service, left=True),
        Column("scenario", lambda row: row[0].first.scenario, left=True),
        Column("load", lambda row: _load(row[0].first), left=True),
        Column("figure", lambda row: row[1].figure, left=True),
        Column("tools", lambda row: f"{row[1].other} {percent(row[1].ratio)} vs {row[1].one}", left=True),
        Column("known cause", lambda row: "; ".join(known.words for known in row[1].causes) or "none", left=True),
    ]
    notes = [TOOLS_APART] if found else [TOOLS_APART, "There are no disagreements."]
    return [*map(_by_tool, groups.values()), table_of("Disagreements between tools", columns, found, notes)]


def _load(record: Record) -> str:
    """The load, in the same words for every tool."""
    if record.rate is not None:
        return f"target {number(record.rate)}/s"
    count = f", {number(record.count)} requests" if record.count else ""
    return f"{record.connections} connections{count}"


def _by_tool(cells: Sequence[Cell]) -> Table:
    def mean(compared: Compared, cell: Cell) -> str:
        found, write = interval_of(cell, compared), compared.write
        if found is None or found.low is None or found.high is None:
            return NOTHING if found is None else write(found.mean)
        return f"{write(found.mean)} ({write(found.low)} to {write(found.high)})"

    first = cells[0].first
    columns: list[Column[Cell]] = [
        Column("tool", lambda cell: cell.first.tool, left=True),
        Column("valid rounds", lambda cell: f"{len(cell.valid)} of {len(cell.records)}"),
        *(
            Column(compared.name, partial(mean, compared), optional=compared in (SERVER, CLIENT))
            for compared in (*figures_of(cells), CLIENT)
        ),
        Column("why not valid", lambda cell: details_words(cell) or NOTHING, left=True, optional=True),
    ]
    notes = [] if first.rate is None else [GIVEN_RATE]
    return table_of(f"{first.service} {first.scenario}, {_load(first)}", columns, cells, notes)


Form = Callable[[Sequence[Cell], Context], list[Table]]


def _each(
    table: Callable[[Sequence[Cell], Context], Table], key: Callable[[Record], object], of: Callable[[Record], bool]
) -> Form:
    """A form that makes a table for each key, from the cells for whose records `of` is true."""

    def tables(cells: Sequence[Cell], context: Context) -> list[Table]:
        groups = grouped((cell for cell in cells if of(cell.first)), lambda cell: key(cell.first))
        return [table(group, context) for group in groups.values()]

    return tables


def _scenario(record: Record) -> str:
    return record.scenario


FORMS: Mapping[str, Form] = {
    "summary": summary,
    "tldr": tldr,
    "levels": levels,
    "repeats": _each(repeats, lambda one: (one.scenario, one.tool), lambda one: one.connections is not None),
    "vegeta": _each(vegeta, _scenario, lambda one: one.tool == "vegeta"),
    "wrk-latency": _each(wrk_latency, _scenario, lambda one: one.tool == "wrk"),
    "four-tools": four_tools,
    "latency": _each(latency, _scenario, lambda one: one.tool == "vegeta" and not one.level.startswith(SEARCHED)),
    "knee": knee,
}
"""Forms by the names that `tables` of a preset has for them in matrix.toml."""
