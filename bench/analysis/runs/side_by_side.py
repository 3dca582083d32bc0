"""Steps made side by side on several pairs of nodes: how much faster that was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.core.files import as_object, mapping, read_bytes
from bench.records.counters import whole
from bench.run.reader import Run

KEY = "lanes"
"""The key in run.json."""
StepTimes = tuple[int, int]
"""When a step began and ended, in ns."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """The sum of all steps' durations, the time during which any was under way (in seconds), and the `most` at once."""

    steps_s: float
    wall_s: float
    most: int

    @property
    def ratio(self) -> float:
        """How many times as fast as one step after another on one pair."""
        return self.steps_s / self.wall_s


def speed_up(spans: Iterable[StepTimes]) -> SpeedUp | None:
    """From the times of steps; None without any. Time in which no step was under way is left out."""
    known = sorted(span for span in spans if span[1] > span[0])
    if not known:
        return None
    wall, reached = 0, known[0][0]
    for begin, end in known:
        wall += max(0, end - max(begin, reached))
        reached = max(reached, end)
    # At the same instant, one ends before the next begins.
    changes = sorted([(begin, 1) for begin, _ in known] + [(end, -1) for _, end in known])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return SpeedUp(sum(end - begin for begin, end in known) / 1e9, wall / 1e9, most)


def spans_of(source: Run) -> Iterator[StepTimes]:
    """The times of each step that was measured; the windows of a block share them."""
    found: dict[str, StepTimes] = {}
    for one in source.planned:
        if one.step in found:
            continue
        meta = mapping(as_object(read_bytes(f"{source.path}/{one.dir}/meta.json") or b""))
        begin, end = whole(meta.get("begin_ns")), whole(meta.get("end_ns"))
        if begin is not None and end is not None:
            found[one.step] = (begin, end)
    yield from found.values()
