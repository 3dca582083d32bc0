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
    """`words` hold the goodput where the window is valid, else the first cause; `short` leaves out its details."""

    valid: bool
    words: str
    short: str


NOT_LOADED = LiveStatus(False, "not loaded", "not loaded")
"""A step with a service that did not pass its verification."""


def live_status(records: Iterable[Record]) -> LiveStatus:
    """Pure: one measurement's goodput, or how many windows of a block count."""
    every = list(records)
    if every and every[0].mode == "turns":
        return _of_block(every)
    (record,) = every
    if not record.valid:
        cause = record.causes[0]
        short = _shown(f"invalid: {cause.cause}")
        return LiveStatus(False, _shown(f"invalid: {cause.cause}: {cause.detail}"), short)
    words = f"{number(record.goodput)} requests/s" if record.goodput else "no figure"
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


def _shown(text: str) -> str:
    """`text` on one line, without characters that control a terminal."""
    shown = "".join(mark if mark.isprintable() else "?" for mark in " ".join(text.split()))
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
