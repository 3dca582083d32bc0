"""The Compose file of a run on several machines: on a swarm, on two machines without one, and of a lane."""

from __future__ import annotations

from typing import Any

import pytest

from driver.failure import Failure
from driver.nodes.compose import contexts_compose, lane_compose, several_compose

ADDRESS = "198.18.83.1"


def compose(**services: Any) -> dict[str, Any]:
    return {
        "name": "bench",
        "services": services,
        "networks": {"bench": {"internal": True}},
        "secrets": {"database_password": {"file": "/here/postgres/password"}},
    }


def of_two_machines() -> dict[str, Any]:
    service = {"image": "bench/web", "cpuset": "0", "networks": {"bench": None}}
    loadgen = service | {"cpuset": "1", "build": {}, "volumes": [mount("/bench")]}
    database = service | {"cpuset": "3"}
    return compose(web=service, null=service, postgres=database, upstream=service, loadgen=loadgen)


def mount(target: str) -> dict[str, Any]:
    return {"type": "bind", "source": "/here", "target": target}


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
    with pytest.raises(Failure, match="service web: on another machine there is no /here for /data"):
        several_compose(compose(web={"volumes": [mount("/data")]}), "bench-a")


def test_services_are_published_at_the_one_address_and_nothing_else_is() -> None:
    ports = {"counters-server": f"{ADDRESS}:21000", "null": f"{ADDRESS}:21002", "web": f"{ADDRESS}:21003"}
    made = contexts_compose(of_two_machines(), "bench-a", ports)
    services = made["services"]
    assert services["web"]["ports"] == [{"mode": "host", "host_ip": ADDRESS, "published": "21003", "target": 8080}]
    assert set(services["web"]["networks"]) == set(services["null"]["networks"]) == {"bench", "outer"}
    for name in ("postgres", "upstream", "checker"):
        assert "ports" not in services[name]
        assert services[name]["networks"] == {"bench": None}
    assert "ports" not in services["loadgen"]
    assert services["loadgen"]["networks"] == {"outer": None}
    assert made["networks"] == {
        "bench": {"name": "bench-a", "external": True},
        "outer": {"name": "bench-a-outer", "external": True},
    }


def test_what_verifies_is_a_load_generator_on_the_databases_cpus() -> None:
    services = contexts_compose(of_two_machines(), "bench-a", {})["services"]
    kept = {key: value for key, value in services["loadgen"].items() if key != "build"}
    assert services["checker"] == kept | {"cpuset": "3", "networks": {"bench": None}}


def test_a_lanes_compose_file_differs_in_its_project_and_its_databases_cpus() -> None:
    compose: dict[str, Any] = {
        "name": "bench-run",
        "services": {"postgres": {"cpuset": "1"}, "upstream": {"cpuset": "1"}, "null": {"cpuset": "0"}},
        "networks": {"bench": {"name": "bench-run", "external": True}},
        "volumes": {"source": {"name": "bench-run-source", "external": True}},
    }
    made = lane_compose(compose, "bench-run-lane2", "3")
    assert made["services"] == {"postgres": {"cpuset": "3"}, "upstream": {"cpuset": "3"}, "null": {"cpuset": "0"}}
    assert made["volumes"] == {"source": {"name": "bench-run-lane2-source", "external": True}}
    assert made["name"] == made["networks"]["bench"]["name"] == "bench-run-lane2"
    assert compose["name"] == "bench-run"
