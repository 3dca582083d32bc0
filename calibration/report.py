"""Shared by the self-tests: reading runs, and formatting results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

WRONG = 0.05
"""The largest share of tables with a false verdict."""


def verdict(holds: bool) -> str:
    """The last cell of a promise's row."""
    return "holds" if holds else "MISSED"


def false_words(wrong: int, of: int, tables: str) -> tuple[str, bool]:
    """(words, whether chance alone explains it): how many of these tables have a false verdict.

    A few tables do not determine a share of 5 %, so there are too many only if the exact (Clopper-Pearson) interval
    lies above it.
    """
    from scipy.stats import binomtest

    interval = binomtest(wrong, of).proportion_ci(0.95, "exact")
    range_words = f"95 % interval {interval.low:.1%} to {interval.high:.1%}; allowed {WRONG:.0%}"
    return f"{wrong} of {of} {tables} have a false verdict ({range_words})", bool(interval.low <= WRONG)


def spans(folder: str, pattern: str, begin: str, end: str) -> Iterator[tuple[Path, int, int]]:
    """(path, begin, end) of raw files, from the values of these keys in ns; empty without raw files."""
    for path in Path(folder).glob(pattern):
        found = json.loads(path.read_bytes())
        if found.get(begin) and found.get(end):
            yield path, found[begin], found[end]
