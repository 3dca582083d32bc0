"""The stack that serves a run, derived from the Compose file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from swarm_facts import THREE, inspected

from driver.failure import Failure
from driver.nodes.stack import loses, overlay_options, stack
from driver.nodes.swarm import nodes_of_inspect

HARDENED: dict[str, Any] = {
    "build": {"context": "/x"},
    "pull_policy": "missing",
    "command": None,
    "init": True,
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "pids_limit": 512,
    "mem_limit": "2147483648",
    "cpuset": "1",
    "ulimits": {"nofile": 16384},
    "networks": {"bench": None},
    "tmpfs": ["/tmp:mode=1777"],
}
COMPOSE: dict[str, Any] = {
    "services": {
        "postgres": HARDENED
        | {
            "image": "bench/postgres",
            "shm_size": "268435456",
            "tmpfs": ["/tmp:mode=1777", "/data:mode=0700,uid=999"],
            "secrets": [{"source": "database_password", "target": "/run/secrets/database_password"}],
        },
        "registry": HARDENED
        | {"image": "bench/registry", "volumes": [{"type": "volume", "target": "/var/lib/registry"}]},
    },
    "networks": {"bench": {"internal": True, "ipam": {"config": [{"subnet": "198.18.129.0/24"}]}}},
    "secrets": {"database_password": {"name": "x_database_password", "file": "/postgres/password"}},
}
NODES = nodes_of_inspect(THREE, {})


def test_a_service_keeps_what_a_swarm_can_give_it() -> None:
    made = stack(COMPOSE, ["postgres"], NODES, {"bench/postgres": "127.0.0.1:5000/bench/postgres@sha256:1"})
    service = made["services"]["postgres"]
    assert service["image"] == "127.0.0.1:5000/bench/postgres@sha256:1"
    kept = {"init", "read_only", "cap_drop", "ulimits", "secrets"}
    assert {key: service[key] for key in kept} == {key: COMPOSE["services"]["postgres"][key] for key in kept}
    assert service["deploy"]["resources"] == {"limits": {"memory": "2147483648", "pids": 512}}
    assert service["deploy"]["endpoint_mode"] == "dnsrr"
    assert service["deploy"]["placement"] == {"constraints": ["node.labels.bench.role == support"]}
    assert [folder["target"] for folder in service["volumes"]] == ["/tmp", "/data", "/dev/shm"]
    assert service["volumes"][2]["tmpfs"] == {"size": 268435456}
    assert made["secrets"] == {"database_password": {"file": "/postgres/password"}}
    assert not {"build", "pull_policy", "command"} & service.keys()


def test_what_a_swarm_cannot_give_it_is_said() -> None:
    assert loses(COMPOSE, ["postgres"]) == {"postgres": ["cpuset", "security_opt"]}


def test_a_key_that_nobody_has_decided_on_is_not_lost_silently() -> None:
    changed = COMPOSE | {"services": {"postgres": COMPOSE["services"]["postgres"] | {"userns_mode": "host"}}}
    with pytest.raises(Failure, match="userns_mode"):
        stack(changed, ["postgres"], NODES, {})


def test_the_network_has_no_way_out_and_its_own_subnet() -> None:
    network = stack(COMPOSE, ["postgres"], NODES, {})["networks"]["bench"]
    assert (network["driver"], network["attachable"], network["internal"]) == ("overlay", True, True)
    assert network["ipam"] == {"config": [{"subnet": "198.18.129.0/24"}]}
    assert "encrypted" not in json.dumps(network)


def test_a_run_has_a_network_like_it() -> None:
    assert overlay_options(COMPOSE) == ["--driver=overlay", "--attachable", "--internal", "--subnet=198.18.129.0/24"]


def test_services_under_test_are_in_no_network_with_the_registry() -> None:
    made = stack(COMPOSE, ["registry", "postgres"], NODES, {})
    assert made["services"]["registry"]["networks"] == ["images"]
    assert made["services"]["postgres"]["networks"] == ["bench"]
    assert "ports" not in made["services"]["registry"]
    assert {"type": "volume", "target": "/var/lib/registry"} in made["services"]["registry"]["volumes"]


def test_a_node_with_several_roles_supports() -> None:
    nodes = nodes_of_inspect([inspected("alpha", "loadgen+support"), inspected("beta", "support", state="down")], {})
    made = stack(COMPOSE, ["postgres"], nodes, {})
    assert made["services"]["postgres"]["deploy"]["placement"]["constraints"] == [
        "node.labels.bench.role == loadgen+support"
    ]


def test_without_a_node_that_supports_there_is_no_stack() -> None:
    with pytest.raises(Failure, match="role support"):
        stack(COMPOSE, ["postgres"], NODES[1:], {})


def test_a_service_that_is_not_there() -> None:
    with pytest.raises(Failure, match="no service mysql"):
        stack(COMPOSE, ["mysql"], NODES, {})
