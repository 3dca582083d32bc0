"""A load that is a closed loop in parts, with a report of wrk for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from bench.core.files import items, mapping
from bench.records.event import Fate
from bench.records.event_window import Window
from bench.tools import parse


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
