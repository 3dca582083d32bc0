"""How many clients gave up."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell
from bench.words.event_words import EventWords, texts_of, timeout_of_needing


def _details(cell: EventCell) -> Iterator[str]:
    yield f"{sum(cell.figures('needs_lost')):,.0f} clients gave up{timeout_of_needing(cell)}"


WORDS = EventWords(**texts_of(__file__), details=_details)
