"""Requests and connections of each worker, and p99; the same while requests go to the workers in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench.plan.event import WORKERS
from bench.records.event import OPEN, Action, EventRecord
from bench.records.event_window import EventFigures, Figures, Row, Window, percentile

FILLED_S = 1.0
"""Latencies count from this long after a phase began: until then, connections are being opened."""


def _figures(window: Window) -> Figures:
    """The figures of each worker are sorted by requests, most first."""
    first = window.rates[0][1]
    comes = [row for row in window.log if row.due < first and not row.kind and row.good]
    by_worker = Counter(row.worker for row in comes if row.worker)
    workers = {*window.told.before, *by_worker}
    # A process that never answered was taken for a helper; count it as a worker if there are too few otherwise.
    workers |= {*window.told.others[: max(0, WORKERS - len(workers))]}
    figures: Figures = {"p99_s": _p99(comes, 0.0)}
    if not by_worker:
        return figures | {"workers": None}
    opened = Counter(worker for worker, _ in {(row.worker, row.connection) for row in comes if row.worker})
    figures["opened"] = sum(row.kind == OPEN for row in window.log)
    figures |= {"workers": len(workers), "worst_share": max(by_worker.values()) / by_worker.total()}
    for number, pid in enumerate(sorted(workers, key=lambda pid: -by_worker[pid]), 1):
        figures |= {f"requests_{number}": by_worker[pid], f"connections_{number}": opened[pid]}
    return figures | _even(window)


def _even(window: Window) -> Figures:
    """Figures of the phase in which requests went to the workers in turn."""
    if window.event.even_from is None:
        return {}
    begin = sum(seconds for _, seconds in window.rates[: window.event.even_from])
    rows: list[Row] = [row for row in window.log if row.due >= begin and not row.kind and row.good]
    by_worker = Counter(row.worker for row in rows)
    return {
        "even_requests": len(rows),
        "even_worst_share": max(by_worker.values()) / len(rows) if rows else None,
        "even_p99_s": _p99(rows, begin),
    }


def _p99(rows: Sequence[Row], begin: float) -> float | None:
    """p99 latency of the rows of a phase that began then."""
    return percentile(99, [row.latency for row in rows if row.due >= begin + FILLED_S])


def _in_turn(window: Window) -> tuple[Action, ...]:
    if window.event.even_from is None:
        return ()
    begin = sum(phase.seconds for phase in window.event.phases[: window.event.even_from])
    return (Action("workers are asked in turn", begin),)


def connections_of(record: EventRecord) -> tuple[int, ...]:
    """The connections of each worker."""
    return tuple(int(value or 0) for name, value in record.extras.items() if name.startswith("connections_"))


FIGURES = EventFigures(figures=_figures, acted=_in_turn)
