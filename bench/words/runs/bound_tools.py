"""Load tools that could not load services, in words."""

from __future__ import annotations

from bench.analysis.cells.bound_tools import BoundTool
from bench.core.formats import MOST_NAMES, listed
from bench.validity.bound_cells import BOUND_AFTER


def bound_words(found: BoundTool) -> str:
    """What a tool could not load, and what would help."""
    them = "them" if len(found.services) > 1 else "it"
    line = f"{found.tool} is the limit for {_names(found.services)}: no requests/s of {them} by {found.tool}"
    line += f", and no more than {BOUND_AFTER} rounds; " if found.ended else "; "
    line += f"{listed(found.others)} could load {them}, and " if found.others else ""
    return f"{line}more CPUs for the load generator (LOADGEN_CPUS) would help."


def _names(services: tuple[str, ...]) -> str:
    return listed(services) if len(services) == MOST_NAMES + 1 else listed(services, MOST_NAMES, MOST_NAMES)
