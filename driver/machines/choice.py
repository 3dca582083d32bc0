"""Which nodes of a swarm a run uses: one for each role, or pairs of a server's and a load generator's, side by side.

Lane 1 is the run itself. Each other one is a Compose project of its own, with a network, a database and an upstream.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from driver.failure import USER, Failure
from driver.machines.node import ROLES, LanePart, Node

PAIRED = ("server", "loadgen")
LONGEST_PREFIX = 27
"""Of a lane's subnet: eight services, what they need, two readers, and what the swarm takes of each node."""


@dataclass(frozen=True)
class Lane:
    """Its nodes, in the order of ROLES, and its part of what all lanes share."""

    nodes: tuple[Node, ...]
    part: LanePart

    @property
    def words(self) -> str:
        """As people are told of it."""
        return f"{self.nodes[0].name} with load generator {self.nodes[1].name}"


def of_largest_kinds(usable: Sequence[Node], before: Sequence[Node] = ()) -> tuple[list[Node], list[str]]:
    """Those that are used, and for each node that is left out a phrase that says why.

    Of servers, and of load generators, only one kind is used: the one that the run began with (`before`), or else the
    one with the most nodes.
    """
    kinds = _kinds(before)
    kept, left_out = [], []
    for node in _sorted(usable):
        if node.role in PAIRED and node.role not in kinds:
            alike = Counter(other.kind for other in _sorted(usable) if other.role == node.role)
            kinds[node.role] = alike.most_common(1)[0][0]
        if node.role in PAIRED and node.kind != kinds[node.role]:
            left_out.append(f"{node.name} ({node.role}: {node.kind}, the others have {kinds[node.role]})")
        else:
            kept.append(node)
    return kept, left_out


def chosen_nodes(usable: Sequence[Node], before: Sequence[Node] = (), loadgens: int = 1) -> list[Node]:
    """Each role's first node of the kind that the run began with, and one for each more of several load generators.

    Failure where there are too few. `before`: the nodes that the run has had, as its figures all come from one kind.
    """
    # Of a run that goes on, a node of another kind is named where none is left.
    nodes = _sorted(usable) if before else of_largest_kinds(usable)[0]
    kinds = _kinds(before)
    found: dict[str, Node] = {}
    others: dict[str, str] = {}
    for node in nodes:
        if kinds.get(node.role, node.kind) == node.kind:
            found.setdefault(node.role, node)
        else:
            others[node.role] = f"{node.name} has {node.kind}, and the run began on {kinds[node.role]}"
    lacking = [role for role in ROLES if role not in found]
    if lacking:
        why = "; ".join(others[role] for role in lacking if role in others) or "scripts/swarm.sh check says why"
        raise Failure(USER, f"no node can be used as {' or '.join(lacking)}: {why}")
    return [found[role] for role in ROLES] + _more_loadgens(nodes, found["loadgen"], loadgens)


def chosen_lanes(
    usable: Sequence[Node], before: Sequence[Node], subnet: str, settings: Mapping[str, str]
) -> list[Lane]:
    """As many as there are servers with a load generator of their own; the first one has the nodes of `chosen_nodes`.

    Of the settings, DATABASE_CPUS is what on a node with enough CPUs each lane gets as many of, and LOADGEN_CPUS.
    """
    nodes, _ = of_largest_kinds(usable, before)
    found = {
        first.role: [first, *(node for node in nodes if node.role == first.role and node != first)]
        for first in chosen_nodes(nodes, before)
    }
    pairs = list(zip(found["server"], found["loadgen"]))
    supports = [found["support"][number % len(found["support"])] for number in range(len(pairs))]
    cpus = _database_cpus(supports, [loadgen for _, loadgen in pairs], settings)
    subnets = lane_subnets(subnet, len(pairs))
    return [
        Lane((*pair, supports[number]), LanePart(subnets[number], cpus[number])) for number, pair in enumerate(pairs)
    ]


def lane_subnets(subnet: str, count: int) -> list[str]:
    """A part for each lane. The first one has half of it, as all services are verified there."""
    if count == 1:
        return [subnet]
    whole = ipaddress.ip_network(subnet)
    needed = 1 + (count - 2).bit_length()
    if whole.prefixlen + needed > LONGEST_PREFIX:
        raise Failure(
            USER,
            f"BENCH_SUBNET={subnet} has no room for {count} pairs side by side: set one of "
            f"/{LONGEST_PREFIX - needed} in .env, or give fewer nodes the role loadgen",
        )
    first, second = whole.subnets()
    others = list(second.subnets(prefixlen_diff=needed - 1))
    return [str(first), *map(str, others[: count - 1])]


def lanes_entry(lanes: Sequence[Lane], left_out: Sequence[str], before: Mapping[str, Any]) -> dict[str, Any]:
    """run.json's entry `lanes`: the most that there were, and what was to be said of nodes in any call of the run."""
    sharing = [f"{lane.nodes[2].name} CPU {cpu}" for lane in lanes for cpu in cpu_list(lane.part.database_cpus)]
    shared = sorted(name for name, count in Counter(sharing).items() if count > 1)
    return {
        "most": max(len(lanes), int(before.get("most", 1))),
        "left_out": list(dict.fromkeys([*before.get("left_out", ()), *left_out])),
        "shared": list(dict.fromkeys([*before.get("shared", ()), *shared])),
    }


def cpu_list(text: str) -> list[int]:
    """The CPU numbers of a list in the kernel's format: `0-2,5` -> [0, 1, 2, 5]."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def _more_loadgens(nodes: Sequence[Node], first: Node, number: int) -> list[Node]:
    """All of the first one's kind: two on one node would share its CPUs, and make no more load than one."""
    others = [node for node in nodes if node.role == first.role and node.name != first.name]
    alike = [node for node in others if node.kind == first.kind]
    if len(alike) < number - 1:
        kinds = "; ".join(
            f"{node.name} has {node.kind}, and {first.name} {first.kind}" for node in others if node not in alike
        )
        why = f" ({kinds})" if kinds else ": scripts/swarm.sh label NODE loadgen"
        raise Failure(USER, f"{number} load generators need as many nodes of one kind, there are {len(alike) + 1}{why}")
    return [replace(node, role=f"loadgen-{place}") for place, node in enumerate(alike[: number - 1], 2)]


def _database_cpus(supports: Sequence[Node], loadgens: Sequence[Node], settings: Mapping[str, str]) -> list[str]:
    """Of each lane. Where a node has too few for all of its lanes, they share what one has."""
    own = settings["DATABASE_CPUS"]
    size = len(cpu_list(own))
    chosen = [own] * len(supports)
    for node in dict.fromkeys(supports):
        mine = [number for number, support in enumerate(supports) if support == node]
        taken = {*cpu_list(own)}
        taken |= {*cpu_list(settings["LOADGEN_CPUS"])} if node.name in {one.name for one in loadgens} else set()
        free = [cpu for cpu in range(node.cpus) if cpu not in taken]
        if len(free) < size * (len(mine) - 1):
            continue
        for place, number in enumerate(mine[1:]):
            chosen[number] = ",".join(map(str, free[place * size : (place + 1) * size]))
    return chosen


def _kinds(before: Sequence[Node]) -> dict[str, str]:
    """Of each role, the one that the run began with."""
    kinds: dict[str, str] = {}
    for node in before:
        kinds.setdefault(node.role, node.kind)
    return kinds


def _sorted(nodes: Sequence[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (node.role, node.name, node.context, node.address, node.kind))
