"""Which load tools could not load which services, said once for each tool. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bench.analysis.words.tables.order import listed
from bench.records.record import MEASURED, Record
from bench.validity.bound_cells import BOUND_AFTER, cell_key, is_bound

MOST_NAMES = 6


def bound_tools(records: Iterable[Record]) -> Iterator[str]:
    """A line for each tool that was the limit of a closed loop in every round, and what would help."""
    every = [record for record in records if record.outcome == MEASURED and record.rate is None]
    cells: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in every:
        if record.mode == "solo":
            cells.setdefault(cell_key(record), []).append(record)
    bound: dict[str, list[list[Record]]] = {}
    for key, measured in cells.items():
        if all(map(is_bound, measured)):
            bound.setdefault(key[2], []).append(measured)
    loaded = {(r.service, r.scenario): r.tool for r in every if r.mode in ("solo", "turns") and r.valid}
    for tool, found in bound.items():
        services = list(dict.fromkeys(measured[0].service for measured in found))
        them = "them" if len(services) > 1 else "it"
        ended = any(len(measured) == BOUND_AFTER for measured in found)
        line = f"{tool} is the limit for {_names(services)}: no requests/s of {them} by {tool}"
        line += f", and no more than {BOUND_AFTER} rounds; " if ended else "; "
        others = {loaded.get((measured[0].service, measured[0].scenario)) for measured in found}
        if None not in others:
            line += f"{listed(sorted(filter(None, others)))} could load {them}, and "
        yield f"{line}more CPUs for the load generator (LOADGEN_CPUS) would help."


def _names(services: list[str]) -> str:
    left = len(services) - MOST_NAMES
    return listed(services) if left <= 1 else f"{', '.join(services[:MOST_NAMES])} and {left} more"
