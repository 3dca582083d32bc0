"""The words around a ranking on the page: its question, its load, and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import median
from typing import Any

from bench.analysis.words.scenarios import wait_words
from bench.analysis.words.tables.order import listed, percent_words
from bench.core.files import items, mapping
from bench.core.formats import NOTHING, number

CONFIDENCE = 0.95
"""Of all comparisons of a table together, unless the table has its own."""
_LEVEL = re.compile(r"(?:c(\d+))?(?:n(\d+))?(?:r(\d+))?\Z", re.A)


def load_words(table: Mapping[str, Any]) -> str:
    """What a table was loaded with: `json, wrk, 16 connections`."""
    return f"{table.get('scenario')}, {table.get('tool')}, {level_words(str(table.get('level')))}"


def level_words(level: str) -> str:
    """`c16` is "16 connections"; as the page's scripts say it."""
    found = _LEVEL.match(level)
    if not found or not level:
        return level
    connections, count, rate = (None if part is None else int(part) for part in found.groups())
    words = [
        None if connections is None else plural(connections, "connection"),
        None if count is None else plural(count, "request"),
        None if rate is None else f"{rate:,}/s target rate",
    ]
    return ", ".join(word for word in words if word)


def plural(count: int, word: str) -> str:
    """A count with its word."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def question_words(table: Mapping[str, Any], count: int, cpu: bool) -> str:
    """The heading of a table, as a question."""
    scenario = str(table.get("scenario"))
    load = f"{table.get('tool')}, {level_words(str(table.get('level')))}"
    waits = wait_words(scenario)
    if waits:
        asked = "needs the least CPU" if cpu else "serves the most requests/s"
        return f"Which of these {count} {asked} if every answer waits for {waits}? {scenario}, {load}"
    asked = f"serves {scenario} with the least CPU" if cpu else f"serves the most requests/s of {scenario}"
    return f"Which of these {count} {asked}? {load}"


def caption_words(load: str, cpu: bool) -> str:
    """What the picture of a table shows, and which end is better."""
    if cpu:
        return f"{load}: CPU per request, less is better"
    return f"{load}: requests/s, more is better"


def certainty_words(table: Mapping[str, Any], cpu: bool) -> str:
    """How sure the ranking is: rounds, confidence, metric, and what would have been seen."""
    if table.get("look", table.get("rounds")) is None:
        first = next(iter(items(table.get("looks"))), None)
        return f"No tiers yet: {plural(table.get('rounds') or 0, 'round')}" + (
            f", and the first look is after {first}." if first else "."
        )
    measured = plural(int(table.get("look") or table["rounds"]), "round")
    confidence = float(table.get("confidence") or CONFIDENCE)
    judged = "CPU time per successful response" if cpu else "successful responses per second, alone on the CPU"
    words = [
        f"Services in one tier cannot be told apart from its first.{_also_tied(table)}",
        f"{measured}, {100 * confidence:.3g} % confidence for all comparisons together; judged by {judged}.",
    ]
    if bias := table.get("bias"):
        words.append(str(bias))
    seen = [size for pair in map(mapping, items(table.get("contrasts"))) if (size := pair.get("smallest_visible"))]
    if seen:
        size = f"{100 * median(map(abs, seen)):.2g} %"
        words.append(f"Where none is shown, a difference of {size} or more would most likely have been seen.")
    if table.get("settled") is False:
        words.append("More rounds may still divide tiers.")
    return " ".join(words)


def _also_tied(table: Mapping[str, Any]) -> str:
    """The services of lower tiers that are not told apart from the best, as a sentence."""
    rows = map(mapping, items(table.get("rows")))
    tied = [name_of(row) for row in rows if (row.get("tier") or 1) > 1 and seen_words(row)]
    tiers = "a lower tier" if len(tied) == 1 else "lower tiers"
    return f" {listed(tied)}, in {tiers}, cannot be told apart from the best either." if tied else ""


def seen_words(row: Mapping[str, Any], of: str = " would have been called") -> str:
    """The smallest difference from the best that would have been called, where this one was not."""
    size = row.get("smallest_visible")
    if not isinstance(size, float) or row.get("rank") in (None, 1) or row.get("interval") is None:
        return ""
    return f"{percent_words(size)}{of}"


def name_of(row: Mapping[str, Any]) -> str:
    """A row's short name."""
    return str(row.get("label") or row.get("service"))


def rate_words(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Requests/s, their interval, and that as a share for where there is little room."""
    mean, span = estimate_words(row.get("goodput"))
    if mean == NOTHING or not span:
        return (mean if mean == NOTHING else f"{mean}/s"), "", ""
    middle, low, high = (float(row["goodput"][name]) for name in ("mean", "low", "high"))
    half = 100 * max(high - middle, middle - low) / middle if middle > 0 else 0.0
    return f"{mean}/s", span, f"±{half:.1f} %" if half < 9.95 else f"±{half:.0f} %"


def estimate_words(given: Any) -> tuple[str, str]:
    """(mean, "low to high"), each as far as it is known."""
    mean, low, high = (mapping(given).get(name) for name in ("mean", "low", "high"))
    span = "" if low is None or high is None or low == high else f"{number(low)} to {number(high)}"
    return (NOTHING if mean is None else number(mean)), span
