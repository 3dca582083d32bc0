"""How many waiting requests make health checks fail, and what becomes of these requests and their connections."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed
from bench.words.event_words import (
    BAD,
    KNOWN,
    EventWords,
    Named,
    Weighted,
    in_rounds,
    largest_first,
    limits,
    seconds_of,
    texts_of,
    timeout_of_needing,
    whole,
    with_noun,
)


def _findings(row: EventRow, cells: Named) -> Weighted:
    fails, passes = limits(cells, ("failing_k", "beside {} with"), ("most_waiting", "beside {} with"))
    checks = "; ".join(f"{what} {words}" for what, words in (("fail", fails), ("pass", passes)) if words)
    if checks:
        first, _, rest = checks.partition(" with")
        checks = f"{first} waiting request{'' if first.endswith(' 1') else 's'} with{rest}"
        yield BAD if fails else KNOWN, f"With {WORDS.case(row.case)}, health checks {checks}."
    left = {name: max(cell.figures("connections_used_after"), default=0.0) for name, cell in cells.items()}
    if any(left.values()):
        names = listed([f"{name} ({count:.0f})" for name, count in largest_first(left) if count])
        yield BAD, f"Database connections are still in use after the load: {names}."


def _details(cell: EventCell) -> Iterator[str]:
    most, failing = cell.figures("most_waiting"), cell.figures("failing_k")
    if most:
        places = cell.figures("places")
        room = f" ({whole(places)} served at once)" if places else ""
        verb, counts = ("fail", failing) if failing else ("pass", most)
        rounds = in_rounds(len(failing), len(cell.counted)) if failing else ""
        yield f"health checks {verb} beside {with_noun(counts, 'waiting request')}{rounds}{room}"
        if waits := cell.figures("longest_wait_s"):
            yield f"{whole(most)} wait{'s' * (max(most) == 1)} up to {seconds_of(waits)}"
        if lost := sum(cell.figures("needs_lost")):
            sent = sum(cell.figures("needs_sent"))
            yield f"{lost:,.0f} of {sent:,.0f} waiting requests lost{timeout_of_needing(cell)}"
    if used := cell.figures("connections_used_after"):
        most_at_once = with_noun(cell.figures("connections_most"), "database connection")
        yield f"{most_at_once}, {whole(used)} still in use afterwards"


WORDS = EventWords(**texts_of(__file__), findings=_findings, details=_details)
