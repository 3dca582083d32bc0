"""The kinds of nodes that a run on several machines had."""

from __future__ import annotations

from bench.core.files import read_bytes

FILE = "nodes-ever.tsv"
"""In a run's folder: `ROLE NODE CONTEXT ADDRESS KIND` of each node that it has had, by tabs, from its first call on."""


def node_kinds(path: str) -> dict[str, str]:
    """By role, as `2 CPUs, 23.5 GiB, linux/x86_64`: a run has nodes of one kind for each. Empty on one machine."""
    kinds: dict[str, str] = {}
    for line in (read_bytes(f"{path}/{FILE}") or b"").decode(errors="replace").splitlines():
        role, *others = line.split("\t")
        if len(others) == 4:
            kinds.setdefault(role, others[-1])
    return kinds
