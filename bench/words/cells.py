"""Cells in words: their figures, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bench.analysis.causes import HARMLESS_TO_KNEES, HOST, causes_beside
from bench.analysis.cells.cell import Cell, FigureOf
from bench.analysis.cells.compared import Ratio
from bench.analysis.cells.knees import has_held, knee_of
from bench.core.formats import NOTHING, number, span, times
from bench.records.knee import CONFIRMATIONS
from bench.records.record import Record
from bench.validity.run_rules import BOUND


def state_words(cell: Cell) -> str:
    """The names of the causes for a missing figure."""
    return ("invalid: " if cell.measured else "") + ", ".join(cell.causes)


def rate_words(cell: Cell) -> str:
    """Goodput with its range over the rounds, or why there is none; `†2/5`: only two of five rounds were run."""
    mean = cell.goodput
    values = [record.goodput for record in cell.counted or cell.valid if record.goodput is not None]
    if not values:
        return state_words(cell)
    over_rounds = span(number(min(values)), number(max(values)))
    if mean is None:
        return f"{over_rounds} in {len(values)} of {len(cell.records)} rounds"
    cut = f" \u2020{len(values)}/{len(cell.records)}" if len(values) < len(cell.records) else ""
    # The mean comes first, so that columns can be sorted.
    words = f"{number(mean)} (noisy: {over_rounds})" if cell.has(HOST) else _with_range(number(mean), over_rounds)
    return f"{words}{', or more' * cell.has(BOUND)}{cut}"


def _with_range(mean: str, over_rounds: str) -> str:
    return mean if over_rounds == mean else f"{mean} ({over_rounds})"


def span_words(records: Iterable[Record], figure: FigureOf, write: Callable[[float], str]) -> str:
    """One figure over the records: a single value, or lowest to highest (percentiles are never averaged)."""
    values = [value for record in records if (value := figure(record)) is not None]
    if not values:
        return NOTHING
    return span(write(min(values)), write(max(values)))


def ratio_words(ratio: Ratio) -> str:
    """`1.031 (0.990 to 1.072)`, with its range over the rounds."""
    return _with_range(times(ratio.ratio), span(times(ratio.low), times(ratio.high)))


def doubts(records: Sequence[Record]) -> str:
    """Why a cell has no confirmed knee; empty if it has one."""
    knee, later = knee_of(records)
    if knee is None:
        return "; ".join(dict.fromkeys(record.nulls["knee_rate"] for record in records if "knee_rate" in record.nulls))
    reasons = [f"round {record.round}: {_reason(record)}" for record in later if not has_held(record, knee)]
    if not reasons and len(later) < CONFIRMATIONS:
        return f"{CONFIRMATIONS} later rounds are needed"
    return "; ".join(reasons)


def _reason(record: Record) -> str:
    if causes := causes_beside(record, HARMLESS_TO_KNEES):
        return "; ".join(f"{cause.cause}: {cause.detail}" for cause in causes)
    return record.nulls.get("knee_rate", f"different knee, {number(record.knee_rate or 0)}/s")
