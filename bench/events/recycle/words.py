"""How much slower requests are while workers are recycled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed, milliseconds
from bench.events.recycle.cases import NEVER
from bench.plan.event import SLOWER_S
from bench.words.event_words import BAD, EventWords, Named, Weighted, span, texts_of, with_noun


def _slower(rows: Sequence[tuple[EventRow, Named]]) -> Weighted:
    """By how much p99 is higher in every round with recycled workers than in all rounds without, if by much."""
    p99s = {
        row.case == NEVER: {name: cell.figures("p99_around_s") for name, cell in cells.items()} for row, cells in rows
    }
    slower = list[tuple[float, str]]()
    for name, slow in p99s.get(False, {}).items():
        quick = p99s.get(True, {}).get(name)
        if slow and quick and min(slow) > max(quick) + SLOWER_S:
            slower.append((max(slow), f"{span(slow, milliseconds)} instead of {span(quick, milliseconds)} with {name}"))
    if slower:
        yield BAD, f"While workers are recycled, p99 is {listed([words for _, words in sorted(slower, reverse=True)])}."


def _details(cell: EventCell) -> Iterator[str]:
    if recycled := cell.figures("recycled"):
        yield f"{with_noun(recycled, 'worker')} recycled"


WORDS = EventWords(**texts_of(__file__), of_rows=_slower, details=_details)
