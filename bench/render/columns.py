"""The columns of a ranking: each is written once, for the report, the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bench.analysis.tables.ranking import Percentile, RankedRow, Ranking
from bench.core.formats import NOTHING, number
from bench.render.table import Column, written
from bench.words.changes import change, column_name
from bench.words.conclusions import RankingText
from bench.words.latency import in_milliseconds, spread, standing
from bench.words.picture import estimate_words, rate_words, seen_words

Text = Callable[[RankedRow], str]


def _nothing(row: RankedRow) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingColumn:
    """What is shown of each row: its `text`, and as far as known an `interval` and a `remark`.

    The terminal shows columns with a `short` name, with `brief` instead of the text if there is one. `apart`: the page
    shows the interval.
    """

    name: str
    text: Text
    unit: str = ""
    interval: Text = _nothing
    remark: Text = _nothing
    short: str = ""
    brief: Text | None = None
    left: bool = False
    optional: bool = False
    report: bool = True
    page: bool = True
    apart: bool = True

    def whole(self, row: RankedRow) -> str:
        """`2.10 (1.80 to 2.60) ms, lowest?`."""
        text, interval, remark = self.text(row), self.interval(row), self.remark(row)
        unit = f" {self.unit}" if self.unit and text != NOTHING else ""
        return f"{text}{f' ({interval})' * bool(interval)}{unit}{f', {remark}' * bool(remark)}"

    def in_report(self) -> Column[RankedRow]:
        """All in one cell."""
        return Column(self.name, self.whole, self.left, self.optional)

    def on_page(self) -> Iterator[Column[RankedRow]]:
        """The unit in the name, and the interval in a column of its own."""
        yield Column(f"{self.name}, {self.unit}" if self.unit else self.name, self.text, self.left, self.optional)
        if self.apart:
            yield Column(f"{self.name}, interval", lambda row: self.interval(row) or NOTHING, optional=True)

    def on_terminal(self) -> Column[RankedRow]:
        """The text alone, of a figure without spaces: `≤5.80`."""
        tight: Text = self.text if self.left else lambda row: self.text(row).replace(" ", "")
        return Column(self.short, self.brief or tight, self.left)


TIER = RankingColumn(name="tier", text=lambda row: written(row.tier, str), short="tier", left=True)
REQUESTS = RankingColumn(
    name="requests/s",
    text=lambda row: rate_words(row)[0],
    interval=lambda row: rate_words(row)[1],
    short="req.\n/s",
)
CPU = RankingColumn(
    name="CPU per request",
    text=lambda row: estimate_words(row.cpu_us)[0],
    unit="µs",
    interval=lambda row: estimate_words(row.cpu_us)[1],
    short="µs CPU\n/req.",
)
MEMORY = RankingColumn(
    name="memory under load",
    text=lambda row: written(row.memory_loaded_bytes, lambda size: number(size / 1e6)),
    unit="MB",
    short="mem.\nMB",
)


def ranking_columns(text: RankingText, name: Callable[[str], str]) -> Iterator[RankingColumn]:
    """From left to right; `name` gives that of a service."""
    ranking = text.ranking
    yield TIER
    yield RankingColumn(name="service", text=lambda row: name(row.service), short="service", left=True)
    yield RankingColumn(
        name=column_name(ranking.metric, "the best"),
        text=lambda row: _against_best(ranking, row),
        short=column_name(ranking.metric, "best, %").replace(" ", "\n", 1),
        brief=partial(_brief_against_best, ranking),
    )
    yield RankingColumn(name="unnoticed below", text=lambda row: seen_words(row) or NOTHING, optional=True)
    yield from (REQUESTS, CPU, MEMORY)
    if text.waits:
        yield RankingColumn(
            name="requests at once", text=partial(_at_once, text), short="at\nonce", report=False, page=False
        )
    yield from latency_columns(ranking)
    yield RankingColumn(name="windows", text=lambda row: str(row.windows), report=False)
    yield RankingColumn(name="left out", text=lambda row: str(row.left_out), report=False)
    yield RankingColumn(name="remarks", text=lambda row: text.notes[row.service] or NOTHING, left=True, optional=True)


def latency_columns(ranking: Ranking) -> Iterator[RankingColumn]:
    """Each percentile of latency that any of the services has, at each common rate; the terminal has one rate."""
    for latency in ranking.latencies:
        at = f" at {latency.rate:,.0f}/s" if len(ranking.latencies) > 1 else ""
        for one in latency.percentiles:
            yield _percentile(one, at, first=latency is ranking.latency, apart=one is ranking.tail)


def _percentile(percentile: Percentile, at: str, *, first: bool, apart: bool) -> RankingColumn:
    def interval(row: RankedRow) -> str:
        figure = percentile.figures.get(row.service)
        return spread(figure) if figure else ""

    return RankingColumn(
        name=f"{percentile.metric}{at}",
        text=lambda row: in_milliseconds(percentile, row.service),
        unit="ms",
        interval=interval,
        remark=lambda row: standing(percentile, row.service),
        short=f"{percentile.metric}\nms" if first else "",
        apart=apart,
    )


def _against_best(ranking: Ranking, row: RankedRow) -> str:
    if row.difference is None or row.rank == 1:
        return NOTHING if row.difference is None else "best" if ranking.look is not None else "first"
    return change(ranking.metric, row.difference, row.interval).column()


def _brief_against_best(ranking: Ranking, row: RankedRow) -> str:
    """`-56 (-65 to -45)`, in percent; with the verdict instead of the estimate in the best's tier."""
    words = _against_best(ranking, row)
    # Before the first look there are no verdicts, and no tiers.
    gap = ranking.ahead(row.service, ranking.rows[0].service) if row.tier == 1 else None
    if gap and row.difference is not None:
        words = f"{gap.verdict} {change(ranking.metric, row.difference, row.interval).span()}".rstrip()
    return words.replace(" %", "")


def _at_once(text: RankingText, row: RankedRow) -> str:
    """How many requests can wait at once: a number, or all."""
    waits = text.waits.get(row.service)
    return NOTHING if waits is None else "all" if waits.total is None else str(waits.total)
