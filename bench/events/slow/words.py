"""How few slow connections block which servers, and when these are closed."""

from __future__ import annotations

from bench.analysis.events import EventRow
from bench.words.event_words import BAD, KNOWN, EventWords, Named, Weighted, grouped_names, limits, seconds_of
from bench.words.slow_connections import beside_slow


def _findings(row: EventRow, cells: Named) -> Weighted:
    fails, holds = limits(cells, ("smallest_k", "{} for"), ("most_k", "more than {} for"))
    closed = grouped_names(
        (f"after {seconds_of(found)} by", name)
        for name, cell in cells.items()
        if (found := cell.figures("cut_after_s"))
    )
    words, needed = f"Slow connections ({row.case})", ", ".join(filter(None, (fails, holds)))
    if needed:
        words += f" needed to block a server: {needed}"
    if closed:
        words += f"{'; they' if needed else ''} are closed {closed}"
    if needed or closed:
        yield BAD if fails else KNOWN, f"{words}."


WORDS = EventWords(
    subject="beside slow clients ({case}), {}",
    decides="silent",
    findings=_findings,
    details=lambda cell: beside_slow(cell, "slow"),
)
