"""CPU sets of the server, the load generator and the database, from the host's topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.core.errors import UserError

TOPOLOGY = Path("/sys/devices/system/cpu")


def parse_list(text: str) -> list[int]:
    """CPU numbers of the kernel's list form: `0-2,5` -> [0, 1, 2, 5]."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def cores(allowed: Sequence[int], topology: Path = TOPOLOGY) -> list[list[int]]:
    """The allowed CPUs, grouped by physical core (hyper-threads of one core stay together)."""
    groups: dict[str, list[int]] = {}
    for cpu in sorted(allowed):
        siblings = topology / f"cpu{cpu}/topology/thread_siblings_list"
        key = siblings.read_text().strip() if siblings.exists() else str(cpu)
        groups.setdefault(key, []).append(cpu)
    return list(groups.values())


def choose(groups: Sequence[Sequence[int]]) -> dict[str, str]:
    """Sets that never overlap where there are cores enough.

    One core: all share it. Two: the server has one, loadgen and database the other. From three
    on: a quarter (at least one core) each for loadgen and database, the rest for the server.
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


def resolve(knobs: Mapping[str, str], allowed: Sequence[int] | None = None) -> dict[str, str]:
    """`knobs` with its three CPU sets filled in; UserError for a CPU that this host does not have."""
    allowed = parse_list((TOPOLOGY / "online").read_text()) if allowed is None else allowed
    chosen = choose(cores(allowed))
    for name in chosen:
        if knobs[name]:
            chosen[name] = knobs[name]
            if not set(parse_list(knobs[name])) <= set(allowed):
                raise UserError(f"{name}={knobs[name]}: this host has the CPUs {allowed}; mend it in .env")
    return {**knobs, **chosen}
