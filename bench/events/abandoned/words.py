"""How many clients gave up."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell
from bench.words.event_words import EventWords, timeout_of_needing


def _details(cell: EventCell) -> Iterator[str]:
    yield f"{sum(cell.figures('needs_lost')):,.0f} clients gave up{timeout_of_needing(cell)}"


WORDS = EventWords(
    subject="beside clients that have given up, {}",
    lost="health checks",
    counted="health checks",
    none_lost="No health check is lost {} (0 of {:,}).",
    in_list="beside clients that have given up",
    details=_details,
)
