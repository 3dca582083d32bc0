"""A run on several machines: its nodes and its Compose file."""

from __future__ import annotations

from typing import Any

import pytest

from bench.core.errors import UserError
from bench.swarm.several import chosen_nodes, several_compose

ROLES = """\
support node-1 ctx-1 198.18.64.1 2 CPUs, 4.0 GiB, linux/x86_64
server node-4 ctx-4 198.18.64.4 4 CPUs, 8.0 GiB, linux/x86_64
server node-3 ctx-3 198.18.64.3 4 CPUs, 8.0 GiB, linux/x86_64
loadgen node-2 ctx-2 198.18.64.2 2 CPUs, 4.0 GiB, linux/x86_64
""".splitlines()


def compose(**services: Any) -> dict[str, Any]:
    return {
        "name": "bench",
        "services": services,
        "networks": {"bench": {"internal": True}},
        "secrets": {"database_password": {"file": "/here/postgres/password"}},
    }


def mount(target: str) -> dict[str, Any]:
    return {"type": "bind", "source": "/here", "target": target}


def test_each_role_gets_its_first_node() -> None:
    assert [words[:3] for words in chosen_nodes(ROLES)] == [
        ("server", "node-3", "ctx-3"),
        ("loadgen", "node-2", "ctx-2"),
        ("support", "node-1", "ctx-1"),
    ]
    assert chosen_nodes(ROLES)[0][4] == "4 CPUs, 8.0 GiB, linux/x86_64"


def test_a_lost_node_is_not_among_them_and_a_role_without_any_is_named() -> None:
    left = [line for line in ROLES if "node-3" not in line]
    assert chosen_nodes(left)[0][1] == "node-4"
    with pytest.raises(UserError, match="no node can be used as server or loadgen: "):
        chosen_nodes(ROLES[:1])


def test_a_run_that_goes_on_gets_nodes_of_its_own_kind_alone() -> None:
    before = ["server\tnode-9\tctx-9\t198.18.64.9\t8 CPUs, 8.0 GiB, linux/x86_64"]
    with pytest.raises(UserError, match=r"as server: node-4 has 4 CPUs, .*, and the run began on 8 CPUs"):
        chosen_nodes(ROLES, before)
    like_it = "server node-5 ctx-5 198.18.64.5 8 CPUs, 8.0 GiB, linux/x86_64"
    assert chosen_nodes([*ROLES, like_it], before)[0][1] == "node-5"


def test_services_keep_what_confines_them_and_nothing_of_this_machine() -> None:
    confined = {
        "image": "bench/web",
        "cpuset": "0",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "pids_limit": 512,
        "mem_limit": "536870912",
        "networks": {"bench": None},
    }
    made = several_compose(compose(web=confined | {"secrets": [{"source": "database_password"}]}), "bench-a")
    assert made["services"]["web"].items() >= confined.items()
    assert made["services"]["web"]["volumes"][0] | {"volume": None} == {
        "type": "volume",
        "source": "secrets",
        "target": "/run/secrets",
        "read_only": True,
        "volume": None,
    }
    assert "secrets" not in made
    assert made["networks"] == {"bench": {"name": "bench-a", "external": True}}
    assert "/here" not in str(made)


def test_the_load_generator_has_project_and_run_in_volumes_and_the_project_read_only() -> None:
    mounts = [mount("/bench"), mount("/bench/results"), mount("/host/cgroup")]
    made = several_compose(compose(loadgen={"image": "bench/loadgen", "volumes": mounts}), "bench-a")
    found = {one["target"]: (one["source"], one["read_only"]) for one in made["services"]["loadgen"]["volumes"]}
    assert found == {"/bench": ("source", True), "/bench/results": ("results", False)}
    assert made["volumes"]["results"] == {"name": "bench-a-results", "external": True}


def test_a_mount_whose_content_would_not_be_there_is_refused() -> None:
    with pytest.raises(UserError, match="service web: on another machine there is no /here for /data"):
        several_compose(compose(web={"volumes": [mount("/data")]}), "bench-a")
