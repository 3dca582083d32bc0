"""Requests sent and answered in time, and CPU time, in each phase. The event begins when the overload ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from bench.records.event import Action, Fate
from bench.records.event_window import EventFigures, Figures, Window


def _figures(window: Window) -> Figures:
    figures: Figures = {}
    begin, work = 0.0, list[tuple[int, float | None]]()
    for number, ((rate, seconds), phase) in enumerate(zip(window.rates, window.event.phases, strict=True), 1):
        rows = [row for row in window.log if begin <= row.due < begin + seconds and not row.kind]
        lasted = seconds
        if number == len(window.rates) and rows:
            # The last phase ends early, once the service has recovered.
            lasted = min(seconds, max(row.due for row in rows) + 1 / rate - begin)
        name = f"{number}_{phase.share:g}x"
        good = sum(row.good for row in rows)
        cpu_s = window.cpu_s(begin, begin + lasted)
        figures |= {f"rate_{name}": rate, f"sent_{name}": len(rows), f"good_{name}": good}
        figures |= {f"goodput_{name}": good / lasted, f"cpu_s_{name}": cpu_s}
        fates = {Fate.STATUS_503: 0} | dict(Counter(row.fate for row in rows if row.fate and not row.good))
        figures |= {f"{fate.value}_{name}": count for fate, count in fates.items()}
        work.append((good, cpu_s))
        begin += seconds
    return figures | {"cpu_unanswered": _cpu_unanswered(work)}


def _cpu_unanswered(work: Sequence[tuple[int, float | None]]) -> float | None:
    """The share of CPU time after the first phase that is not explained by requests answered in time.

    `work`: good responses and CPU seconds of each phase. A request is taken to need as much as in the first phase.
    """
    (first, before_s), *later = work
    known = [cpu_s for _, cpu_s in later if cpu_s]
    if not first or not before_s or not known or len(known) < len(later):
        return None
    return 1 - sum(good for good, _ in later) * before_s / first / sum(known)


def _phases(window: Window) -> tuple[Action, ...]:
    first, *later = window.event.phases
    begins = accumulate((phase.seconds for phase in later), initial=first.seconds)
    return tuple(Action(f"{phase.share:g} times the capacity", at) for phase, at in zip(later, begins, strict=False))


FIGURES = EventFigures(figures=_figures, acted=_phases, begins_last=True)
