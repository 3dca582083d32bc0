"""Where one worker gets more than chance explains, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed, milliseconds
from bench.events.balance.figures import connections_of
from bench.stats.even_shares import UNEVEN, p_even
from bench.words.event_words import (
    BAD,
    KNOWN,
    CellWords,
    EventWords,
    Named,
    Weighted,
    once,
    percent,
    span,
    whole,
)

MOST_EVEN = 1.2
"""Shares are uneven if one worker gets more than this many times the even share."""


def _p_even(cell: EventCell) -> float:
    """The p value of connections being shared evenly among its workers; 1 with fewer than two workers."""
    return p_even([connections_of(record) for record in cell.counted])


def _findings(row: EventRow, cells: Named) -> Weighted:
    parts, workers, costs = [], list[float](), False
    for name, cell in cells.items():
        if (shares := cell.figures("worst_share")) and _p_even(cell) <= UNEVEN:
            workers += cell.figures("workers")
            p99, even = cell.figures("p99_s"), _even_p99(cell)
            costs |= bool(even) and min(p99) > max(even)
            cost = f" (p99 {span(p99, milliseconds)}, {span(even, milliseconds)} with even shares)" if even else ""
            parts.append(f"{percent(shares)} with {name}{cost}")
    if parts:
        yield (
            BAD if costs else KNOWN,
            f"Uneven load ({row.case}): one of {whole(workers)} workers gets {listed(parts)}{once(cells)}.",
        )


def _head(cell: EventCell) -> CellWords:
    """`71 % to one of 4 workers`, and what that costs."""
    workers, worst = cell.figures("workers"), cell.figures("worst_share")
    if not worst:
        return CellWords("unknown: responses do not say which worker gave them")
    if max(workers) < 2:
        return CellWords("only one worker")
    uneven = _p_even(cell) <= UNEVEN
    more = ["more than chance explains" if uneven else "within chance"]
    more += [_cost(cell, uneven=uneven)] if cell.figures("p99_s") else []
    return CellWords(f"{percent(worst)} to one of {whole(workers)} workers", (*more,), "bad" if uneven else "good")


def _cost(cell: EventCell, *, uneven: bool) -> str:
    """p99 as measured, and with even shares if these could be produced."""
    p99 = f"p99 {span(cell.figures('p99_s'), milliseconds)}"
    if not cell.figures("even_worst_share") or not uneven:
        return p99
    even = _even_p99(cell)
    return p99 + (f", {span(even, milliseconds)} with even shares" if even else "; even shares could not be produced")


def _even_p99(cell: EventCell) -> list[float]:
    """p99 in seconds with even shares, for each round; none if the client could not produce even shares."""
    shares = cell.figures("even_worst_share")
    even = bool(shares) and max(shares) <= MOST_EVEN / max(cell.figures("workers"))
    return cell.figures("even_p99_s") if even else []


def _short(cell: EventCell) -> str:
    shares = cell.figures("worst_share")
    return f"{100 * max(shares):.0f} %" if shares else ""


def _verdict(cell: EventCell) -> Mapping[str, Any]:
    return {"p_even": _p_even(cell)} if cell.figures("worst_share") else {}


WORDS = EventWords(
    subject="under an easy load ({case}), {}", findings=_findings, head=_head, short=_short, verdict=_verdict
)
