"""Nodes of a swarm, their roles and labels."""

from __future__ import annotations

import pytest
from swarm_facts import THREE, inspected, swarm

from driver.failure import Failure
from driver.nodes.swarm import nodes_of_inspect, role_label


def test_a_node_is_read() -> None:
    (node,) = nodes_of_inspect([inspected("alpha", "server", cpus=4)], {"id-alpha": "far-alpha"})
    assert (node.name, node.roles, node.context, node.address) == ("alpha", ("server",), "far-alpha", "198.18.64.9")
    assert node.usable
    assert node.kind == "4 CPUs, 8.0 GiB, linux/x86_64"


@pytest.mark.parametrize("changed", [{"state": "down"}, {"availability": "drain"}, {"availability": "pause"}])
def test_a_node_that_takes_no_work_cannot_be_used(changed: dict[str, str]) -> None:
    (node,) = nodes_of_inspect([inspected("alpha", "server", **changed)], {"id-alpha": "alpha"})
    assert not node.usable


def test_a_node_that_no_context_reaches_cannot_be_used() -> None:
    (node,) = nodes_of_inspect([inspected("alpha", "server")], {"id-beta": "beta"})
    assert not node.usable


def test_a_leader_that_calls_itself_0_0_0_0_has_the_address_of_its_manager() -> None:
    (node,) = nodes_of_inspect([inspected("alpha", address="0.0.0.0", manager="198.18.64.1:2377")], {})
    assert node.address == "198.18.64.1"


def test_nodes_come_by_name_and_have_one_role_or_several() -> None:
    found = swarm((inspected("zeta", "loadgen+support"), *THREE, inspected("eta", "supports")))
    assert [node.name for node in found.nodes] == ["alpha", "beta", "eta", "gamma", "zeta"]
    assert [node.name for node in found.with_role("support")] == ["alpha", "zeta"]


def test_each_role_of_a_node_that_can_be_used_and_each_of_these_machines_once() -> None:
    found = swarm(
        (inspected("alpha", "loadgen+support", cpus=4), *THREE[1:], inspected("delta", "server", state="down"))
    )
    assert [(node.role, node.name, node.context, node.cpus) for node in found.usable()] == [
        ("loadgen", "alpha", "alpha", 4),
        ("support", "alpha", "alpha", 4),
        ("loadgen", "beta", "beta", 2),
        ("server", "gamma", "gamma", 2),
    ]
    assert [node.name for node in found.machines()] == ["alpha", "beta", "gamma"]
    assert [node.name for node in found.machines("loadgen")] == ["alpha", "beta"]


def test_what_is_no_node_is_one_line() -> None:
    with pytest.raises(Failure, match="docker node inspect"):
        nodes_of_inspect([{"ID": "x"}], {})


def test_labels() -> None:
    assert role_label(["server"]) == "server"
    assert role_label(["support", "loadgen", "support"]) == "loadgen+support"
    assert role_label([]) == ""


@pytest.mark.parametrize(("roles", "words"), [(["sever"], "unknown role 'sever'"), (["server", "loadgen"], "no other")])
def test_labels_that_are_refused(roles: list[str], words: str) -> None:
    with pytest.raises(Failure, match=words):
        role_label(roles)
