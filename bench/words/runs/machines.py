"""What a report has to say of the machines of a run: where what was, several load generators, the network between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench.core.files import mapping, read_bytes
from bench.core.formats import milliseconds
from bench.records.record import Record
from bench.run.reader import Run

SUMS = (
    "requests/s and errors are their sums; percentiles of wrk, ab and hey cannot be merged and are left out, those of "
    "vegeta are of all results"
)
FILE = "network-cost.txt"
"""In the folder of a run on a swarm: what `scripts/harness-cost.sh --network` had last said when it was planned."""
LINES = 6
"""Most lines of it: when and between which nodes, then one for each network."""


def machines_words(machines: Mapping[str, Any]) -> str:
    """Where what was, and how its isolation differs from that on one machine; `machines` is run.json's entry."""
    server, loadgen, published = (machines.get(key) or "unknown" for key in ("server", "loadgen", "published"))
    return (
        f"services, database and upstream on {server}, load generator on {loadgen}; ports published at {published} "
        "alone, in the network between the two machines, not encrypted: services have a route out of their network "
        "there, without masquerading. `host` is where the scripts ran"
    )


def loadgen_words(facts: Mapping[str, Any], records: Iterable[Record]) -> str:
    """How many load generators there were and where, and how far apart they started; empty where there was one."""
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


def network_cost(source: Run, records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """(name, words), only of a run whose servers were on nodes of a swarm."""
    if source.facts.get("machines") or not any(record.node for record in records):
        return
    text = (read_bytes(f"{source.path}/{FILE}") or b"").decode(errors="replace")
    lines = [line.strip()[:300] for line in text.splitlines() if line.strip()][:LINES]
    yield (
        "cost of the network",
        "; ".join(lines)
        or "not measured before this run (scripts/harness-cost.sh --network does it): figures have it in them",
    )
