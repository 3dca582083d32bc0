"""Why services of a table differ: tables of the functions that cost more or less, and what could not be sampled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.why import CostDifference, Why
from bench.analysis.tables.planned import wait_of
from bench.analysis.tables.ranking import Metric, Ranking
from bench.core.formats import number
from bench.render.table import Table
from bench.words.told import ToldRanking

NOTE = (
    "CPU time by function (self time), of the service's own container: its share of py-spy's samples of running"
    " threads, in a window of its own after the table, which is not judged, times the CPU time per request in the"
    " table's rounds. C code counts for the Python function that called it. Only differences beyond chance are listed:"
    " their intervals hold at once (95 %), and include how well the rounds know how far both services are apart."
)
WAITS = "This table ranks requests/s: time that a service waits is in no profile of its CPU time."
FIRST = 3
"""Comparisons of a table in report.md; the page has all."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A comparison: its table, or in `words` why there is none. `early`: it is one of the first of its ranking."""

    title: str
    table: Table | None
    words: tuple[str, ...]
    early: bool


def reasons(told: ToldRanking, found: Sequence[Why]) -> list[Reason]:
    """Of every comparison of a table."""
    return [_reason(told, one, early=place < FIRST) for place, one in enumerate(found)]


def not_sampled(ranking: Ranking, profiles: Iterable[Profile]) -> list[str]:
    """A line for each service without a profile, and one if only some services of the table were to have one."""
    every = list(profiles)
    if not every:
        return []
    load = " ".join(ranking.table)
    lines = [f"{load}: {one.service} was not sampled: {one.missing}." for one in every if one.missing]
    if len(every) < len(ranking.rows):
        chosen = f"of {len(ranking.rows)} services, {len(every)} were to be sampled"
        lines.append(f"{load}: {chosen}, which differ nearest the top of the ranking.")
    if ranking.metric is not Metric.CPU and wait_of(ranking.scenario):
        lines.append(f"{load}: {WAITS}")
    return lines


def _reason(told: ToldRanking, why: Why, *, early: bool) -> Reason:
    base, head = told.name(why.contrast.a), told.name(why.contrast.b)
    title = f"{' '.join(told.ranking.table)}: {head} beside {base} ({why.contrast.verdict})"
    if why.missing:
        return Reason(title, None, (f"Nothing is compared: {why.missing}.",), early)
    words = (*_words(why, base, head),)
    if not why.functions:
        return Reason(title, None, (f"No function differs beyond chance ({why.within} were compared).", *words), early)
    rows = tuple(_row(one) for one in why.functions)
    columns = ("function", f"{base}, µs", f"{head}, µs", "difference, µs")
    return Reason(title, Table(title, columns, rows, notes=words), (), early)


def _words(why: Why, base: str, head: str) -> Iterable[str]:
    if why.packages:
        yield "By package: " + ", ".join(f"{one.name} {_difference(one)} µs" for one in why.packages) + "."
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


def _row(one: CostDifference) -> tuple[str, ...]:
    return one.name, number(one.shift.base), number(one.shift.head), _difference(one)


def _difference(one: CostDifference) -> str:
    return f"{one.shift.difference:+.1f} ({one.shift.low:+.1f} to {one.shift.high:+.1f})"
