"""Who is told that a WebSocket or stream ends, and which servers wait for them too long."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed
from bench.words.event_words import BAD, KNOWN, EventWords, Named, Weighted, late_exits, seconds_of, under_way


def _findings(row: EventRow, cells: Named) -> Weighted:
    informed, silent, waiting = list[str](), list[str](), list[str]()
    for name, cell in cells.items():
        number, open_ = sum(cell.figures("streams_told")), sum(cell.figures("streams"))
        if sum(cell.figures("streams_held")):
            waiting.append(name)
        elif number:
            informed.append(f"{name} ({'all' if number == open_ else f'{number:,.0f} of {open_:,.0f}'}{_word(cell)})")
        elif open_:
            silent.append(name)
    if informed:
        yield KNOWN, f"On SIGTERM, clients with {row.case} open are told that these end: {listed(informed)}."
    if silent:
        yield BAD, f"On SIGTERM, {row.case} end without a word: {listed(silent)}."
    if waiting:
        verb = "waits" if len(waiting) == 1 else "wait"
        yield BAD, f"After SIGTERM, {listed(waiting)} {verb} until clients with {row.case} open have left."
    yield from late_exits({name: cell for name, cell in cells.items() if name not in waiting})


def _word(cell: EventCell) -> str:
    """`, code 1012`."""
    codes = sorted({str(word) for word in cell.values("streams_word") if word and word != "complete"})
    return f", code {listed(codes)}" if codes else ""


def _details(cell: EventCell) -> Iterator[str]:
    if sum(cell.figures("streams_held")):
        yield "waits until its clients have left"
    elif exits := cell.figures("exit_s"):
        yield f"exits after {seconds_of(exits)}"
    yield from under_way(cell)
    if open_ := sum(cell.figures("streams")):
        after = f" after {seconds_of(found)}" if (found := cell.figures("streams_closed_s")) else ""
        yield f"{sum(cell.figures('streams_closed')):,.0f} of {open_:,.0f} closed{after}"
        yield f"{sum(cell.figures('streams_told')):,.0f} told{_word(cell)}"
    if refused := sum(cell.figures("streams_refused")):
        yield f"{refused:,.0f} were not taken"


WORDS = EventWords(
    subject="stopping {} with {case} open",
    none_lost="No requests in flight are lost {} (0 of {:,}).",
    in_list="stopping with {case} open",
    decides="graceful",
    findings=_findings,
    details=_details,
)
