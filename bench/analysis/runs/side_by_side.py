"""What a report has to say of steps that were made side by side, on several pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.core.files import as_object, items, mapping, read_bytes
from bench.records.resource_usage import whole
from bench.run.reader import Run

KEY = "lanes"
"""Of run.json."""
Span = tuple[int, int]
"""When a step began and ended, in ns."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """What the steps took in sum, and for how long any of them was under way, in seconds; `most` at once."""

    steps_s: float
    wall_s: float
    most: int

    @property
    def ratio(self) -> float:
        """How many times as fast as one after another on one pair."""
        return self.steps_s / self.wall_s


def side_by_side(source: Run) -> Iterator[tuple[str, str]]:
    """(name, words), only of a run that has had several pairs of nodes, or has left some out."""
    entry = mapping(source.facts.get(KEY))
    if (whole(entry.get("most")) or 1) > 1:
        yield "pairs of nodes", " ".join(_sentences(source))
    if left_out := items(entry.get("left_out")):
        yield "nodes left out", f"{'; '.join(map(str, left_out))}: figures of nodes of several kinds are not compared"


def _sentences(source: Run) -> Iterator[str]:
    yield f"{speed_up_words(source)}."
    yield "Blocks of services in turns were drawn over the pairs anew in each round, each whole on one of them;"
    yield "so were windows alone, those of one server, framework, Python, base and scenario together."
    if shared := items(mapping(source.facts.get(KEY)).get("shared")):
        yield f"Databases and upstreams of several pairs shared {', '.join(map(str, shared))}:"
        yield "what needs them has their noise in common."


def speed_up_words(source: Run) -> str:
    """How much faster the run was than on one pair."""
    found = speed_up(_spans(source))
    if found is None:
        return "no step was measured"
    steps, wall = f"{found.steps_s / 60:.1f} min", f"{found.wall_s / 60:.1f} min"
    return f"{found.ratio:.2f} times as fast as on one pair: steps of {steps} in {wall}, up to {found.most} at once"


def speed_up(spans: Iterable[Span]) -> SpeedUp | None:
    """Of steps that were made at these times; None without any. Time in which none was under way is left out."""
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


def _spans(source: Run) -> Iterator[Span]:
    """Of each step that was measured: the windows of a block have it in common."""
    found: dict[str, Span] = {}
    for one in source.planned:
        if one.step in found:
            continue
        meta = mapping(as_object(read_bytes(f"{source.path}/{one.dir}/meta.json") or b""))
        begin, end = whole(meta.get("begin_ns")), whole(meta.get("end_ns"))
        if begin is not None and end is not None:
            found[one.step] = (begin, end)
    yield from found.values()
