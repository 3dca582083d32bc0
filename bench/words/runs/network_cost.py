"""What a report has to say of the cost of the network that its figures went through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bench.core.files import read_bytes
from bench.records.record import Record
from bench.run.reader import Run

FILE = "network-cost.txt"
"""In the folder of a run on a swarm: what `scripts/harness-cost.sh --network` had last said when it was planned."""
LINES = 6
"""Most lines of it: when and between which nodes, then one for each network."""


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
