"""Words of events that take a worker away: whether another one comes."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed
from bench.words.event_words import (
    BAD,
    KNOWN,
    QUICK_S,
    EventWords,
    Named,
    Weighted,
    ended,
    grouped_names,
    seconds_of,
    with_rounds,
)


def lost_worker(subject: str, outage: str, decides: str) -> EventWords:
    """The words of an event that takes a worker away."""
    return EventWords(subject=subject, outage=outage, decides=decides, findings=_findings, details=_details)


def _findings(row: EventRow, cells: Named) -> Weighted:
    """Whether a worker is replaced."""
    yield from ended(f"One {row.event} worker", cells)
    words, never = list[tuple[str, str]](), list[str]()
    for name, cell in cells.items():
        again = _restored(cell)
        if cell.figures("ended_s"):
            continue
        if len(again) < len(cell.counted):
            never.append(with_rounds(name, len(cell.counted) - len(again), cell))
        else:
            quick = max(again) <= QUICK_S
            words.append((f"within {QUICK_S:g} s by" if quick else f"after {seconds_of(again)} by", name))
    if never:
        yield BAD, f"A {row.event} worker is not replaced by {listed(never)}."
    if words:
        slow = any(not what.startswith("within") for what, _ in words)
        yield BAD if slow else KNOWN, f"A {row.event} worker is replaced {grouped_names(words)}."


def _restored(cell: EventCell) -> list[float]:
    """Seconds until a new worker answers, or until it starts if no request shows when it answers."""
    pairs = zip(cell.values("restored_s"), cell.values("started_s"), strict=True)
    found = [started if answers is None else answers for answers, started in pairs]
    return [float(one) for one in found if one is not None]


def _details(cell: EventCell) -> Iterator[str]:
    restored, started = cell.figures("restored_s"), cell.figures("started_s")
    if restored:
        yield f"a new worker answers after {seconds_of(restored)}"
    if cell.figures("ended_s"):
        yield "the whole server ended"
    if not restored and not cell.gone:
        yield f"a new worker starts after {seconds_of(started)}" if started else "the worker was not replaced"
