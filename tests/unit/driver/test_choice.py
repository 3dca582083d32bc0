"""Which nodes of a swarm a run gets: one for each role, several load generators, or pairs side by side."""

from __future__ import annotations

import ipaddress

import pytest

from driver.failure import Failure
from driver.nodes.choice import chosen_lanes, chosen_nodes, lane_subnets, lanes_entry, of_largest_kinds
from driver.nodes.node import Node

SMALL, LARGE = "2 CPUs, 4.0 GiB, linux/x86_64", "8 CPUs, 16.0 GiB, linux/x86_64"
KNOBS = {"DATABASE_CPUS": "1", "LOADGEN_CPUS": "1"}


def node(role: str, number: int, kind: str = SMALL) -> Node:
    return Node(role, f"node-{number}", f"ctx-{number}", f"198.18.64.{number}", kind, int(kind[0]))


def without(name: str) -> list[Node]:
    return [one for one in ROLES if one.name != name]


ROLES = [node("support", 1), node("loadgen", 3), node("loadgen", 2), node("server", 4), node("server", 5)]


def test_each_server_has_a_load_generator_of_its_own() -> None:
    lanes = chosen_lanes(ROLES, [], "198.18.0.0/24", KNOBS)
    assert [[one.name for one in lane.nodes] for lane in lanes] == [
        ["node-4", "node-2", "node-1"],
        ["node-5", "node-3", "node-1"],
    ]
    assert len(chosen_lanes(without("node-3"), [], "198.18.0.0/24", KNOBS)) == 1


def test_servers_are_of_the_kind_that_most_have_and_the_others_are_named() -> None:
    roles = [node("server", 1, LARGE), *ROLES]
    kept, left_out = of_largest_kinds(roles)
    assert set(kept) == set(ROLES)
    assert left_out == [f"node-1 (server: {LARGE}, the others have {SMALL})"]
    assert {lane.nodes[0].kind for lane in chosen_lanes(roles, [], "198.18.0.0/24", KNOBS)} == {SMALL}
    # A run that goes on stays with the kind that it began with.
    before = [node("server", 9, LARGE)]
    assert [lane.nodes[0].name for lane in chosen_lanes(roles, before, "198.18.0.0/24", KNOBS)] == ["node-1"]


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_lanes_have_parts_of_the_subnet_that_do_not_overlap(count: int) -> None:
    parts = [ipaddress.ip_network(part) for part in lane_subnets("198.18.0.0/24", count)]
    whole = ipaddress.ip_network("198.18.0.0/24")
    assert len(parts) == count
    assert all(part.subnet_of(whole) for part in parts)  # type: ignore[arg-type]
    assert not any(a.overlaps(b) for n, a in enumerate(parts) for b in parts[n + 1 :])
    assert parts[0].num_addresses == 128
    assert all(part.num_addresses >= 32 for part in parts)


def test_one_lane_has_the_whole_subnet_and_too_small_a_one_is_refused() -> None:
    assert lane_subnets("198.18.0.0/24", 1) == ["198.18.0.0/24"]
    with pytest.raises(Failure, match=r"no room for 6 pairs side by side: set one of /23 in \.env"):
        lane_subnets("198.18.0.0/24", 6)
    assert len(set(lane_subnets("198.18.0.0/23", 6))) == 6


def test_databases_have_cpus_of_their_own_where_there_are_enough() -> None:
    enough = [node("support", 1, LARGE), *ROLES[1:]]
    assert [lane.database_cpus for lane in chosen_lanes(enough, [], "198.18.0.0/24", KNOBS)] == ["1", "0"]
    two = {"DATABASE_CPUS": "6-7", "LOADGEN_CPUS": "1"}
    assert [lane.database_cpus for lane in chosen_lanes(enough, [], "198.18.0.0/24", two)] == ["6-7", "0,1"]
    # The node is a load generator's too, whose CPUs are not for databases.
    both = [node("support", 2, LARGE), node("loadgen", 2, LARGE), node("loadgen", 3, LARGE), *ROLES[3:]]
    cpus = {"DATABASE_CPUS": "1", "LOADGEN_CPUS": "0"}
    assert [lane.database_cpus for lane in chosen_lanes(both, [], "198.18.0.0/24", cpus)] == ["1", "2"]


def test_what_is_shared_is_said_and_stays_said() -> None:
    lanes = chosen_lanes(ROLES, [], "198.18.0.0/24", KNOBS | {"DATABASE_CPUS": "0-1"})
    entry = lanes_entry(lanes, ["node-9"], {})
    assert entry == {"most": 2, "left_out": ["node-9"], "shared": ["node-1 CPU 0", "node-1 CPU 1"]}
    assert lanes_entry(lanes[:1], [], entry) == entry
    apart = chosen_lanes([node("support", 1, LARGE), *ROLES[1:]], [], "198.18.0.0/24", KNOBS)
    assert lanes_entry(apart, [], {})["shared"] == []


def test_a_second_support_node_takes_every_other_lane() -> None:
    lanes = chosen_lanes([*ROLES, node("support", 6)], [], "198.18.0.0/24", KNOBS)
    assert [lane.nodes[2].name for lane in lanes] == ["node-1", "node-6"]
    assert lanes_entry(lanes, [], {})["shared"] == []


def names(nodes: list[Node]) -> list[tuple[str, str]]:
    return [(one.role, one.name) for one in nodes]


def test_each_role_gets_its_first_node() -> None:
    assert names(chosen_nodes(ROLES)) == [("server", "node-4"), ("loadgen", "node-2"), ("support", "node-1")]
    assert chosen_nodes(without("node-4"))[0].name == "node-5"
    with pytest.raises(Failure, match=r"no node can be used as server or loadgen: scripts/swarm.sh check says why"):
        chosen_nodes(ROLES[:1])


def test_nodes_of_the_largest_kind_are_chosen_and_a_run_that_goes_on_keeps_its_own() -> None:
    roles = [*ROLES, node("server", 3, LARGE)]
    assert chosen_nodes(roles)[0].name == "node-4"
    before = [node("server", 9, LARGE)]
    assert chosen_nodes(roles, before)[0].name == "node-3"
    with pytest.raises(Failure, match=r"as server: node-5 has 2 CPUs, .*, and the run began on 8 CPUs"):
        chosen_nodes(ROLES, before)


def test_several_load_generators_have_a_node_each_of_one_kind() -> None:
    assert names(chosen_nodes(ROLES, loadgens=2))[3:] == [("loadgen-2", "node-3")]
    with pytest.raises(
        Failure, match=r"^3 load generators need as many nodes of one kind, there are 2: scripts/swarm.sh"
    ):
        chosen_nodes(ROLES, loadgens=3)
    other = [*without("node-3"), node("loadgen", 6, LARGE)]
    with pytest.raises(Failure, match=r"there are 1 \(node-6 has 8 CPUs.*, and node-2 2 CPUs"):
        chosen_nodes(other, [node("loadgen", 2)], loadgens=2)
