"""The words around the picture of a ranking: its question, its load, its figures, and how sure it is."""

from __future__ import annotations

import math
from statistics import median

from bench.analysis.tables.ranking import Figure, Metric, RankedRow, Ranking
from bench.core.formats import NOTHING, listed, number, plural, size
from bench.plan.levels import LEVEL
from bench.words.names import wait_words
from bench.words.order import FACTOR
from bench.words.told import ToldRanking, systematic_words


def load_words(ranking: Ranking) -> str:
    """What a table was loaded with: `json, wrk, 16 connections`."""
    return f"{ranking.scenario}, {ranking.tool}, {level_words(ranking.level)}"


def level_words(level: str) -> str:
    """`c16` is "16 connections"; as the page's scripts say it."""
    found = LEVEL.match(level)
    if not found or not level:
        return level
    connections, count, rate = (None if part is None else int(part) for part in found.groups())
    words = [
        None if connections is None else plural(connections, "connection", ","),
        None if count is None else plural(count, "request", ","),
        None if rate is None else f"{rate:,}/s target rate",
    ]
    return ", ".join(word for word in words if word)


def question_words(ranking: Ranking) -> str:
    """The heading of a table, as a question."""
    scenario, count, cpu = ranking.scenario, len(ranking.rows), ranking.metric is Metric.CPU
    load = f"{ranking.tool}, {level_words(ranking.level)}"
    waits = wait_words(scenario)
    if waits:
        asked = "needs the least CPU" if cpu else "serves the most requests/s"
        return f"Which of these {count} {asked} if every answer waits for {waits}? {scenario}, {load}"
    asked = f"serves {scenario} with the least CPU" if cpu else f"serves the most requests/s of {scenario}"
    return f"Which of these {count} {asked}? {load}"


def caption_words(ranking: Ranking) -> str:
    """What the picture of a table shows, and which end is better."""
    cpu = ranking.metric is Metric.CPU
    return f"{load_words(ranking)}: {'CPU per request, less' if cpu else 'requests/s, more'} is better"


def certainty_words(told: ToldRanking) -> str:
    """How sure the ranking is: rounds, confidence, metric, and what would have been seen."""
    ranking = told.ranking
    if ranking.look is None:
        return f"No tiers yet: {plural(ranking.rounds, 'round')}, and the first look is after {ranking.looks[0]}."
    cpu = ranking.metric is Metric.CPU
    judged = "CPU time per successful response" if cpu else "successful responses per second, alone on the CPU"
    measured, confidence = plural(ranking.look, "round"), 100 * ranking.confidence
    words = [
        f"Services in one tier cannot be told apart from its first.{_also_tied(told)}",
        f"{measured}, {confidence:.3g} % confidence for all comparisons together; judged by {judged}.",
    ]
    words += systematic_words(ranking)
    seen = [one.smallest_visible for one in ranking.contrasts if one.smallest_visible]
    if seen:
        least = f"{100 * median(map(abs, seen)):.2g} %"
        words.append(f"Where none is shown, a difference of {least} or more would most likely have been seen.")
    if not ranking.settled:
        words.append("More rounds may still divide tiers.")
    return " ".join(words)


def _also_tied(told: ToldRanking) -> str:
    """The services of lower tiers that are not told apart from the best, as a sentence."""
    tied = [told.labels[row.service] for row in told.ranking.rows if (row.tier or 1) > 1 and seen_words(row)]
    tiers = "a lower tier" if len(tied) == 1 else "lower tiers"
    return f" {listed(tied)}, in {tiers}, cannot be told apart from the best either." if tied else ""


def seen_words(row: RankedRow, of: str = "") -> str:
    """How large a difference from the best would have had to be to be called; empty where this one is."""
    if row.smallest_visible is None or row.rank in (None, 1) or row.interval is None:
        return ""
    return f"{size(row.smallest_visible)}{of}"


def requests_words(row: RankedRow) -> tuple[str, str, str]:
    """Requests/s, their interval, and that as a share for where there is little room."""
    mean, span = estimate_words(row.goodput)
    if row.goodput is None or not span:
        return (mean if row.goodput is None else f"{mean}/s"), "", ""
    middle, low, high = row.goodput.mean, row.goodput.low, row.goodput.high
    half = 100 * max(high - middle, middle - low) / middle if middle > 0 else 0.0
    return f"{mean}/s", span, f"±{half:.1f} %" if half < 9.95 else f"±{half:.0f} %"


def estimate_words(figure: Figure | None) -> tuple[str, str]:
    """(mean, "low to high"), each as far as it is known."""
    if figure is None:
        return NOTHING, ""
    span = "" if figure.low == figure.high else f"{number(figure.low)} to {number(figure.high)}"
    return number(figure.mean), span


def against_words(factor: float, cpu: bool) -> tuple[str, str]:
    """A difference to the best: what is always seen, and what only a wide picture needs."""
    of = "CPU" if cpu else "requests/s"
    if not _in_times(factor):
        return _percent(factor), of
    if cpu:
        return f"{_plain(factor)} times", "the CPU of the best"
    return f"{_plain(100 * factor)} % of best", "in requests/s"


def factor_span_words(factor: float, low: float | None, high: float | None, cpu: bool) -> str:
    """The interval of a difference to the best, in the form of that; empty if it is not known."""
    if low is None or high is None:
        return ""
    if not _in_times(factor):
        return f"({_percent(low).removesuffix(' %')} to {_percent(high)})"
    scale = 1 if cpu else 100
    return f"({_plain(scale * low)} to {_plain(scale * high)})"


def _in_times(factor: float) -> bool:
    return factor >= FACTOR or factor <= 1 / FACTOR


def _plain(factor: float) -> str:
    """1.9, 12, 0.71, 0.071."""
    if factor >= 9.95:
        return f"{factor:,.0f}"
    return f"{factor:.1f}" if factor >= 1 else f"{factor:.{1 - math.floor(math.log10(factor))}f}"


def _percent(factor: float) -> str:
    """In percent, with a sign unless it is 0."""
    change = 100 * (factor - 1)
    digits = f"{abs(change):.1f}" if abs(change) < 9.95 else f"{abs(change):.0f}"
    return f"{'' if digits == '0.0' else '−' if change < 0 else '+'}{digits} %"
