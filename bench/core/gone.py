"""Words of earlier versions, and the line that says what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

GONE: Mapping[str, str] = MappingProxyType(
    {
        "--loadgens": "--loadgens is gone: give the load generator more CPUs (LOADGEN_CPUS in .env), "
        "or measure several pairs of nodes at once with --swarm",
    }
)
