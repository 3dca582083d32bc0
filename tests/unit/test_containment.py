"""The rules for containers: each is violated once, in a Compose file and in `docker inspect`."""

from __future__ import annotations

import copy
import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from containment import EXEMPTIONS, INHIBIT, JUDGED, faults, inspected, main, read, unexempted, unneeded
from docker_calls import Docker, docker, run

from bench.own_app.compose_file import own_services, rules
from driver.run import Run
from driver.services.own_app import keep_changes
from driver.services.sockets import read_sockets
from driver.steps.sampler import sample

__all__ = ["docker", "run"]

PROJECT = "/home/me/bench"
CLOSED = {"bench": {"internal": True, "driver_opts": {INHIBIT: "true"}}}
LOG = {"max-size": "10m", "max-file": "1"}
GOOD: dict[str, Any] = {"image": "bench/app", "read_only": True, "cap_drop": ["ALL"], "tmpfs": ["/tmp:mode=1777"]}
GOOD |= {"security_opt": ["no-new-privileges:true"], "pids_limit": 512, "mem_limit": "536870912"}
GOOD |= {"ulimits": {"nofile": 16384}, "logging": {"driver": "json-file", "options": LOG}}
GOOD |= {"networks": {"bench": None}, "sysctls": {"net.core.somaxconn": "16384"}}
GOOD |= {"secrets": [{"source": "database_password", "target": "/run/secrets/database_password"}]}


def bind(source: str, target: str = "/x", **more: Any) -> dict[str, Any]:
    return {"volumes": [{"type": "bind", "source": source, "target": target, "read_only": True, **more}]}


def test_a_confined_service_has_no_fault() -> None:
    assert not list(faults(GOOD | bind(f"{PROJECT}/services"), CLOSED, PROJECT))


BROKEN = [
    ({"read_only": False}, "its root is writable"),
    ({"cap_drop": ["NET_RAW"]}, "keeps the capabilities of the engine's default"),
    ({"cap_add": ["SYS_ADMIN", "CHOWN"]}, "adds capabilities: CHOWN, SYS_ADMIN"),
    ({"security_opt": []}, "may gain privileges"),
    ({"security_opt": ["seccomp:unconfined"]}, "weakens its confinement (seccomp:unconfined)"),
    ({"pids_limit": -1}, "has no limit of processes"),
    ({"mem_limit": "0"}, "has no limit of memory"),
    ({"ulimits": {}}, "has no limit of open files"),
    ({"logging": {"driver": "json-file"}}, "its log has no limit"),
    ({"networks": {"bench": None, "default": None}}, "is on default, which leads out of the run"),
    ({"ports": [{"target": 8080}]}, "publishes a port"),
    ({"sysctls": {"kernel.msgmax": "1"}}, "sets kernel.msgmax for the host"),
    (bind("/var/run/docker.sock"), "mounts the Docker socket"),
    (bind("/etc"), "mounts /etc"),
    (bind(f"{PROJECT}-other"), f"mounts {PROJECT}-other"),
    (bind(PROJECT, "/bench", read_only=False), "may write to /bench"),
    ({"volumes": [{"type": "volume", "source": "/x", "target": "/y", "read_only": True}]}, "mounts a volume"),
    ({"oom_kill_disable": True}, "has what no rule knows (oom_kill_disable)"),
    *(({key: "host"}, f"{what} ({key})") for key, what in rules().refused.items() if key not in JUDGED),
]


@pytest.mark.parametrize(("change", "fault"), BROKEN)
def test_each_rule_is_broken_once(change: dict[str, Any], fault: str) -> None:
    assert fault in list(faults(GOOD | change, CLOSED, PROJECT))


@pytest.mark.parametrize("network", [{}, {"internal": True}, {"driver_opts": {INHIBIT: "true"}}])
def test_a_network_that_the_host_is_in_leads_out_of_the_run(network: dict[str, Any]) -> None:
    assert list(faults(GOOD, {"bench": network}, PROJECT)) == ["is on bench, which leads out of the run"]


HOST: dict[str, Any] = {"ReadonlyRootfs": True, "CapDrop": ["ALL"], "CapAdd": None, "PidsLimit": 512, "Memory": 1 << 29}
HOST |= {"SecurityOpt": ["no-new-privileges:true"], "Ulimits": [{"Name": "nofile", "Hard": 16384, "Soft": 16384}]}
HOST |= {"LogConfig": {"Type": "json-file", "Config": LOG}, "NetworkMode": "run_bench", "PortBindings": {}}
HOST |= {"PublishAllPorts": False, "Privileged": False, "MaskedPaths": ["/proc/kcore"]}
HOST |= {"IpcMode": "private", "Runtime": "runc", "PidMode": ""}
INSPECTED: dict[str, Any] = {
    "Name": "/run-app-1",
    "Config": {"Labels": {"com.docker.compose.service": "app"}},
    "HostConfig": HOST,
    "NetworkSettings": {"Networks": {"run_bench": {}}},
    "Mounts": [{"Type": "bind", "Source": f"{PROJECT}/postgres/x", "Destination": "/run/secrets/x", "RW": False}],
}
NETWORK = {"Name": "run_bench", "Internal": True, "IPAM": {}, "Options": {INHIBIT: "true"}}


def broken(**host: Any) -> list[str]:
    container = copy.deepcopy(INSPECTED)
    container["HostConfig"] |= host
    return list(unexempted(*read([container, NETWORK]), PROJECT))


def test_a_container_that_runs_is_judged_by_the_same_rules() -> None:
    assert broken() == []
    assert broken(CapAdd=["CAP_NET_RAW"]) == ["app: adds capabilities: NET_RAW"]
    assert broken(Privileged=True, MaskedPaths=None) == ["app: is privileged (privileged)"]
    assert broken(MaskedPaths=None) == ["app: is privileged (privileged)"]
    assert broken(PidMode="host") == ["app: shares a PID namespace (pid)"]
    assert broken(NetworkMode="host") == ["app: leaves the internal network (network_mode)"]
    assert broken(PublishAllPorts=True) == ["app: publishes a port"]
    assert broken(Devices=[{"PathOnHost": "/dev/kvm"}]) == ["app: uses devices of the host (devices)"]
    assert broken(ReadonlyRootfs=False, Memory=0) == ["app: its root is writable", "app: has no limit of memory"]


def started(call: str) -> dict[str, Any]:
    """The container of a call of `docker run`, as `docker inspect` has it."""
    words = iter(call.replace("--tmpfs /tmp:exec", "").split()[1:])
    given = defaultdict[str, list[str]](list)
    for word in words:
        if word.startswith("--") and word not in ("--rm", "--read-only", "--interactive"):
            given[word].append(next(words))
    container = copy.deepcopy(INSPECTED)
    container["Config"]["Labels"], container["NetworkSettings"] = {"bench.run": "x"}, {"Networks": {}}
    container["HostConfig"] |= {
        "ReadonlyRootfs": "--read-only" in call,
        "Ulimits": [{"Name": one.partition("=")[0], "Hard": one.partition("=")[2]} for one in given["--ulimit"]],
        "LogConfig": {"Type": "json-file", "Config": dict(one.split("=") for one in given["--log-opt"])},
    }
    listed = {"CapDrop": "--cap-drop", "CapAdd": "--cap-add", "SecurityOpt": "--security-opt"}
    single = {"PidsLimit": "--pids-limit", "Memory": "--memory", "NetworkMode": "--network", "PidMode": "--pid"}
    container["HostConfig"] |= {key: given[option] for key, option in listed.items()}
    container["HostConfig"] |= {key: "".join(given[option]) for key, option in single.items()}
    return container


def test_the_containers_that_look_into_a_service_are_in_the_list(docker: Docker, run: Run, tmp_path: Path) -> None:
    read_sockets(run, "p-a-1")
    sample("p-a-1", "p", 1, tmp_path / "stacks.txt", cpus="1")
    for call in docker.calls:
        (name, service), *_ = read([started(call)])[0]
        assert (name, list(unexempted([(name, service)], {}, PROJECT))) == ("inspecting", [])
        assert len([*unexempted([("a", service)], {}, PROJECT)]) >= 2
    assert len(docker.calls) == 2


def test_what_saves_the_changes_of_before_is_confined_as_all_tools_are(docker: Docker, run: Run) -> None:
    keep_changes(run, "p-once")
    (call,) = docker.calls
    assert call.startswith("-o pipefail -c docker exec p-once /app/changes | docker run ")
    (name, tools), *_ = read([started(call.partition(" | docker ")[2])])[0]
    assert (name, list(unexempted([(name, tools)], {}, PROJECT))) == ("tools", [])


def test_containers_are_named_after_their_service_or_what_they_are() -> None:
    assert inspected(INSPECTED)[0] == "app"
    built = {"com.docker.compose.service": "loadgen"}
    assert inspected(INSPECTED | {"Config": {"Labels": built | {"bench.run": "x"}}})[0] == "tools"
    assert inspected(INSPECTED | {"Config": {"Labels": None}})[0] == "run-app-1"


def test_one_exemption_is_for_one_container_and_one_fault() -> None:
    adds = GOOD | {"cap_add": ["SETUID", "SETGID"]}
    assert not list(unexempted([("bench", adds)], CLOSED, PROJECT))
    assert list(unexempted([("app", adds)], CLOSED, PROJECT)) == ["app: adds capabilities: SETGID, SETUID"]
    more = GOOD | {"cap_add": ["SETUID", "SETGID", "CHOWN"]}
    assert list(unexempted([("bench", more)], CLOSED, PROJECT)) == ["bench: adds capabilities: CHOWN, SETGID, SETUID"]


def test_an_exemption_that_nothing_needs_is_a_fault() -> None:
    found = list(unneeded([("bench", GOOD)], CLOSED, PROJECT))
    assert "bench: no longer needs its exemption: mounts /sys/fs/cgroup" in found
    assert not list(unneeded([("app", GOOD)], CLOSED, PROJECT))


def test_every_exemption_has_a_reason() -> None:
    assert all(len(one.reason) > 20 for one in EXEMPTIONS)
    assert len({(one.container, one.fault) for one in EXEMPTIONS}) == len(EXEMPTIONS)


def test_a_users_own_services_are_confined_but_for_what_is_listed() -> None:
    asked = {"image": "postgres:18", "platform": "x", "tmpfs": ["/x"], "expose": ["5432"]}
    asked |= {"volumes": [{"type": "bind", "source": "/shop/init", "target": "/init"}]}
    own = own_services({"services": {"db": asked}})["services"]
    assert not list(unexempted(own.items(), CLOSED, "/shop"))
    kept = {fault for one in own.values() for fault in faults(one, CLOSED, "/shop")}
    assert kept == {one.fault for one in EXEMPTIONS if one.container == "own-*"}


@pytest.mark.parametrize(
    ("services", "status", "printed"),
    [
        ({"app": GOOD}, 0, "1 containers are confined\n"),
        ({"app": GOOD, "other": GOOD | {"read_only": False}}, 1, "other: its root is writable\n"),
        ({}, 1, "0 containers are confined\n"),
    ],
)
def test_the_command(services: dict[str, Any], status: int, printed: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"services": services, "networks": CLOSED})))
    assert main([PROJECT]) == status
    assert capsys.readouterr().out == printed
