"""What a step gave, in one line, by the report's own parsers and validity rules.

They see this step and the null server's measurements so far, not the whole run: the report may refuse more, never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.core.formats import number
from bench.records.record import Record

LONGEST = 100
"""Characters of `words`."""


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """`words` hold the goodput where all windows are valid, else the first cause; `short` leaves out its details."""

    valid: bool
    words: str
    short: str


NOT_LOADED = LiveStatus(False, "not loaded", "not loaded")
"""A step with a service that did not pass its verification."""


def live_status(records: Iterable[Record]) -> LiveStatus:
    """Pure: one measurement's goodput, or that of a pair's sides, over its windows."""
    every = list(records)
    if every and every[0].mode == "turns":
        return _of_block(every)
    refused = next((record for record in every if not record.valid), None)
    if refused is not None:
        cause = refused.causes[0]
        short = _shown(f"invalid: {cause.cause}")
        return LiveStatus(False, _shown(f"invalid: {cause.cause}: {cause.detail}"), short)
    sides = [[r for r in every if r.side == side] for side in dict.fromkeys(record.side for record in every)]
    rates = [rate for windows in sides if (rate := _goodput(windows)) is not None]
    words = "no figure" if len(rates) < len(sides) else f"{' and '.join(map(number, rates))} requests/s"
    return LiveStatus(True, words, words)


def _of_block(records: Sequence[Record]) -> LiveStatus:
    """How many windows of a block count, and why the first of the others does not."""
    refused = [record for record in records if not record.valid]
    words = f"{len(records) - len(refused)} of {len(records)} windows valid"
    if not refused:
        return LiveStatus(True, words, words)
    cause = refused[0].causes[0]
    detail = f"{words}; {refused[0].service} {refused[0].scenario}: {cause.cause}: {cause.detail}"
    return LiveStatus(False, _shown(detail), words)


def _goodput(windows: Sequence[Record]) -> float | None:
    """Successes by time of all windows together."""
    if any(not record.goodput or not record.successes for record in windows):
        return None
    seconds = sum((record.successes or 0) / (record.goodput or 1) for record in windows)
    return sum(record.successes or 0 for record in windows) / seconds


def _shown(text: str) -> str:
    """`text` on one line, without characters that control a terminal."""
    shown = "".join(mark if mark.isprintable() else "?" for mark in " ".join(text.split()))
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
