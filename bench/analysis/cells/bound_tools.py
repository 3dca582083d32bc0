"""Which load tools could not load which services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.core.groups import grouped
from bench.records.record import MEASURED, Record
from bench.validity.bound_cells import BOUND_AFTER, cell_key, is_bound


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool that was the limit of closed loops of these services in every round.

    `ended`: some of them were not measured on for that. `others`: the tools that could load all of them; empty if one
    of them was loaded by none.
    """

    tool: str
    services: tuple[str, ...]
    ended: bool
    others: tuple[str, ...]


def bound_tools(records: Iterable[Record]) -> Iterator[BoundTool]:
    """Each such tool of a run, in the order of its records."""
    every = [record for record in records if record.outcome == MEASURED and record.rate is None]
    cells = grouped((record for record in every if record.mode == "solo"), cell_key).values()
    bound = grouped((cell for cell in cells if all(map(is_bound, cell))), lambda cell: cell[0].tool)
    loaded = {(r.service, r.scenario): r.tool for r in every if r.mode in ("solo", "turns") and r.valid}
    for tool, found in bound.items():
        others = {loaded.get((measured[0].service, measured[0].scenario), "") for measured in found}
        yield BoundTool(
            tool,
            tuple(dict.fromkeys(measured[0].service for measured in found)),
            any(len(measured) == BOUND_AFTER for measured in found),
            () if "" in others else tuple(sorted(others)),
        )
