"""The tables of services measured in turns: rankings, releases, published ratios, own apps, why services differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.why import CostDifference, Why
from bench.analysis.published import PublishedRatio, ReferenceComparison, published_beside
from bench.analysis.tables.grid import Grid
from bench.analysis.tables.ladder import Ladder
from bench.analysis.tables.ranking import Contrast, Metric, RankedRow, Ranking
from bench.core.formats import NOTHING, megabytes, number, plural, size
from bench.render.columns import CPU, MEMORY, REQUESTS, TIER, latency_columns, ranking_columns
from bench.render.ladder_picture import LadderPicture, ladder_picture
from bench.render.table import Column, Table, table_of, written
from bench.run.facts import RunFacts
from bench.run.reader import ServiceFacts
from bench.stats.table_verdicts import NO_WINNER
from bench.words.changes import change_of, column_name
from bench.words.conclusions import RankingText, systematic_words
from bench.words.grid import line_words
from bench.words.latency import notes as latency_notes
from bench.words.names import knob_words, loaded_words, scenario_words, setting_words
from bench.words.own_app import request_words, server_words
from bench.words.remarks import SIGNS, waits_words
from bench.words.units import in_units

# Rankings: from the best service to the worst, with tiers.


def ranking_table(text: RankingText) -> Table:
    """A row for each service."""
    ranking = text.ranking
    columns = [one.in_report() for one in ranking_columns(text, text.name) if one.report]
    title = f"{_load(ranking)}: {in_units(ranking.metric, ranking.unit)}, {plural(ranking.rounds, 'round')}"
    latency = [words for one in ranking.latencies for words in latency_notes(one, text.labels)]
    notes = (*_undecided(ranking), *systematic_words(ranking), *text.beside, *latency)
    return table_of(title, columns, ranking.rows, notes)


def _load(ranking: Ranking) -> str:
    usual = f"{ranking.tool} {ranking.level}"
    load = loaded_words(ranking, usual)
    return f"{scenario_words(ranking.scenario, ranking.wait)}{'' if load == usual else ','} {load}"


def _undecided(ranking: Ranking) -> Iterator[str]:
    """How many differences have no verdict, and how large they would have to be."""
    unclear = [one for one in ranking.contrasts if one.verdict == NO_WINNER]
    if unclear and ranking.look is not None:
        have = "has" if len(unclear) == 1 else "have"
        words = f"{len(unclear):,} of {len(ranking.contrasts):,} differences {have} no verdict"
        seen = [one.smallest_visible for one in unclear if one.smallest_visible is not None]
        if len(seen) == len(unclear):
            words += f"; differences above {size(max(seen))} would probably have been detected"
        yield f"{words}."


# Two knobs: a grid of their values for each kind of figure.


@dataclass(frozen=True, slots=True)
class GridCell:
    """A figure of a service as text. `part`: its share of the largest one; `mark`: best, best?, least, or empty."""

    service: str
    text: str
    part: float
    mark: str


@dataclass(frozen=True, slots=True)
class GridFigures:
    """One kind of figure over the grid: the name of each row, and its cells by column (None: not planned)."""

    name: str
    rows: tuple[tuple[str, tuple[GridCell | None, ...]], ...]


MAYBE = "best?"
"""Marks a figure that may be the best, too."""


def grid_figures(text: RankingText, grid: Grid) -> list[GridFigures]:
    """Requests/s, CPU and memory of its services."""
    ranking = text.ranking
    rows = {row.service: row for row in ranking.rows}
    ranked_rows = [rows[name] for name in grid.services]
    kinds: list[tuple[str, Callable[[RankedRow], float | None], Callable[[float], str]]] = [
        ("requests/s", lambda row: row.goodput.mean if row.goodput else None, number),
        ("CPU per request", lambda row: row.cpu_us.mean if row.cpu_us else None, lambda value: f"{number(value)} µs"),
        ("memory under load", lambda row: row.memory_loaded_bytes, megabytes),
    ]

    def cells(name: str, of: Callable[[RankedRow], float | None], write: Callable[[float], str]) -> GridFigures | None:
        known = {row.service: value for row in ranked_rows if (value := of(row)) is not None}
        if not known:
            return None
        marks = _marks(ranking, name, known)

        def cell(service: str | None) -> GridCell | None:
            if service is None:
                return None
            value = known.get(service)
            words = NOTHING if value is None else write(value)
            return GridCell(service, words, (value or 0) / (max(known.values()) or 1), marks.get(service, ""))

        lines = ((line_words(grid, row), tuple(cell(row.services.get(at)) for at in grid.columns)) for row in grid.rows)
        return GridFigures(in_units(name, ranking.unit), tuple(lines))

    return [found for kind in kinds if (found := cells(*kind))]


def _marks(ranking: Ranking, name: str, known: Mapping[str, float]) -> dict[str, str]:
    """`best` and `best?`, by verdicts or intervals; memory has no interval, so its smallest figure is `least`."""
    judged = "CPU per request" if ranking.metric is Metric.CPU else "requests/s"
    if name == "memory under load":
        return {min(known, key=lambda service: known[service]): "least"}
    if name == judged:
        ranked = [row.service for row in ranking.rows if row.rank is not None and row.service in known]
        front = ranking.front(ranked) if ranking.look is not None and len(ranked) > 1 else []
    else:
        cheapest = ranking.cheapest.services if ranking.cheapest and name != "requests/s" else ()
        front = sorted(known.keys() & set(cheapest), key=lambda service: known[service])
    return {service: MAYBE if place else "best" for place, service in enumerate(front)}


def grid_title(text: RankingText, grid: Grid) -> str:
    """`json wrk c16: by workers and threads`."""
    return f"{_load(text.ranking)}: by {knob_words(grid.across)} and {knob_words(grid.down)}"


def grid_columns(grid: Grid) -> list[str]:
    """`1 worker`, `2 workers`."""
    return [setting_words({grid.across: value}) for value in grid.columns]


def grid_table(text: RankingText, grid: Grid) -> Table:
    """All kinds of figures in one table."""
    columns: list[Column[tuple[str, str, tuple[GridCell | None, ...]]]] = [
        Column("", lambda row: row[0], left=True),
        Column(knob_words(grid.down), lambda row: row[1], left=True),
        *(Column(name, partial(_grid_text, at)) for at, name in enumerate(grid_columns(grid))),
    ]
    rows = [
        ("" if place else found.name, name, cells)
        for found in grid_figures(text, grid)
        for place, (name, cells) in enumerate(found.rows)
    ]
    return table_of(grid_title(text, grid), columns, rows)


def _grid_text(at: int, row: tuple[str, str, tuple[GridCell | None, ...]]) -> str:
    cell = row[2][at]
    return NOTHING if cell is None else f"{cell.text} {cell.mark}".rstrip()


# Releases of one package, each beside the one before it: a table, and a line with levels between the real steps.


@dataclass(frozen=True, slots=True)
class _Release:
    """A release; `step` is its difference from the last release above it that has a figure."""

    version: str
    row: RankedRow
    step: Contrast | None


def ladder_tables(rankings: Iterable[RankingText]) -> list[tuple[Table, LadderPicture]]:
    """A table and a picture for each ladder of each ranking."""
    return [_ladder(text, ladder) for text in rankings for ladder in text.ladders]


def _ladder(text: RankingText, ladder: Ladder) -> tuple[Table, LadderPicture]:
    ranking = text.ranking
    rows = {row.service: row for row in ranking.rows}
    releases: list[_Release] = []
    before: str | None = None
    for service, version in ladder.versions.items():
        ranked = rows[service].rank is not None
        step = ranking.ahead(service, before) if ranked and before is not None else None
        releases.append(_Release(version, rows[service], step))
        before = service if ranked else before

    def changed(step: Contrast) -> str:
        return change_of(ranking.metric, step).column()

    title = f"{_load(ranking)}: {ladder.stack} by release of {ladder.package}"
    columns: list[Column[_Release]] = [
        Column("release", lambda one: one.version, left=True),
        Column(REQUESTS.per(ranking.unit).name, lambda one: REQUESTS.whole(one.row)),
        Column(CPU.per(ranking.unit).name, lambda one: CPU.whole(one.row)),
        Column(
            in_units(column_name(ranking.metric, "the one above"), ranking.unit),
            lambda one: written(one.step, changed),
        ),
        Column("verdict", lambda one: one.step.verdict if one.step else NOTHING, left=True),
        Column("remarks", lambda one: text.notes[one.row.service] or NOTHING, left=True, optional=True),
    ]
    return table_of(title, columns, releases), _ladder_picture(title, ranking, releases)


def _ladder_picture(title: str, ranking: Ranking, releases: Iterable[_Release]) -> LadderPicture:
    """The metric over the releases that have a figure."""
    cpu = ranking.metric is Metric.CPU
    known = [
        (one, found)
        for one in releases
        if one.row.rank is not None and (found := one.row.cpu_us if cpu else one.row.goodput) is not None
    ]
    changes = [
        place
        for place, ((before, _), (after, _)) in enumerate(pairwise(known), 1)
        if ranking.apart(before.row.service, after.row.service)
    ]
    numbers = ", ".join(f"{place} is {one.version}" for place, (one, _) in enumerate(known, 1))
    what = in_units("CPU µs per request" if cpu else "requests/s", ranking.unit)
    words = f"{what}; {numbers}. Thick line: average between confirmed changes."
    return ladder_picture(title, words, [figure for _, figure in known], changes)


# The ratios of a published comparison beside those of the run's tables.


def published_table(
    rankings: Iterable[RankingText], reference: ReferenceComparison | None, stacks: Mapping[str, str]
) -> list[Table]:
    """One table of all rankings that repeat a published question; empty if none does."""
    rows = []
    for text in rankings:
        if reference and (found := published_beside(text.ranking, reference, stacks)) is not None:
            load = str(text.ranking.table) + (f" (published: {found.load})" if found.load else "")
            rows += [(load, f"{text.labels[row.service]} to {text.labels[found.base]}", row) for row in found.rows]
    if not rows or reference is None:
        return []

    def by_metric(gap: Contrast) -> str:
        bounds = f" ({1 + gap.interval[0]:.3f} to {1 + gap.interval[1]:.3f})" if gap.interval else ""
        return f"{1 + gap.difference:.3f}{bounds}"

    columns: list[Column[tuple[str, str, PublishedRatio]]] = [
        Column("load", lambda row: row[0], left=True),
        Column("service", lambda row: row[1], left=True),
        Column("published", lambda row: f"{row[2].published:.3f}"),
        Column("here, requests/s", lambda row: written(row[2].here, "{:.3f}".format)),
        Column("here, by the table's metric", lambda row: written(row[2].gap, by_metric)),
        Column("direction", lambda row: SIGNS[row[2].sign], left=True),
    ]
    when = f" ({reference.date})" if reference.date else ""
    notes = (
        f"Published: {reference.source}{when}; {reference.setting}. Other machines and versions, so only ratios"
        f" compare. Its flaw, avoided here: {reference.fixed}.",
        "The direction here is that of the verdict, by the metric of the ranking above.",
    )
    return [table_of("Published and here", columns, rows, notes)]


# What a user's own app costs on each server.


def own_app_tables(
    facts: RunFacts,
    rankings: Sequence[RankingText],
    idle_bytes: Mapping[str, int | None],
    services: Mapping[str, ServiceFacts],
) -> list[Table]:
    """A table for each ranking, in order; none for a run of the matrix."""
    app = facts.own_app
    if not app:
        return []
    starts = {name: service.start_s for name, service in services.items()}
    waits = {name: waits_words(found) for text in rankings for name, found in text.waits.items()}

    def workers(row: RankedRow) -> str:
        return NOTHING if facts.service(row.service).url else facts.workers

    def default(row: RankedRow) -> str:
        found = facts.service(row.service).notes.get("default") or NOTHING
        return "no limit" if found == "connections" else found  # as earlier runs say it

    columns: list[Column[RankedRow]] = [
        TIER.in_report(),
        Column("server", lambda row: server_words(facts, row.service), left=True),
        Column(REQUESTS.name, REQUESTS.text),
        Column("requests/s per core", lambda row: written(_cpu_us(row), lambda cpu_us: number(1e6 / cpu_us))),
        Column("CPU seconds per million requests", lambda row: written(_cpu_us(row), number)),
        Column("idle memory", lambda row: written(idle_bytes.get(row.service), megabytes)),
        MEMORY.in_report(),
        Column("start-up", lambda row: written(starts.get(row.service), lambda start_s: f"{number(start_s)} s")),
    ]
    # Figures come first, so that a phone shows some.
    settings: list[Column[RankedRow]] = [
        Column("requests at once", lambda row: waits.get(row.service, NOTHING), left=True, optional=True),
        *([] if waits else [Column("workers", workers, left=True)]),
        Column("own default", default, left=True, optional=True),
    ]
    notes = []
    if any(starts.values()):
        notes.append("Start-up: time from the container's start to the first response (polled every 100 ms).")
    if app.cpu_hour_price is not None:

        def price(row: RankedRow) -> str:
            cpu_us = _cpu_us(row)
            return written(None if cpu_us is None else app.price(cpu_us), number)

        columns.append(Column("cost of a million requests", price))
        notes.append(f"The cost is that of the server's CPU time alone, at {app.cpu_hour_price:g} per CPU hour.")
    return [
        table_of(
            request_words(app, text.ranking.scenario),
            [*columns, *(column.in_report() for column in latency_columns(text.ranking)), *settings],
            text.ranking.rows,
            [*_waiting(text), *notes],
        )
        for text in rankings
    ]


def _waiting(text: RankingText) -> Iterator[str]:
    """What the column on waiting means, and how many connections of the load have to queue."""
    if not text.waits:
        return
    yield (
        "Requests at once: how many can be blocked (on I/O) at the same time. N threads: the size of the pool,"
        " the same for all; = workers: one per worker, not configurable. Own default: per"
        " worker, without this project's flags (sources: services/servers)."
    )
    connections = text.ranking.level.connections
    most = max((found.total or 0 for found in text.waits.values() if found.threads), default=0)
    if connections and 0 < most < connections:
        queued = connections - most
        line = f"on a server with {plural(most, 'thread')}, {queued} {'has' if queued == 1 else 'have'} to queue"
        yield f"This load has {connections} connections: {line}."


def _cpu_us(row: RankedRow) -> float | None:
    return (row.cpu_us.mean or None) if row.cpu_us else None


# Why services of a table differ: the functions that cost more or less, and what could not be sampled.

WHY_NOTE = (
    "CPU self time by function, in the service's own container: the function's share of py-spy's samples (running"
    " threads, in one extra, unranked window after the table) times the CPU time per request measured in the table's"
    " rounds. C code counts for the Python function that called it. Only differences beyond chance are listed; their"
    " 95 % intervals are corrected for multiple comparisons and include the error of the CPU time."
)
WAITS = "This table ranks requests/s: a profile of CPU time does not show the time that a service waits."
FIRST = 3
"""How many comparisons of a table report.md shows; the page has all."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A comparison: its table, or in `words` why there is none. `early`: it is among the first of its ranking."""

    title: str
    table: Table | None
    words: tuple[str, ...]
    early: bool


def reasons(text: RankingText, found: Iterable[Why]) -> list[Reason]:
    """All comparisons of a table."""
    return [_reason(text, one, early=place < FIRST) for place, one in enumerate(found)]


def not_sampled(ranking: Ranking, profiles: Sequence[Profile]) -> list[str]:
    """A line for each service without a profile, and one if only some of the services were to be sampled."""
    if not profiles:
        return []
    load = str(ranking.table)
    lines = [f"{load}: {one.service} was not sampled: {one.missing}." for one in profiles if one.missing]
    if len(profiles) < len(ranking.rows):
        chosen = f"of {len(ranking.rows)} services, {len(profiles)} were to be sampled"
        lines.append(f"{load}: {chosen}, which differ nearest the top of the ranking.")
    if ranking.metric is not Metric.CPU and ranking.wait:
        lines.append(f"{load}: {WAITS}")
    return lines


def _reason(text: RankingText, why: Why, *, early: bool) -> Reason:
    base, head = text.name(why.contrast.a), text.name(why.contrast.b)
    title = f"{text.ranking.table}: {head} beside {base} ({why.contrast.verdict})"
    if why.missing:
        return Reason(title, None, (f"Nothing is compared: {why.missing}.",), early)
    words = (*_words(why, base, head),)
    if not why.functions:
        return Reason(title, None, (f"No function differs beyond chance ({why.within} were compared).", *words), early)
    columns: list[Column[CostDifference]] = [
        Column("function", lambda one: one.name, left=True),
        Column(f"{base}, µs", lambda one: number(one.shift.base)),
        Column(f"{head}, µs", lambda one: number(one.shift.head)),
        Column("difference, µs", _shift),
    ]
    return Reason(title, table_of(title, columns, why.functions, words), (), early)


def _shift(one: CostDifference) -> str:
    return f"{one.shift.difference:+.1f} ({one.shift.low:+.1f} to {one.shift.high:+.1f})"


def _words(why: Why, base: str, head: str) -> Iterator[str]:
    if why.packages:
        yield "By package: " + ", ".join(f"{one.name} {_shift(one)} µs" for one in why.packages) + "."
    costs = (why.costs.base, why.costs.head) if why.costs else ()
    sides = (
        f"{name} {number(cost)} µs, {sum(side.stacks.values()):,} samples"
        for name, side, cost in zip((base, head), (why.base, why.head), costs, strict=True)
    )
    within = f" {why.within} other functions show no difference." if why.functions and why.within else ""
    yield f"CPU per request in the table's rounds, and samples: {'; '.join(sides)}.{within}"
    for name, side in ((base, why.base), (head, why.head)):
        if side.seen < 1:
            yield f"{name}: {100 * (1 - side.seen):.0f} % of its CPU time was used by threads that run no Python."
