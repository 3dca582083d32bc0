"""What is said of a run in which several load generators shared the load of each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.core.files import mapping
from bench.core.formats import milliseconds
from bench.records.record import Record

SUMS = (
    "requests/s and errors are their sums; percentiles of wrk, ab and hey cannot be merged and are left out, those of "
    "vegeta are of all results"
)


def loadgen_words(facts: Mapping[str, Any], records: Iterable[Record]) -> str:
    """How many there were and where, and how far apart they started; empty where there was one."""
    number = facts.get("loadgens")
    if not isinstance(number, int) or number < 2:
        return ""
    every = [*records]
    if any(record.node for record in every):
        where = "each on a node of its own"
    else:
        cpus = mapping(facts.get("knobs")).get("LOADGEN_CPUS", "unknown")
        where = f"on one machine, where they shared the CPUs {cpus}: that is no more load than one can make"
    skews = [record.start_skew_s for record in every if record.start_skew_s is not None]
    started = f"; started within {milliseconds(max(skews))} of each other" if skews else ""
    return f"{number} at once on each cell, which shared its connections or rate, {where}{started}; {SUMS}"
