"""A measured choice as a Compose service and a Kubernetes Deployment."""

from __future__ import annotations

import io
from typing import Any

import pytest
from ruamel.yaml import YAML

from bench.words.deployment import Deployment, label_of

SHOP = Deployment(
    name="shop",
    command="gunicorn --bind 0.0.0.0:8080 --workers 2 'main:make(\"a b\")'",
    workers="2",
    cpus=1,
    memory_bytes=58_600_000,
    path="/?category=books",
    env_file="shop.env",
    grace="30 s",
)


def read(text: str) -> Any:
    return YAML(typ="safe").load(io.StringIO(text))


def test_a_compose_service_has_the_measured_command_and_resources() -> None:
    service = read(SHOP.compose())["services"]["shop"]
    assert service["command"] == ["gunicorn", "--bind", "0.0.0.0:8080", "--workers", "2", 'main:make("a b")']
    assert (service["cpus"], service["mem_limit"], service["stop_grace_period"]) == (1, "128m", "32s")
    assert service["env_file"] == "shop.env"
    assert "# measured: 2 workers, 59 MB under load" in SHOP.compose()


def test_a_deployment_waits_before_sigterm_and_is_killed_after_the_servers_own_limit() -> None:
    spec = read(SHOP.kubernetes())["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["terminationGracePeriodSeconds"] == 35
    assert container["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "3"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/?category=books", "port": 8080}
    assert container["resources"] == {"requests": {"cpu": "1", "memory": "59M"}, "limits": {"memory": "128M"}}


@pytest.mark.parametrize(
    ("grace", "seconds"),
    [
        ("5 s", 7),
        ("60 s at a reload; at a stop none: ends at once", 62),
        ("none: ends at once", 2),
        ("none: waits without a limit", 32),
        ("", 32),
    ],
)
def test_grace(grace: str, seconds: int) -> None:
    assert Deployment(
        name="a", command="a", workers="1", cpus=None, memory_bytes=None, path="/", grace=grace
    ).grace_s == (seconds)


def test_what_is_unknown_is_left_out() -> None:
    bare = Deployment(name="a", command="uvicorn main:app", workers="1", cpus=None, memory_bytes=None, path="/")
    service = read(bare.compose())["services"]["a"]
    assert not {"cpus", "mem_limit", "env_file"} & service.keys()
    (container,) = read(bare.kubernetes())["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {}, "limits": {}}


@pytest.mark.parametrize(("name", "label"), [("My_App 2", "my-app-2"), ("--", "app"), ("x" * 80, "x" * 63)])
def test_a_name_is_a_label(name: str, label: str) -> None:
    assert label_of(name) == label
