"""The text around a ranking's table on the page: question, load, figures, certainty."""

from __future__ import annotations

import math
from statistics import median

from bench.analysis.tables.ranking import Figure, Metric, RankedRow, Ranking
from bench.core.formats import NOTHING, number, plural, size, span
from bench.words.conclusions import RankingText, systematic_words
from bench.words.names import level_words, loaded_words, wait_words
from bench.words.units import in_units

WIDE = 0.5
"""An interval that reaches farther from its mean than this share is seldom the same on both sides."""


def load_words(ranking: Ranking) -> str:
    """What a table was loaded with: `json, wrk, 16 connections`."""
    return f"{ranking.scenario}, {_load(ranking)}"


def _load(ranking: Ranking) -> str:
    return loaded_words(ranking, f"{ranking.tool}, {level_words(ranking.level)}")


def question_words(ranking: Ranking) -> str:
    """The heading of a table: metric, scenario, number of services, load."""
    scenario, waits, cpu = ranking.scenario, wait_words(ranking.wait), ranking.metric is Metric.CPU
    services, load = plural(len(ranking.rows), "service"), _load(ranking)
    if waits:
        asked = "Least CPU per response" if cpu else "Most requests/s"
        return in_units(f"{asked} if every response waits for {waits}, {services}: {scenario}, {load}", ranking.unit)
    asked = f"Least CPU per {scenario} response" if cpu else f"Most requests/s of {scenario}"
    return in_units(f"{asked}, {services}: {load}", ranking.unit)


def caption_words(ranking: Ranking) -> str:
    """What ranks a table, and which end is better."""
    cpu = ranking.metric is Metric.CPU
    judged = in_units("CPU per request, less" if cpu else "requests/s, more", ranking.unit)
    return f"{load_words(ranking)}: {judged} is better"


def certainty_words(text: RankingText) -> str:
    """How sure the ranking is: rounds, confidence, metric, detectable difference."""
    ranking = text.ranking
    if ranking.look is None:
        return f"No tiers yet: {plural(ranking.rounds, 'round')}; the first verdicts come after {ranking.looks[0]}."
    cpu = ranking.metric is Metric.CPU
    judged = in_units("CPU time per successful response" if cpu else "successful requests/s", ranking.unit)
    measured, confidence = plural(ranking.look, "round"), 100 * ranking.confidence
    words = [
        "No service of a tier is shown to be slower than its first.",
        f"{measured}, {confidence:.3g} % confidence for all comparisons together; ranked by {judged}.",
    ]
    words += systematic_words(ranking)
    seen = [one.smallest_visible for one in ranking.contrasts if one.smallest_visible]
    if seen:
        least = f"{100 * median(map(abs, seen)):.2g} %"
        words.append(f"Differences above {least} would probably have been detected.")
    if not ranking.settled:
        words.append("More rounds may separate these tiers.")
    return " ".join(words)


def seen_words(row: RankedRow) -> str:
    """From which size on a difference from the best is detectable; empty if this one was detected."""
    if row.smallest_visible is None or row.rank in (None, 1) or row.interval is None:
        return ""
    return size(row.smallest_visible)


def narrow_words(figure: Figure, interval: str) -> str:
    """An interval as a share of its mean, for narrow places: `±2.0 %`; as it is if it is wide or has no mean."""
    half = max(figure.high - figure.mean, figure.mean - figure.low) / figure.mean if figure.mean > 0 else math.inf
    return interval if half > WIDE else f"±{size(half)}"


def rate_words(row: RankedRow) -> tuple[str, str]:
    """Its requests/s as `estimate_words`, `≥ 5,120` if they are a lower bound."""
    mean, span = estimate_words(row.goodput)
    return f"≥ {mean}" if row.goodput and row.lower_bound else mean, span


def estimate_words(figure: Figure | None) -> tuple[str, str]:
    """(mean, "low to high"), as far as known."""
    if figure is None:
        return NOTHING, ""
    ends = span(number(figure.low), number(figure.high))
    return number(figure.mean), "" if ends == number(figure.mean) else ends
