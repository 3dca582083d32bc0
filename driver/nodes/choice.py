"""Chooses a run's nodes in a swarm: one for each role, or several pairs (lanes) of a server and a load generator.

Lane 1 is the run itself. Each other lane is a Compose project with its own network, database and upstream.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from driver.failure import USER, Failure
from driver.messages import cpu_list
from driver.nodes.node import ROLES, Lane, Node

PAIRED = ("server", "loadgen")
LONGEST_PREFIX = 27
"""A lane's smallest subnet: eight services, dependencies, two readers, and the swarm's own addresses on each node."""


def of_largest_kinds(usable: Sequence[Node], before: Sequence[Node] = ()) -> tuple[list[Node], list[str]]:
    """The nodes to use, and for each other node the reason why not.

    All servers are of one kind, and so are all load generators: the most common one. The nodes of a role stay of the
    kind that the run began with (`before`).
    """
    kinds = {node.role: node.kind for node in reversed(before)}
    kept, left_out = [], []
    for node in sorted(usable):
        if node.role in PAIRED and node.role not in kinds:
            alike = Counter(other.kind for other in sorted(usable) if other.role == node.role)
            kinds[node.role] = alike.most_common(1)[0][0]
        if kinds.get(node.role, node.kind) == node.kind:
            kept.append(node)
        else:
            left_out.append(f"{node.name} ({node.role}: {node.kind}, the run uses {kinds[node.role]})")
    return kept, left_out


def chosen_lanes(
    usable: Sequence[Node], before: Sequence[Node], subnet: str, settings: Mapping[str, str]
) -> list[Lane]:
    """As many lanes as there are pairs of server and load generator; Failure if a role has no suitable node.

    `before`: the nodes that the run has used. Each lane gets as many CPUs for its database as DATABASE_CPUS has, if the
    support node has enough.
    """
    kept, _ = of_largest_kinds(usable, before)
    by_role = {role: [node for node in kept if node.role == role] for role in ROLES}
    if lacking := [role for role in ROLES if not by_role[role]]:
        _, others = of_largest_kinds([node for node in usable if node.role in lacking], before)
        why = "; ".join(others) or "scripts/swarm.sh check says why"
        raise Failure(USER, f"no node can be used as {' or '.join(lacking)}: {why}")
    pairs = list(zip(by_role["server"], by_role["loadgen"]))
    supports = [by_role["support"][number % len(by_role["support"])] for number in range(len(pairs))]
    cpus = _database_cpus(supports, [loadgen for _, loadgen in pairs], settings)
    subnets = lane_subnets(subnet, len(pairs))
    nodes = [(*pair, support) for pair, support in zip(pairs, supports)]
    return list(map(Lane, subnets, cpus, nodes))


def lane_subnets(subnet: str, count: int) -> list[str]:
    """A subnet for each lane; the first lane gets half, as all services are verified there."""
    if count == 1:
        return [subnet]
    whole = ipaddress.ip_network(subnet)
    needed = 1 + (count - 2).bit_length()
    if whole.prefixlen + needed > LONGEST_PREFIX:
        how = f"set one of /{LONGEST_PREFIX - needed} in .env, or give fewer nodes the role loadgen"
        raise Failure(USER, f"BENCH_SUBNET={subnet} has no room for {count} pairs side by side: {how}")
    first, second = whole.subnets()
    return [str(first), *map(str, list(second.subnets(prefixlen_diff=needed - 1))[: count - 1])]


def lanes_entry(lanes: Sequence[Lane], left_out: Sequence[str], before: Mapping[str, Any]) -> dict[str, Any]:
    """The entry `lanes` of run.json: the highest number of lanes, and nodes left out or sharing CPUs, in any call."""
    sharing = [f"{lane.nodes[2].name} CPU {cpu}" for lane in lanes for cpu in cpu_list(lane.database_cpus)]
    shared = sorted(name for name, count in Counter(sharing).items() if count > 1)
    return {
        "most": max(len(lanes), int(before.get("most", 1))),
        "left_out": list(dict.fromkeys([*before.get("left_out", ()), *left_out])),
        "shared": list(dict.fromkeys([*before.get("shared", ()), *shared])),
    }


def _database_cpus(supports: Sequence[Node], loadgens: Sequence[Node], settings: Mapping[str, str]) -> list[str]:
    """The CPUs of each lane's database. If a node does not have enough, its lanes share DATABASE_CPUS."""
    database_cpus = settings["DATABASE_CPUS"]
    size = len(cpu_list(database_cpus))
    chosen = [database_cpus] * len(supports)
    for node in dict.fromkeys(supports):
        mine = [number for number, support in enumerate(supports) if support == node]
        taken = {*cpu_list(database_cpus)}
        taken |= {*cpu_list(settings["LOADGEN_CPUS"])} if node.name in {one.name for one in loadgens} else set()
        free = [cpu for cpu in range(node.cpus) if cpu not in taken]
        if len(free) < size * (len(mine) - 1):
            continue
        for place, number in enumerate(mine[1:]):
            chosen[number] = ",".join(map(str, free[place * size : (place + 1) * size]))
    return chosen
