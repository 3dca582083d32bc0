"""What becomes of requests that need what is away, and which services are slow to answer again once it is back."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell, EventRow
from bench.events.away.cases import AFTER_S, CASES
from bench.words.event_words import (
    BAD,
    QUICK_S,
    EventWords,
    Named,
    Weighted,
    grouped_names,
    in_rounds,
    seconds_of,
    texts_of,
    timeout_of_needing,
    with_rounds,
)

AT_ONCE_S = 0.05
DEPENDENCIES = {one.case: one.actions[0].to for one in CASES.cases}


def _findings(row: EventRow, cells: Named) -> Weighted:
    words = []
    for name, cell in cells.items():
        again = cell.figures("again_s")
        if cell.figures("needs_meanwhile") and (missing := len(cell.counted) - len(again)):
            words.append((f"not within {AFTER_S:g} s by", with_rounds(name, missing, cell)))
        elif again and max(again) > QUICK_S:
            words.append((f"after {seconds_of(again)} by", name))
    if words:
        yield (
            BAD,
            f"Once the {DEPENDENCIES.get(row.case, 'dependency')} is back ({row.case}), requests that need it are"
            f" answered {grouped_names(words)}.",
        )


def _details(cell: EventCell) -> Iterator[str]:
    if sent := sum(cell.figures("needs_meanwhile")):
        lost, after = sum(cell.figures("needs_lost_meanwhile")), sum(cell.figures("needs_lost_after"))
        yield f"{lost:,.0f} of {sent:,.0f} that needed it lost{timeout_of_needing(cell)}"
        again = cell.figures("again_s")
        if again:
            yield f"answers again {'at once' if max(again) < AT_ONCE_S else f'after {seconds_of(again)}'}"
        if missing := len(cell.counted) - len(again):
            yield f"does not answer again{in_rounds(missing, len(cell.counted))}"
        if after:
            yield f"{after:,.0f} lost once it was back"


WORDS = EventWords(**texts_of(__file__), findings=_findings, details=_details)
