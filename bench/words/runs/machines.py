"""What the report says of the two machines of a run without a swarm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def machines_words(machines: Mapping[str, Any]) -> str:
    """Where what was, and how its isolation differs from that on one machine; `machines` is run.json's entry."""
    server, loadgen, published = (machines.get(key) or "unknown" for key in ("server", "loadgen", "published"))
    return (
        f"services, database and upstream on {server}, load generator on {loadgen}; ports published at {published} "
        "alone, in the network between the two machines, not encrypted: services have a route out of their network "
        "there, without masquerading. `host` is where the scripts ran"
    )
