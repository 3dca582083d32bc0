"""Figures of the events memory and balance: requests by part of the load, growth, and shares of workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.core.files import items, mapping
from bench.plan.event import WORKERS
from bench.records.event import BODY, OPEN, Fate, GrowthSample
from bench.records.event_needs import Figures
from bench.records.event_window import Row, Window, percentile
from bench.tools import parse

FILLED_S = 1.0
"""Latencies count from this long after a phase began: until then, connections are being opened."""
AT_REST_S = 1.5
"""Seconds without load at the end of the window."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a closed loop; times are in seconds, `fates` is None if the tool's output cannot be read."""

    begin: float
    end: float
    fates: Counter[Fate] | None

    @property
    def answered(self) -> int:
        """The number of requests that were answered well and in time."""
        return self.fates[Fate.ANSWERED] if self.fates else 0


def parts_of(window: Window) -> list[Part]:
    """The parts of the window's load; empty if it is not a closed loop."""
    told = [mapping(one) for one in items(window.tool.get("parts"))]
    return [Part(one["begin_ns"] / 1e9, one["end_ns"] / 1e9, _fates(str(one["output"]))) for one in told]


def _fates(output: str) -> Counter[Fate] | None:
    """Fates from wrk's output: its request count includes late and non-2xx responses, but not other errors."""
    parsed = parse("wrk", output.encode())
    errors = parsed.errors
    counts = (parsed.requests, errors.connect, errors.read, errors.write, errors.timeout, errors.non2xx)
    if parsed.report != "complete" or any(one is None for one in counts):
        return None
    requests, connect, read, write, late, other = (one or 0 for one in counts)
    fates = {
        Fate.ANSWERED: requests - other - late,
        Fate.REFUSED: connect,
        Fate.RESET: read + write,
        Fate.TIMED_OUT: late,
        Fate.OTHER_STATUS: other,
    }
    return Counter({fate: count for fate, count in fates.items() if count})


def points(window: Window) -> list[GrowthSample]:
    """Growth samples: the median memory in each part, or the file descriptors after each reload."""
    if window.event.repeats:
        counts = [items(one)[1] for one in items(window.told.get("descriptors"))]
        return [GrowthSample(float(at), float(count)) for at, count in enumerate(counts) if isinstance(count, int)]
    samples, done = [], 0
    for part in parts_of(window):
        sizes = [size for at, size in window.memory if part.begin <= at <= part.end]
        if sizes and part.answered:
            samples.append(GrowthSample(done + part.answered / 2, float(median(sizes))))
        done += part.answered
    return samples


def memory_figures(window: Window) -> Figures:
    """The amount of work, and the file descriptors, or memory that large bodies leave behind."""
    if window.event.repeats:
        counted = [items(one)[1] for one in items(window.told.get("descriptors"))]
        known = [count for count in counted if isinstance(count, int)]
        return {
            "reloads": len(window.actions),
            "descriptors_before": known[0] if known else None,
            "descriptors_after": known[-1] if known else None,
        }
    parts = parts_of(window)
    figures: Figures = {
        "requests": sum(part.answered for part in parts),
        "parts_s": sum(part.end - part.begin for part in parts),
    }
    return figures | (_bodies(window, parts) if window.event.bodies else {})


def _bodies(window: Window, parts: Sequence[Part]) -> Figures:
    bodies = [row for row in window.log if row.kind == BODY]
    begin, end = (at / 1e9 for at in window.tool["bodies_ns"])
    during = [size for at, size in window.memory if begin <= at <= end + 0.5]
    last = max((at for at, _ in window.memory), default=0.0)
    at_rest = [size for at, size in window.memory if at > max(last - AT_REST_S, parts[-1].end if parts else end)]
    before = window.memory_before
    known = during and at_rest and before is not None
    return {
        "bodies": len(bodies),
        "bodies_answered": sum(row.good for row in bodies),
        "grown_bytes": max(during) - before if known and before is not None else None,
        "kept_bytes": round(median(at_rest)) - before if known and before is not None else None,
    }


def balance_figures(window: Window) -> Figures:
    """Requests and connections of each worker, sorted by requests (most first), and p99, also that with even shares."""
    first = window.rates[0][1]
    comes = [row for row in window.log if row.due < first and not row.kind and row.good]
    by_worker = Counter(row.worker for row in comes if row.worker)
    workers = {*window.workers_before, *by_worker}
    # A process that never answered was taken for a helper; count it as a worker if there are too few otherwise.
    workers |= {*items(window.told.get("others"))[: max(0, WORKERS - len(workers))]}
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
