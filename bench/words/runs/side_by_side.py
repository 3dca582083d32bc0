"""What a report has to say of steps that were made side by side, on several pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.runs.side_by_side import KEY, spans_of, speed_up
from bench.core.files import items, mapping
from bench.records.resource_usage import whole
from bench.run.reader import Run


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
    found = speed_up(spans_of(source))
    if found is None:
        return "no step was measured"
    steps, wall = f"{found.steps_s / 60:.1f} min", f"{found.wall_s / 60:.1f} min"
    return f"{found.ratio:.2f} times as fast as on one pair: steps of {steps} in {wall}, up to {found.most} at once"
