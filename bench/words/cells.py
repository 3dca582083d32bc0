"""Cells in words: their figures, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from bench.analysis.causes import HARMLESS_TO_KNEES, causes_beside
from bench.analysis.cells.cell import Cell, FigureOf
from bench.analysis.cells.compared import Ratio
from bench.analysis.cells.knees import has_held, knee_of
from bench.core.formats import NOTHING, number, span, times
from bench.records.knee import CONFIRMATIONS
from bench.records.record import Record


def state_words(cell: Cell) -> str:
    """The names of the causes for a missing figure."""
    return ("invalid: " if cell.measured else "") + ", ".join(cell.causes)


def details_words(cell: Cell) -> str:
    """The causes with their details, each cause once."""
    return "; ".join(f"{cause}: {detail}" for cause, detail in cell.causes.items())


def rate_words(cell: Cell) -> str:
    """Goodput with its range over the rounds, or why there is none.

    `†2/5`: fewer rounds have requests/s than were measured.
    """
    mean = cell.goodput
    if mean is None:
        noisy = [record.goodput for record in cell.noisy if record.goodput is not None]
        # Every round was noisy: the mean is shown but not ranked.
        return f"about {number(fmean(noisy))} (noisy: {_range(noisy)})" if noisy else state_words(cell)
    values = [record.goodput for record in cell.valid if record.goodput is not None]
    words = _with_range(number(mean), _range(values))
    if len(values) < len(cell.records):
        words += f" \u2020{len(values)}/{len(cell.records)}"
    return words


def _range(values: Sequence[float]) -> str:
    return span(number(min(values)), number(max(values)))


def _with_range(mean: str, over_rounds: str) -> str:
    return mean if over_rounds == mean else f"{mean} ({over_rounds})"


def span_words(records: Iterable[Record], figure: FigureOf, write: Callable[[float], str]) -> str:
    """One figure over the records: a single value, or lowest to highest (percentiles are never averaged)."""
    values = [value for record in records if (value := figure(record)) is not None]
    if not values:
        return NOTHING
    return span(write(min(values)), write(max(values)))


def ratio_words(found: Ratio) -> str:
    """`1.031 (0.990 to 1.072)`, with its range over the rounds."""
    return _with_range(times(found.ratio), span(times(found.low), times(found.high)))


def doubts(records: Sequence[Record]) -> str:
    """Why a cell has no confirmed knee; empty if it has one."""
    found, later = knee_of(records)
    if found is None:
        return "; ".join(dict.fromkeys(record.nulls["knee_rate"] for record in records if "knee_rate" in record.nulls))
    reasons = [f"round {record.round}: {_reason(record)}" for record in later if not has_held(record, found)]
    if not reasons and len(later) < CONFIRMATIONS:
        return f"{CONFIRMATIONS} later rounds are needed"
    return "; ".join(reasons)


def _reason(record: Record) -> str:
    if causes := causes_beside(record, HARMLESS_TO_KNEES):
        return "; ".join(f"{cause.cause}: {cause.detail}" for cause in causes)
    return record.nulls.get("knee_rate", f"different knee, {number(record.knee_rate or 0)}/s")
