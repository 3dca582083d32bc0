"""Whose memory or file descriptors grow, whose do not, and whose load was too short to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed, megabytes
from bench.events.memory.cases import AFTER_BODIES, MILLION, RELOADED, RELOADS
from bench.stats.event_counts import (
    GROWS,
    LEAST_DESCRIPTORS,
    LEAST_S,
    NEGLIGIBLE,
    NOT_ENOUGH,
    STEADY,
    TOO_SHORT,
    Slope,
    share,
    slope,
)
from bench.words.event_words import (
    FEW,
    GREW,
    KNOWN,
    CellWords,
    EventWords,
    Named,
    Weighted,
    once,
    span,
    whole,
)


def growth_of(cell: EventCell) -> Slope:
    """Its growth in bytes per request, or in descriptors per reload; "not enough data" if unknown."""
    rounds = [[(point.done, point.held) for point in record.points] for record in cell.counted]
    if cell.figures("reloads"):
        return slope(rounds, LEAST_DESCRIPTORS)
    return slope(rounds, NEGLIGIBLE, min(cell.figures("parts_s"), default=0.0))


def _findings(row: EventRow, cells: Named) -> Weighted:
    grows = {name: _head(cell) for name, cell in cells.items() if growth_of(cell).word == GROWS}
    steady = [name + _how_reloads_went(cell) for name, cell in cells.items() if growth_of(cell).word == STEADY]
    after = f" after {row.case}" if row.case == AFTER_BODIES else ""
    more, same = f"Memory grows{after}", f"Memory is steady{after}"
    if row.case == RELOADED:
        more, same = "File descriptors stay open", "File descriptors are steady over reloads"
    parts = [f"{words.head.removeprefix(GROWS).strip()} with {name}" for name, words in grows.items()]
    if parts:
        yield GREW, f"{more}: {listed(parts)}{once(cells)}."
    if steady:
        yield KNOWN, f"{same} with {listed(steady)}{once(cells)}."


def _how_reloads_went(cell: EventCell) -> str:
    """` (17 of 20 reloads, lost 492 of 713 requests)`; empty if all were done, and hardly any request was lost."""
    if not (done := cell.figures("reloads")):
        return ""
    parts = [f"{whole(done)} of {RELOADS} reloads"] if min(done) < RELOADS else []
    parts += [f"lost {cell.lost:,} of {cell.sent:,} requests"] if share(cell.counts) >= FEW else []
    return f" ({', '.join(parts)})" if parts else ""


def _advice(rows: Sequence[tuple[EventRow, Named]]) -> Iterator[str]:
    unknown = [
        name for _, cells in rows for name, cell in cells.items() if growth_of(cell).word in (NOT_ENOUGH, TOO_SHORT)
    ]
    if names := list(dict.fromkeys(unknown)):
        yield f"The load was too short to tell whether memory grows: {listed(names)} (`--duration {LEAST_S}` or more)."


def _head(cell: EventCell) -> CellWords:
    """`grows 1.2 KB per 1,000 requests`, `steady (-0.1 to 0.3 descriptors a reload)`."""
    reloads = bool(cell.figures("reloads"))
    unit, each, times = ("descriptors", "a reload", 1.0) if reloads else ("KB", "per 1,000 requests", 1000 / 1024)
    growth = growth_of(cell)
    words, more = growth.word, list[str]()
    if growth.mean is not None and growth.low is not None and growth.high is not None:
        low, mean, high = (_signed(one * times) for one in (growth.low, growth.mean, growth.high))
        interval = f"{low} to {high}" if low != high else low
        grows = growth.word == GROWS
        words = f"{GROWS} {mean} {unit} {each}" if grows else f"{growth.word} ({interval} {unit} {each})"
        more = [f"95 % interval {interval}"] if grows and low != high else []
    return CellWords(words, (*more, *_how_much(cell)), {GROWS: "bad", STEADY: "good"}.get(growth.word, ""))


def _signed(value: float) -> str:
    """Two significant digits, `-0.12`; zero has no sign."""
    return f"{value:.2g}" if 0.005 <= abs(value) < 10 else f"{round(value):,}"


def _how_much(cell: EventCell) -> Iterable[str]:
    """The work that a slope is based on, and the memory that large bodies leave behind."""
    if reloads := cell.figures("reloads"):
        yield f"{whole(reloads)} of {RELOADS} reloads"
        return
    asked, seconds = cell.figures("requests"), cell.figures("parts_s")
    if sizes := cell.figures("kept_bytes"):
        grown = cell.figures("grown_bytes")
        # Workers that serve the requests afterwards may need more than the large bodies did.
        kept = [max(0.0, min(one, most)) for one, most in zip(sizes, grown, strict=True)]
        words = "all" if kept == grown else span(kept, megabytes)
        yield f"keeps {words} of the {span(grown, megabytes)} allocated for large bodies"
        sent, taken = sum(cell.figures("bodies")), sum(cell.figures("bodies_answered"))
        if taken < sent:
            yield f"{sent - taken:.0f} of {sent:.0f} large bodies not accepted"
    elif asked and min(asked) < MILLION:
        yield f"{whole(asked)} of {MILLION:,} requests in {whole(seconds)} s"


def _short(cell: EventCell) -> str:
    word = growth_of(cell).word
    return word if word in (GROWS, STEADY) else ""


def _verdict(cell: EventCell) -> Mapping[str, Any]:
    return {"growth": asdict(growth_of(cell))} if any(record.points for record in cell.counted) else {}


WORDS = EventWords(findings=_findings, advice=_advice, head=_head, short=_short, verdict=_verdict)
