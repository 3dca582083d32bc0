"""Words of events with connections that are slow or idle on purpose."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell
from bench.core.formats import milliseconds, number
from bench.words.event_words import seconds_of, span, whole, with_noun

IDLE = "idle"


def beside_slow(cell: EventCell, kind: str) -> Iterator[str]:
    """How many connections of this kind block the service, what each costs, and how others are answered meanwhile."""
    if blocked := cell.figures("smallest_k"):
        yield f"blocked by {with_noun(blocked, f'{kind} connection')}"
    if sizes := cell.figures("kb_per_connection"):
        yield f"{span(sizes, number)} KB per connection"
    held, opened = sum(cell.figures("slow_answered")), sum(cell.figures("opened"))
    if kind == IDLE and 0 < held < opened:
        yield f"answers {held:,.0f} of {opened:,.0f} idle connections"
    if after := cell.figures("cut_after_s"):
        many = f"{sum(cell.figures('cut')):,.0f} of {opened:,.0f} {kind} connections"
        status = cell.figures("cut_status")
        yield f"closes {many} after {seconds_of(after)}{f' with status {whole(status)}' if status else ''}"
    if beside := cell.figures("p99_beside_s"):
        most = with_noun(cell.figures("p99_beside_k"), f"{kind} connection")
        yield f"p99 of other requests {span(beside, milliseconds)} beside {most}"
    if cell.figures("most_k") and not cell.figures("smallest_k"):
        yield f"not blocked by {with_noun(cell.figures('most_k'), f'{kind} connection')}"
