"""The columns of a ranking: each is written once, for the report, the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from bench.analysis.tables.ranking import Contrast, Figure, Percentile, RankedRow, Ranking
from bench.core.formats import NOTHING, number
from bench.render.table import Column, written
from bench.tools.parsed import Timed
from bench.words.changes import Change, change, change_of, column_name
from bench.words.conclusions import RankingText
from bench.words.latency import in_milliseconds, load_words, percentile_name, spread, standing
from bench.words.picture import estimate_words, rate_words, seen_words
from bench.words.units import in_units


@dataclass(frozen=True, slots=True)
class RankingColumn:
    """`of` gives what is shown of a row: a text, and if there are any its interval and a remark on it.

    Columns with a `name` are in the report and on the page, unless excluded from one; there, `judged` is the text if
    there is one, and `figure` has a bar. Those with a `short` name are on the terminal, with the text `brief` if any.
    """

    name: str
    of: Callable[[RankedRow], tuple[str, ...]]
    unit: str = ""
    short: str = ""
    brief: Callable[[RankedRow], str] | None = None
    left: bool = False
    optional: bool = False
    report: bool = True
    page: bool = True
    judged: Callable[[RankedRow], str] | None = None
    figure: Callable[[RankedRow], Figure | None] | None = None

    def whole(self, row: RankedRow) -> str:
        """`2.10 (1.80 to 2.60) ms, lowest?`."""
        text, interval, remark = self.parts(row)
        unit = f" {self.unit}" if self.unit and text != NOTHING else ""
        return f"{text}{f' ({interval})' * bool(interval)}{unit}{f', {remark}' * bool(remark)}"

    def text(self, row: RankedRow) -> str:
        """`2.10`."""
        return self.of(row)[0]

    def parts(self, row: RankedRow) -> tuple[str, str, str]:
        """(`2.10`, `1.80 to 2.60`, `lowest?`), as far as there are any."""
        text, interval, remark, *_ = *self.of(row), "", ""
        return text, interval, remark

    def per(self, unit: str) -> RankingColumn:
        """The same column for figures of this unit."""
        return replace(self, name=in_units(self.name, unit), short=in_units(self.short, unit))

    def in_report(self) -> Column[RankedRow]:
        """All in one cell."""
        return Column(self.name, self.whole, self.left, self.optional)

    def on_page(self) -> Column[RankedRow]:
        """The unit in the name; the interval is in the cell, below the text."""
        name = f"{self.name}, {self.unit}" if self.unit else self.name
        return Column(name, self.judged or self.text, self.left, self.optional or self.figure is not None)

    def on_terminal(self) -> Column[RankedRow]:
        """The text alone, in as few characters as possible."""
        return Column(self.short, self.brief or (lambda row: self.text(row).replace("≤ ", "≤")), self.left)


def _memory(row: RankedRow) -> Figure | None:
    size = row.memory_loaded_bytes
    return Figure(size, size, size) if size is not None else None


TIER = RankingColumn("tier", lambda row: (written(row.tier, str),), short="tier", left=True)
REQUESTS = RankingColumn("requests/s", rate_words, short="req.\n/s", figure=lambda row: row.goodput)
CPU = RankingColumn(
    "CPU per request", lambda row: estimate_words(row.cpu_us), "µs", "µs CPU\n/req.", figure=lambda row: row.cpu_us
)
MEMORY = RankingColumn("memory under load", lambda row: (_megabytes(row),), "MB", "mem.\nMB", figure=_memory)


SHORT = {Timed.FIRST_EVENT: "first\n", Timed.EVENT: "late\n"}
"""On the terminal, above the percentile."""


def ranking_columns(words: RankingText, name: Callable[[str], str]) -> Iterator[RankingColumn]:
    """From left to right; `name` gives that of a service."""
    yield from (column.per(words.ranking.unit) for column in _columns(words, name))


def _columns(words: RankingText, name: Callable[[str], str]) -> Iterator[RankingColumn]:
    ranking = words.ranking
    yield TIER
    yield RankingColumn("service", lambda row: (name(row.service),), short="service", left=True)
    yield RankingColumn(
        column_name(ranking.metric, "the best"),
        lambda row: (_against_best(ranking, row),),
        short=column_name(ranking.metric, "best, %").replace(" ", "\n", 1),
        brief=lambda row: _against_best(ranking, row, verdict=row.tier == 1).replace(" %", ""),
        judged=lambda row: "not ranked" if row.rank is None else _against_best(ranking, row, verdict=True),
    )
    yield RankingColumn("unnoticed below", lambda row: (seen_words(row) or NOTHING,), optional=True, page=False)
    yield from (REQUESTS, CPU, MEMORY)
    if words.waits:
        yield RankingColumn("", lambda row: (_at_once(words, row),), short="at\nonce", report=False)
    yield from latency_columns(ranking)
    yield RankingColumn("windows", lambda row: (str(row.windows),), report=False)
    yield RankingColumn("left out", lambda row: (str(row.left_out),), report=False)
    yield RankingColumn(
        "remarks", lambda row: (words.notes[row.service] or NOTHING,), left=True, optional=True, page=False
    )


def latency_columns(ranking: Ranking) -> Iterator[RankingColumn]:
    """Each percentile of latency that any of the services has, at each common rate; on the terminal at one."""
    several = len([one for one in ranking.latencies if one.rate]) > 1
    for latency in ranking.latencies:
        for percentile in latency.percentiles:
            name = percentile_name(latency, percentile.metric)
            brief = latency is ranking.latency if latency.rate else percentile is latency.percentiles[0]
            yield RankingColumn(
                f"{name} at {load_words(latency)}" if several else name,
                partial(_percentile, percentile),
                "ms",
                f"{SHORT.get(latency.timed, '')}{percentile.metric}\nms" if brief else "",
                figure=partial(_latency, percentile),
            )


def _megabytes(row: RankedRow) -> str:
    return written(row.memory_loaded_bytes, lambda size: number(size / 1e6))


def _latency(percentile: Percentile, row: RankedRow) -> Figure | None:
    return percentile.figures.get(row.service)


def _percentile(percentile: Percentile, row: RankedRow) -> tuple[str, str, str]:
    service, figure = row.service, percentile.figures.get(row.service)
    return in_milliseconds(percentile, service), spread(figure) if figure else "", standing(percentile, service)


def _against_best(ranking: Ranking, row: RankedRow, *, verdict: bool = False) -> str:
    """`-56 % (-65 to -45 %)`; with `verdict`, that instead of the estimate if it names no winner."""
    if row.difference is None or row.rank == 1:
        return NOTHING if row.difference is None else "best" if ranking.look is not None else "first"
    difference = change(ranking.metric, row.difference, row.interval)
    gap = ranking.ahead(row.service, ranking.rows[0].service) if verdict else None
    return _judged(ranking, gap, difference)


def against_words(ranking: Ranking, service: str, base: str) -> str:
    """A service against another one: `-56 % (-65 to -45 %)`, or `no winner (-5 to +8 %)`; a dash if never compared."""
    gap = ranking.ahead(service, base)
    return NOTHING if gap is None else _judged(ranking, gap, change_of(ranking.metric, gap))


def _judged(ranking: Ranking, gap: Contrast | None, difference: Change) -> str:
    """The verdict if that names no winner. Before the first look there are no verdicts."""
    judged = gap is not None and not gap.called and ranking.look is not None
    return f"{gap.verdict} {difference.span()}".rstrip() if gap and judged else difference.column()


def _at_once(words: RankingText, row: RankedRow) -> str:
    """How many requests can wait at once: a number, or all."""
    found = words.waits.get(row.service)
    return NOTHING if found is None else "all" if found.total is None else str(found.total)
