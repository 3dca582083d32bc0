"""`glance RUN STEP`: what a measurement gave just now, in one line, by the parsers and the gate of the report.

The gate sees this step and the null server's so far, not the whole run: the report may refuse more, and never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.core.errors import UserError
from bench.core.files import mapping
from bench.core.formats import number
from bench.records.record import Record
from bench.run.reader import Run, read_raw, read_service
from bench.validity.run_records import judged_record
from bench.validity.run_rules import apply_run_rules, noise_limits_of

VALID, INVALID = "valid", "invalid"
LONGEST = 100
"""Characters of what is told."""


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """`state` is valid or invalid; `words` have the goodput of valid windows alone, else the first cause."""

    state: str
    words: str


def records_of(source: Run, step: str) -> list[Record]:
    """The records of one step (a measurement, or all windows of a pair's round) as the gate leaves them."""
    mine = [planned for planned in source.planned if step in (planned.id, planned.unit)]
    if not mine:
        raise UserError(f"no step '{step}' is planned")
    nulls = [planned for planned in source.planned if planned.mode == "null" and planned not in mine]
    records = []
    for planned in (*mine, *nulls):
        raw = read_raw(source.path, planned)
        if planned in mine or raw.meta is not None:
            records.append(judged_record(planned, raw, read_service(source.path, planned.service)))
    return apply_run_rules(records, noise_limits_of(mapping(source.facts.get("knobs"))))[: len(mine)]


def live_status(records: Iterable[Record]) -> LiveStatus:
    """Pure: one measurement's goodput, or that of a pair's sides, over its windows."""
    every = list(records)
    refused = next((record for record in every if not record.valid), None)
    if refused is not None:
        cause = refused.causes[0]
        return LiveStatus(INVALID, _shown(f"invalid: {cause.cause}: {cause.detail}"))
    sides = [[r for r in every if r.side == side] for side in dict.fromkeys(record.side for record in every)]
    rates = [rate for windows in sides if (rate := _goodput(windows)) is not None]
    if len(rates) < len(sides):
        return LiveStatus(VALID, "no figure")
    return LiveStatus(VALID, f"{' and '.join(map(number, rates))} requests/s")


def _goodput(windows: Sequence[Record]) -> float | None:
    """Successes by time of all windows together."""
    if any(not record.goodput or not record.successes for record in windows):
        return None
    seconds = sum((record.successes or 0) / (record.goodput or 1) for record in windows)
    return sum(record.successes or 0 for record in windows) / seconds


def _shown(text: str) -> str:
    """`text` as a terminal may have it: one line, nothing that steers it."""
    shown = "".join(mark if mark.isprintable() else "?" for mark in " ".join(text.split()))
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
