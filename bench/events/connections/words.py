"""The memory of an idle connection, and which servers refuse connections."""

from __future__ import annotations

from bench.analysis.events import EventRow
from bench.core.formats import listed, number
from bench.words.event_words import BAD, KNOWN, EventWords, Named, Weighted, largest_first
from bench.words.slow_connections import IDLE, beside_slow


def _findings(row: EventRow, cells: Named) -> Weighted:
    counts = {name: [sum(cell.figures(one)) for one in ("slow_refused", "opened")] for name, cell in cells.items()}
    parts = [f"{refused:,.0f} of {opened:,.0f} by {name}" for name, (refused, opened) in counts.items() if refused]
    if parts:
        yield BAD, f"Connections are refused ({row.case}): {listed(parts)}."
    sizes = {name: max(found) for name, cell in cells.items() if (found := cell.figures("kb_per_connection"))}
    if sizes:
        parts = [f"{number(size)} KB with {name}" for name, size in largest_first(sizes)]
        yield KNOWN, f"A connection takes {listed(parts)} ({row.case})."


WORDS = EventWords(
    subject="beside {case} connections, {}",
    findings=_findings,
    details=lambda cell: beside_slow(cell, IDLE),
)
