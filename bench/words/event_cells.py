"""A cell in a table of events in words: its count or its verdict, and details."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bench.analysis.events import EventCell, Kind, is_gone
from bench.core.formats import plural
from bench.plan.event import Losses
from bench.plan.events import event_kind
from bench.words.event_words import CellWords, in_rounds, seconds_of, seconds_words, whole, words_of
from bench.words.texts import TEXTS

GAP_S = 0.5
"""A time without a good response counts as an outage from this length on, even if no request was lost."""
FATES: Mapping[str, str] = TEXTS["fates"]


def cell_words(cell: EventCell) -> CellWords:
    """The words of one cell."""
    if cell.kind is not Kind.COUNTED:
        seen = [one for one in cell.records if one.sent and not one.unaccounted]
        counts = f"lost {sum(one.lost for one in seen):,} of {sum(one.sent or 0 for one in seen):,}, not compared"
        more = [cell.reason] * (cell.kind is not Kind.CANNOT) + [counts] * bool(seen)
        return CellWords(TEXTS["kinds"][cell.kind], (*more,))
    words = words_of(cell.event)
    if words.head:
        return _with_losses(words.head(cell), cell)
    counts = lost_words(cell)
    more = [*([] if cell.gone else _outage(cell)), *_out_of_memory(cell), *words.details(cell)]
    more += [*_not_as_before(cell), *_not_counted(cell)]
    if cell.gone:
        head = "no good response at the end" if event_kind(cell.event).queues else "never came back"
        return CellWords(f"{head}{in_rounds(cell.gone, len(cell.counted))}", (counts, *more), "bad")
    return CellWords(counts, (*more,), "bad" if cell.lost else "good")


def _with_losses(words: CellWords, cell: EventCell) -> CellWords:
    """The words of an event with a figure of its own, plus its losses and the rounds that are not counted."""
    more = [lost_words(cell), *_outage(cell), *words.more, *_not_as_before(cell)]
    if cell.gone:
        more.append(f"no good response at the end{in_rounds(cell.gone, len(cell.counted))}")
    lost = cell.lost and event_kind(cell.event).losses is not Losses.NOT_COMPARED
    return replace(words, more=(*more, *_not_counted(cell)), mark="bad" if lost else words.mark)


def lost_words(cell: EventCell) -> str:
    """`lost 3 of 1,486`, `lost all requests from then on`."""
    counts = f"{cell.lost:,} of {cell.sent:,} {words_of(cell.event).counted}".rstrip()
    return f"lost {gone_words(cell) or counts}"


def gone_words(cell: EventCell) -> str:
    """`all requests from then on`, if it never came back; empty for others.

    Its share of the window's requests would only say when the window ended; a queue may only take longer than that.
    """
    if not cell.gone or event_kind(cell.event).queues:
        return ""
    after = cell.silent_s
    words = f"all requests from {'then' if max(after) < GAP_S else f'{seconds_of(after)} later'} on"
    rest = [one for one in cell.counted if not is_gone(one)]
    lost, sent = (sum(figures) for figures in ([one.lost for one in rest], [one.sent or 0 for one in rest]))
    return f"{words}, {f'{lost:,}' if lost else 'none'} of {sent:,} in the other rounds" if rest else words


def _outage(cell: EventCell) -> Iterator[str]:
    if cell.gap_s is not None and cell.gap_s >= GAP_S:
        yield f"outage of {seconds_words(cell.gap_s)} s"


def _out_of_memory(cell: EventCell) -> Iterator[str]:
    if killed := cell.figures("oom_kills"):
        yield f"{whole(killed)} of its processes killed for lack of memory"


def _not_as_before(cell: EventCell) -> Iterator[str]:
    if cell.disturbed:
        yield f"not back to normal at the end{in_rounds(cell.disturbed, len(cell.counted))}"


def _not_counted(cell: EventCell) -> Iterator[str]:
    if left := len(cell.records) - len(cell.counted):
        yield f"{plural(left, 'round')} not counted: {cell.reason}"


def outcome_words(cell: EventCell) -> str:
    """`3 reset, 1 timed out`; empty if nothing was lost."""
    return ", ".join(f"{count:,} {FATES[fate]}" for fate, count in cell.fates().items())
