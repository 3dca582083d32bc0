"""The lanes of a run on a swarm: pairs of a server's and a load generator's node, on which steps are made side by side.

Lane 1 is the run itself. Each other one is a Compose project of its own, with a network, a database and an upstream.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.errors import UserError
from bench.plan.cpus import parse_list
from bench.swarm.several import NETWORK, Chosen, chosen_nodes

PAIRED = ("server", "loadgen")
SUPPORT = ("postgres", "upstream")
LONGEST_PREFIX = 27
"""Of a lane's subnet: eight services, what they need, two readers, and what the swarm takes of each node."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Its nodes; its part of the run's subnet; the CPUs of its database and upstream."""

    number: int
    server: Chosen
    loadgen: Chosen
    support: Chosen
    subnet: str
    database_cpus: str

    @property
    def nodes(self) -> tuple[Chosen, ...]:
        """In the order of a run's nodes.tsv."""
        return (self.server, self.loadgen, self.support)


def of_largest_kinds(roles: Iterable[str], before: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """The lines whose nodes are used, and for each node that is left out a phrase that says why.

    Of servers, and of load generators, only one kind is used: the one that the run began with (`before`), or else the
    one with the most nodes.
    """
    kinds: dict[str, str] = {}
    for line in before:
        kinds.setdefault(line.split("\t")[0], line.split("\t")[-1])
    lines = sorted(roles)
    kept, left_out = [], []
    for line in lines:
        role, node, kind = _words(line)
        if role in PAIRED and role not in kinds:
            kinds[role] = Counter(_words(other)[2] for other in lines if _words(other)[0] == role).most_common(1)[0][0]
        if role in PAIRED and kind != kinds[role]:
            left_out.append(f"{node} ({role}: {kind}, the others have {kinds[role]})")
        else:
            kept.append(line)
    return kept, left_out


def lanes_of(roles: Iterable[str], before: Iterable[str], subnet: str, knobs: Mapping[str, str]) -> list[Lane]:
    """As many as there are servers with a load generator of their own; the first one has the nodes of `chosen_nodes`.

    `knobs` are the run's: DATABASE_CPUS, which on a node with enough CPUs each lane gets as many of, and LOADGEN_CPUS.
    """
    before = list(before)
    lines, _ = of_largest_kinds(roles, before)
    first = dict(zip(("server", "loadgen", "support"), chosen_nodes(lines, before), strict=True))
    found = {role: [one, *(other for other in _nodes(lines, role) if other != one)] for role, one in first.items()}
    pairs = list(zip(found["server"], found["loadgen"], strict=False))
    supports = [found["support"][number % len(found["support"])] for number in range(len(pairs))]
    cpus = _database_cpus(supports, [loadgen for _, loadgen in pairs], knobs)
    subnets = lane_subnets(subnet, len(pairs))
    return [
        Lane(number + 1, server, loadgen, supports[number], subnets[number], cpus[number])
        for number, (server, loadgen) in enumerate(pairs)
    ]


def lane_subnets(subnet: str, count: int) -> list[str]:
    """A part for each lane. The first one has half of it, as all services are verified there."""
    if count == 1:
        return [subnet]
    whole = ipaddress.ip_network(subnet)
    needed = 1 + (count - 2).bit_length()
    if whole.prefixlen + needed > LONGEST_PREFIX:
        raise UserError(
            f"BENCH_SUBNET={subnet} has no room for {count} pairs side by side: set one of "
            f"/{LONGEST_PREFIX - needed} in .env, or give fewer nodes the role loadgen"
        )
    first, second = whole.subnets()
    others = list(second.subnets(prefixlen_diff=needed - 1))
    return [str(first), *map(str, others[: count - 1])]


def lane_compose(compose: Mapping[str, Any], project: str, database_cpus: str) -> dict[str, Any]:
    """The run's Compose file (see `several_compose`) for a lane of this project name."""
    services = {
        name: {**service, "cpuset": database_cpus} if name in SUPPORT else service
        for name, service in compose["services"].items()
    }
    return {
        **compose,
        "name": project,
        "services": services,
        "networks": {NETWORK: {"name": project, "external": True}},
        "volumes": {name: {"name": f"{project}-{name}", "external": True} for name in compose["volumes"]},
    }


def run_entry(lanes: Sequence[Lane], left_out: Sequence[str], before: Mapping[str, Any]) -> dict[str, Any]:
    """run.json's entry `lanes`: the most that there were, and what was to be said of nodes in any call of the run."""
    sharing = [f"{lane.support[1]} CPU {cpu}" for lane in lanes for cpu in parse_list(lane.database_cpus)]
    shared = sorted(name for name, count in Counter(sharing).items() if count > 1)
    return {
        "most": max(len(lanes), int(before.get("most", 1))),
        "left_out": list(dict.fromkeys([*before.get("left_out", ()), *left_out])),
        "shared": list(dict.fromkeys([*before.get("shared", ()), *shared])),
    }


def _database_cpus(supports: Sequence[Chosen], loadgens: Sequence[Chosen], knobs: Mapping[str, str]) -> list[str]:
    """Of each lane. Where a node has too few for all of its lanes, they share what one has."""
    own = knobs["DATABASE_CPUS"]
    size = len(parse_list(own))
    chosen = [own] * len(supports)
    for node in dict.fromkeys(supports):
        mine = [number for number, support in enumerate(supports) if support == node]
        taken = {*parse_list(own)}
        taken |= {*parse_list(knobs["LOADGEN_CPUS"])} if node[1] in {one[1] for one in loadgens} else set()
        free = [cpu for cpu in range(int(float(node[4].split()[0]))) if cpu not in taken]
        if len(free) < size * (len(mine) - 1):
            continue
        for place, number in enumerate(mine[1:]):
            chosen[number] = ",".join(map(str, free[place * size : (place + 1) * size]))
    return chosen


def _words(line: str) -> tuple[str, str, str]:
    """Role, node and kind."""
    words = [*line.split(maxsplit=4), *[""] * 5]
    return words[0], words[1], words[4]


def _nodes(lines: Iterable[str], role: str) -> list[Chosen]:
    """All of a role, by name."""
    words = (line.split(maxsplit=4) for line in lines)
    return [(one[0], one[1], one[2], one[3], one[4]) for one in words if len(one) == 5 and one[0] == role]
