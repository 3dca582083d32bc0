"""Nodes of a swarm: their roles, what prevents a run on them, and a run's stack."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from captured import refused
from docker_calls import Docker
from swarm_facts import CONFINED, THREE, inspected, swarm

from driver.docker import Done
from driver.failure import Failure
from driver.nodes.images import loses, overlay_options, stack
from driver.nodes.swarm import nodes_of_inspect, role_label
from driver.nodes.swarm_verbs import (
    Finding,
    clock_of,
    closed_ports,
    of_clock,
    of_engines,
    of_images,
    of_link,
    of_roles,
)


def test_a_node_is_read() -> None:
    (node,) = nodes_of_inspect([inspected("alpha", "server", cpus=4)], {"id-alpha": "far-alpha"})
    assert (node.name, node.roles, node.context, node.address) == ("alpha", ("server",), "far-alpha", "198.18.64.9")
    assert node.usable and node.kind == "4 CPUs, 8.0 GiB, linux/x86_64"


UNUSABLE = ({"state": "down"}, {"availability": "drain"}, {"availability": "pause"})


@pytest.mark.parametrize(("changed", "context"), [*((one, "alpha") for one in UNUSABLE), ({}, "beta")])
def test_unusable_nodes(changed: dict[str, str], context: str) -> None:
    (node,) = nodes_of_inspect([inspected("alpha", "server", **changed)], {f"id-{context}": context})
    assert not node.usable


def test_a_leader_that_calls_itself_0_0_0_0_has_the_address_of_its_manager() -> None:
    (node,) = nodes_of_inspect([inspected("alpha", address="0.0.0.0", manager="198.18.64.1:2377")], {})
    assert node.address == "198.18.64.1"


def test_nodes_come_by_name_and_have_one_role_or_several() -> None:
    found = swarm((inspected("zeta", "loadgen+support"), *THREE, inspected("eta", "supports")))
    assert [node.name for node in found.nodes] == ["alpha", "beta", "eta", "gamma", "zeta"]
    assert [node.name for node in found.with_role("support")] == ["alpha", "zeta"]


def test_each_role_of_a_node_that_can_be_used_and_each_of_these_machines_once() -> None:
    four = inspected("alpha", "loadgen+support", cpus=4)
    found = swarm((four, *THREE[1:], inspected("delta", "server", state="down")))
    assert [(node.role, node.name, node.context, node.cpus) for node in found.usable()] == [
        ("loadgen", "alpha", "alpha", 4),
        ("support", "alpha", "alpha", 4),
        ("loadgen", "beta", "beta", 2),
        ("server", "gamma", "gamma", 2),
    ]
    for roles, names in (([], ["alpha", "beta", "gamma"]), (["loadgen"], ["alpha", "beta"])):
        assert [node.name for node in found.machines(*roles)] == names


def test_what_is_no_node_is_one_line() -> None:
    assert "docker node inspect" in refused(Failure, nodes_of_inspect, [{"ID": "x"}], {}).words


def test_labels() -> None:
    for label, roles in {"server": ["server"], "loadgen+support": ["support", "loadgen", "support"], "": []}.items():
        assert role_label(roles) == label


@pytest.mark.parametrize(("roles", "words"), [(["sever"], "unknown role 'sever'"), (["server", "loadgen"], "no other")])
def test_labels_that_are_refused(roles: list[str], words: str) -> None:
    with pytest.raises(Failure, match=words):
        role_label(roles)


def said(found: Iterable[Finding]) -> list[str]:
    return [str(finding) for finding in found]


def of_nodes(nodes: tuple[dict[str, Any], ...], *unreached: str) -> list[str]:
    found = swarm(nodes, *unreached)
    return said([*of_roles(found), *of_engines(found)])


def stops(nodes: tuple[dict[str, Any], ...], *unreached: str) -> list[str]:
    return [line for line in of_nodes(nodes, *unreached) if line.startswith("stop")]


def ping(round_trip_ms: float | None) -> Done:
    words = "PING x\n\n--- x ping statistics ---\n40 packets transmitted, 40 received, 0% packet loss, time 1951ms\n"
    times = f"rtt min/avg/max/mdev = 0.050/{round_trip_ms:.3f}/0.300/0.040 ms\n" if round_trip_ms else ""
    return Done(0 if times else 1, words + times, "")


def iperf(gbits: float | None) -> Done:
    failed = {"error": "unable to connect to server", "end": {}}
    return Done(0, json.dumps({"end": {"sum_received": {"bits_per_second": gbits * 1e9}}} if gbits else failed), "")


def test_nothing_stops_a_run_on_three_nodes_with_a_role_each() -> None:
    assert of_nodes(THREE) == ["ok: server: gamma", "ok: loadgen: beta", "ok: support: alpha"]


@pytest.mark.parametrize(("left_out", "role"), [(0, "support"), (1, "loadgen"), (2, "server")])
def test_a_role_that_no_node_has_stops(left_out: int, role: str) -> None:
    found = tuple(node for n, node in enumerate(THREE) if n != left_out)
    assert stops(found) == [f"stop: {role}: no node has this role: scripts/swarm.sh label NODE {role}"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"state": "down"}, "warn: delta: is down"), ({"availability": "drain"}, "warn: delta: is drained")],
)
def test_a_node_that_is_lost_stops_only_where_no_other_has_its_role(changed: dict[str, str], why: str) -> None:
    lost = inspected("delta", "server", **changed)
    assert not stops((*THREE, lost))
    assert any(line.startswith(why) for line in of_nodes((*THREE, lost)))
    assert stops((*THREE[:2], lost)) == ["stop: server: no node with this role can be used now (delta)"]


def test_a_node_without_a_context_stops() -> None:
    none, why = stops(THREE, "beta")
    assert none == "stop: loadgen: no node with this role can be used now (beta)"
    assert "docker context create beta --docker host=ssh://198.18.64.9" in why


def test_labels_that_were_set_by_hand() -> None:
    found = (*THREE, inspected("delta", "server+support"), inspected("epsilon", "client"))
    assert stops(found) == [
        "stop: delta: a server under test shares its node with no other role",
        "stop: epsilon: bench.role=client has no meaning; roles are server, loadgen, support",
    ]


def test_nodes_of_different_kinds_and_engines_are_named() -> None:
    found = (*THREE, inspected("delta", "server", cpus=8, engine="27.0.1"))
    assert not stops(found)
    words = "\n".join(of_nodes(found))
    assert "engines of 2 versions: 26.1.5, 27.0.1" in words
    assert "server nodes of 2 kinds, whose figures are not compared (delta: 8 CPUs" in words


@pytest.mark.parametrize(("ahead", "kind"), [(0.0, "ok"), (0.14, "ok"), (0.5, "warn"), (-0.5, "warn"), (3.0, "stop")])
def test_a_clock_is_held_to_what_is_certain(ahead: float, kind: str) -> None:
    # The question took 100 ms, so the clock was read at about 100.05 s.
    line = str(of_clock("gamma", *clock_of(100.0, f"1970-01-01T00:01:{40.05 + ahead:.6f}123Z", 100.1)))
    help_ = "; set it by NTP (chrony, systemd-timesyncd)" if kind != "ok" else ""
    assert line == f"{kind}: gamma: clock {ahead * 1000:+.0f} ms from this machine's (within 50){help_}"


def test_a_port_that_is_closed_stops(docker: Docker) -> None:
    found = swarm((inspected("alpha", "support", manager="198.18.64.1:2377"), *THREE[1:]))
    docker.says("run --rm", "open\nopen\nclosed\n")
    words = "stop: beta: cannot reach alpha at 2377/tcp (the swarm's managers): open it there"
    assert said(closed_ports(found, found.machines("loadgen")[0])) == [words]
    assert docker.stdins == [b"198.18.64.9 7946\n198.18.64.9 7946\n198.18.64.9 2377\n"]


LINKS = [
    (None, None, "stop: beta to gamma: the overlay network is blocked: open 4789/udp and 7946/udp on both"),
    (None, 0.2, "stop: beta to gamma: iperf3 fails, although ping works: is the network's MTU too large?"),
    (0.4, 0.2, "warn: beta to gamma: 0.40 Gbit/s, 0.20 ms"),
    (9.0, 8.0, "warn: beta to gamma: 9.00 Gbit/s, 8.00 ms"),
    (9.5, 0.12, "ok: beta to gamma: 9.50 Gbit/s, 0.12 ms (iperf3 and ping, overlay)"),
]


@pytest.mark.parametrize(("gbits", "round_trip_ms", "line"), LINKS)
def test_links(gbits: float | None, round_trip_ms: float | None, line: str) -> None:
    assert str(of_link("beta", "gamma", ping(round_trip_ms), iperf(gbits))).startswith(line)


def test_images_that_a_node_lacks() -> None:
    wanted = {"bench/loadgen": "sha256:1", "bench/postgres": "sha256:2"}
    assert said([of_images("beta", wanted, ["sha256:1"]), of_images("beta", wanted, ["sha256:2", "sha256:1"])]) == [
        "ok: beta: images that are not there yet and will be sent: bench/postgres",
        "ok: beta: has all images of the harness",
    ]


SERVICE: dict[str, Any] = CONFINED | {
    **{"build": {"context": "/x"}, "pull_policy": "missing", "command": None, "init": True},
    **{"ulimits": {"nofile": 16384}, "tmpfs": ["/tmp:mode=1777"]},
}
POSTGRES = SERVICE | {
    **{"image": "bench/postgres", "shm_size": "268435456"},
    "tmpfs": ["/tmp:mode=1777", "/data:mode=0700,uid=999"],
    "secrets": [{"source": "database_password", "target": "/run/secrets/database_password"}],
}
REGISTRY = {"image": "bench/registry", "volumes": [{"type": "volume", "target": "/var/lib/registry"}]}
COMPOSE: dict[str, Any] = {
    "services": {"postgres": POSTGRES, "registry": SERVICE | REGISTRY},
    "networks": {"bench": {"internal": True, "ipam": {"config": [{"subnet": "198.18.129.0/24"}]}}},
    "secrets": {"database_password": {"name": "x_database_password", "file": "/postgres/password"}},
}
NODES = nodes_of_inspect(THREE, {})


def test_a_service_keeps_what_a_swarm_can_give_it() -> None:
    made = stack(COMPOSE, ["postgres"], NODES, {"bench/postgres": "127.0.0.1:5000/bench/postgres@sha256:1"})
    service = made["services"]["postgres"]
    assert service["image"] == "127.0.0.1:5000/bench/postgres@sha256:1"
    kept = {"init", "read_only", "cap_drop", "ulimits", "secrets"}
    assert {key: service[key] for key in kept} == {key: POSTGRES[key] for key in kept}
    assert service["deploy"]["resources"] == {"limits": {"memory": "536870912", "pids": 512}}
    assert service["deploy"]["endpoint_mode"] == "dnsrr"
    assert service["deploy"]["placement"] == {"constraints": ["node.labels.bench.role == support"]}
    assert [folder["target"] for folder in service["volumes"]] == ["/tmp", "/data", "/dev/shm"]
    assert service["volumes"][2]["tmpfs"] == {"size": 268435456}
    assert made["secrets"] == {"database_password": {"file": "/postgres/password"}}
    assert not {"build", "pull_policy", "command"} & service.keys()


def test_what_a_swarm_cannot_give_it_is_said() -> None:
    assert loses(POSTGRES) == ["cpuset", "security_opt"]


def test_a_key_that_nobody_has_decided_on_is_not_lost_silently() -> None:
    changed = COMPOSE | {"services": {"postgres": POSTGRES | {"userns_mode": "host"}}}
    assert "userns_mode" in refused(Failure, stack, changed, ["postgres"], NODES, {}).words


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
    (constraint,) = made["services"]["postgres"]["deploy"]["placement"]["constraints"]
    assert constraint == "node.labels.bench.role == loadgen+support"


def test_without_a_node_that_supports_there_is_no_stack() -> None:
    assert "role support" in refused(Failure, stack, COMPOSE, ["postgres"], NODES[1:], {}).words
