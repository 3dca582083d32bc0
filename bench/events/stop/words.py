"""What becomes of a response that takes 5 s, and which servers exit too late for Docker."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed
from bench.records.event import Fate
from bench.words.event_words import (
    BAD,
    KNOWN,
    EventWords,
    Named,
    Weighted,
    in_rounds,
    late_exits,
    seconds_of,
    under_way,
)

ENDS = ((False, "abort", "s"), (True, "finish", "es"))
"""(whether the response was answered, a verb, its ending for a single server)."""


def _findings(_: EventRow, cells: Named) -> Weighted:
    by_fate: dict[bool, list[str]] = {}
    for name, cell in cells.items():
        fates = {fate == Fate.ANSWERED for fate in cell.values("long_fate") if fate}
        if len(fates) == 1:
            after = cell.figures("exit_s")
            by_fate.setdefault(fates.pop(), []).append(f"{name} (exits after {seconds_of(after)})" if after else name)
    parts = [f"{listed(own)} {verb}{end * (len(own) == 1)}" for fate, verb, end in ENDS if (own := by_fate.get(fate))]
    if parts:
        first, *others = parts
        rest = f"; {others[0]} it" if others else ""
        yield BAD if False in by_fate else KNOWN, f"On SIGTERM, {first} a response that takes 5 s{rest}."
    yield from late_exits(cells)


def _details(cell: EventCell) -> Iterator[str]:
    if exits := cell.figures("exit_s"):
        yield f"exits after {seconds_of(exits)}"
    yield from under_way(cell)
    if idle := sum(cell.figures("idle")):
        after = f" after {seconds_of(cell.figures('idle_closed_s'))}" if cell.figures("idle_closed_s") else ""
        yield f"{sum(cell.figures('idle_closed')):,.0f} of {idle:,.0f} idle connections closed{after}"
    if left := sum(cell.figures("still_answered")):
        yield f"{sum(cell.figures('told_to_close')):,.0f} of {left:,.0f} connections told to close"
    if fates := [fate for fate in cell.values("long_fate") if fate]:
        aborted = sum(fate != Fate.ANSWERED for fate in fates)
        yield f"the 5 s response {f'aborted{in_rounds(aborted, len(fates))}' if aborted else 'finished'}"


WORDS = EventWords(subject="stopping {}", decides="graceful", findings=_findings, details=_details)
