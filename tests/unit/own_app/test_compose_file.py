"""A user's Compose file: what is refused, and how the rest is started."""

from typing import Any

import pytest

from bench.core.errors import UserError
from bench.own_app.compose_file import left_out, own_services

FOLDER = "/home/me/my shop"


def merged(service: dict[str, Any], name: str = "db", **more: Any) -> dict[str, Any]:
    return own_services({"services": {name: service}, **more})


BUILDS = {"network": "host", "additional_contexts": {"etc": "/etc"}, "tags": ["bench/loadgen"], "secrets": ["key"]}
BUILDS |= {"cache_from": ["x"], "cache_to": ["type=local,dest=/root"], "ssh": ["default"]}
REFUSED = [
    ({"volumes": [{"type": "npipe", "source": "x"}]}, "mounts a npipe"),
    ({"privileged": True}, "is privileged"),
    ({"network_mode": "host"}, "leaves the internal network"),
    ({"pid": "host"}, "shares a PID namespace"),
    ({"ipc": "host"}, "shares an IPC namespace"),
    ({"userns_mode": "host"}, "shares the host's user namespace"),
    ({"cap_add": ["SYS_ADMIN"]}, "adds capabilities"),
    ({"devices": ["/dev/sda"]}, "devices of the host"),
    ({"security_opt": ["seccomp:unconfined"]}, "weakens its confinement"),
    ({"extra_hosts": ["x=host-gateway"]}, "outside of the internal network"),
    *(
        ({"build": {"context": FOLDER, key: value}}, rf"more than a build needs \(build.{key}\)")
        for key, value in BUILDS.items()
    ),
    ({"depends_on": {"seed": {"condition": "service_completed_successfully"}}}, "waits for seed to end"),
]


@pytest.mark.parametrize(("service", "words"), REFUSED)
def test_refused(service: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=f"service 'db' .*{words}.*; remove that"):
        merged(service)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"volumes": {"data": {"external": True}}}, "the volume 'data' is one of the host's own"),
        ({"volumes": {"data": {"driver_opts": {"device": "/", "o": "bind"}}}}, "driver of its own"),
        ({"secrets": {"key": {"environment": "GITHUB_TOKEN"}}}, "the secret 'key' takes a variable of the shell"),
    ],
)
def test_refused_of_what_services_share(more: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        merged({"image": "x"}, **more)


def test_names_of_the_run_and_an_empty_file() -> None:
    with pytest.raises(UserError, match="the name 'loadgen' is taken"):
        merged({"image": "x"}, name="loadgen")
    with pytest.raises(UserError, match="no services"):
        own_services({"services": {}})


def test_what_is_left_is_hardened_and_on_the_internal_network_alone() -> None:
    service = {
        "image": "postgres:18",
        "environment": {"A": "x$$y"},
        "networks": {"default": {"aliases": ["sql"]}, "backend": {"aliases": ["database", "sql"]}, "front": None},
        "depends_on": {"other": {"condition": "service_started"}},
        "volumes": [
            {"type": "bind", "source": f"{FOLDER}/init", "target": "/init"},
            {"type": "volume", "source": "data"},
        ],
        "restart": "always",
        "ports": [{"target": 5432, "published": "5432"}],
    }
    resolved = {"services": {"db": service}, "volumes": {"data": {"name": "shop_data"}}}
    found = own_services(resolved)
    [(name, one)] = found["services"].items()
    assert name == "own-db"
    assert one["networks"] == {"bench": {"aliases": ["db", "sql", "database"]}}
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one["volumes"][0]["read_only"] is True
    assert one["depends_on"] == {"own-other": {"condition": "service_started"}}
    assert one["environment"] == {"A": "x$$y"}
    assert (one["mem_limit"], one["pids_limit"], one["restart"]) == ("1g", 512, "no")
    assert "ports" not in one
    assert found["volumes"] == {"data": {}}
    assert left_out(resolved) == ["db.restart", "db.ports"]


def test_what_is_built_has_a_name_of_the_run_and_no_variable_of_the_shell() -> None:
    build = {"context": FOLDER, "args": {"A": "1", "GITHUB_TOKEN": None}}
    variables = {"B": "2", "GITHUB_TOKEN": None}
    given = {"image": "bench/loadgen", "build": build, "environment": variables, "labels": {"x": "y"}}
    [service] = merged(given)["services"].values()
    assert service["build"] == {"context": FOLDER, "args": {"A": "1"}}
    assert service["environment"] == {"B": "2"}
    assert "image" not in service and "labels" not in service
