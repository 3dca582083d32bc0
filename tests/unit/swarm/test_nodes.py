"""Nodes of a swarm, their roles and labels."""

from __future__ import annotations

import pytest
from swarm_facts import THREE, inspected

from bench.core.errors import UserError
from bench.swarm.nodes import read_nodes, role_label, with_role


def test_a_node_is_read() -> None:
    (node,) = read_nodes([inspected("alpha", "server", cpus=4)], {"id-alpha": "far-alpha"})
    assert (node.name, node.roles, node.context, node.address) == ("alpha", ("server",), "far-alpha", "198.18.64.9")
    assert node.usable
    assert node.kind == "4 CPUs, 8.0 GiB, linux/x86_64"


@pytest.mark.parametrize("changed", [{"state": "down"}, {"availability": "drain"}, {"availability": "pause"}])
def test_a_node_that_takes_no_work_cannot_be_used(changed: dict[str, str]) -> None:
    (node,) = read_nodes([inspected("alpha", "server", **changed)], {"id-alpha": "alpha"})
    assert not node.usable


def test_a_node_that_no_context_reaches_cannot_be_used() -> None:
    (node,) = read_nodes([inspected("alpha", "server")], {"id-beta": "beta"})
    assert not node.usable


def test_a_leader_that_calls_itself_0_0_0_0_has_the_address_of_its_manager() -> None:
    (node,) = read_nodes([inspected("alpha", address="0.0.0.0", manager="198.18.64.1:2377")], {})
    assert node.address == "198.18.64.1"


def test_nodes_come_by_name_and_have_one_role_or_several() -> None:
    nodes = read_nodes([inspected("zeta", "loadgen+support"), *THREE], {})
    assert [node.name for node in nodes] == ["alpha", "beta", "gamma", "zeta"]
    assert [node.name for node in with_role(nodes, "support")] == ["alpha", "zeta"]


def test_a_role_is_a_whole_word_of_the_label() -> None:
    assert not with_role(read_nodes([inspected("alpha", "servers")], {}), "server")


def test_what_is_no_node_is_one_line() -> None:
    with pytest.raises(UserError, match="docker node inspect"):
        read_nodes([{"ID": "x"}], {})


def test_labels() -> None:
    assert role_label(["server"]) == "server"
    assert role_label(["support", "loadgen", "support"]) == "loadgen+support"
    assert role_label([]) == ""


@pytest.mark.parametrize(("roles", "words"), [(["sever"], "unknown role 'sever'"), (["server", "loadgen"], "no other")])
def test_labels_that_are_refused(roles: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        role_label(roles)
