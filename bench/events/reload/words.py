"""When the new code answers, and which servers a reload takes down."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell
from bench.words.event_words import EventWords, ended, seconds_of, texts_of, under_way


def _details(cell: EventCell) -> Iterator[str]:
    if new_code := cell.figures("new_code_s"):
        yield f"new code after {seconds_of(new_code)}"
    if cell.figures("ended_s"):
        yield "the whole server ended"
    yield from under_way(cell)


WORDS = EventWords(
    **texts_of(__file__),
    findings=lambda row, cells: ended(f"A reload ({row.case})", cells),
    details=_details,
)
