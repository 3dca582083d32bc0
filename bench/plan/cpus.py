"""CPU sets for the server, the load generator and the database, from the host's topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from driver.messages import cpu_list

TOPOLOGY = Path("/sys/devices/system/cpu")


def server_cpus(knobs: Mapping[str, Any]) -> int | None:
    """How many CPUs a run's knobs give the server; None if unknown."""
    try:
        return len(cpu_list(str(knobs.get("SERVER_CPUS"))))
    except ValueError:
        return None


def cores(allowed: Sequence[int], topology: Path = TOPOLOGY) -> list[list[int]]:
    """The allowed CPUs grouped by physical core."""
    groups: dict[str, list[int]] = {}
    for cpu in sorted(allowed):
        siblings = topology / f"cpu{cpu}/topology/thread_siblings_list"
        key = siblings.read_text().strip() if siblings.exists() else str(cpu)
        groups.setdefault(key, []).append(cpu)
    return list(groups.values())


def choose(groups: Sequence[Sequence[int]]) -> dict[str, str]:
    """The CPU sets by setting, for CPUs grouped by core; disjoint if there are enough cores.

    1 core: all share it. 2: one for the server, one for loadgen and database. 3 or more: a quarter (at least one core)
    each for loadgen and database, the rest for the server.
    """
    count = len(groups)
    if count == 1:
        server = loadgen = database = groups
    elif count == 2:
        server, loadgen, database = groups[:1], groups[1:], groups[1:]
    else:
        quarter = max(1, count // 4)
        server, loadgen = groups[: count - 2 * quarter], groups[count - 2 * quarter : count - quarter]
        database = groups[count - quarter :]
    names = ("SERVER_CPUS", "LOADGEN_CPUS", "DATABASE_CPUS")
    return {n: ",".join(str(c) for g in s for c in g) for n, s in zip(names, (server, loadgen, database), strict=True)}


def resolve(settings: Mapping[str, str], allowed: Sequence[int] | None = None) -> dict[str, str]:
    """`settings` with empty CPU sets filled in; UserError for a CPU that this host does not have."""
    allowed = cpu_list((TOPOLOGY / "online").read_text()) if allowed is None else allowed
    chosen = choose(cores(allowed))
    for name in chosen:
        if settings[name]:
            chosen[name] = settings[name]
            if not set(cpu_list(settings[name])) <= set(allowed):
                raise UserError(f"{name}={settings[name]}: this host has the CPUs {allowed}; fix it in .env")
    return {**settings, **chosen}
