"""Which machines a run gets, on a swarm or on two without one; their addresses, networks and Compose files."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, refused
from pretend_engine import made_run
from swarm_facts import CONFINED
from tables import cases

from driver.docker import Done
from driver.failure import Failure
from driver.nodes import contexts
from driver.nodes.choice import chosen_lanes, lane_subnets, lanes_entry, of_largest_kinds
from driver.nodes.compose import contexts_compose, lane_compose, several_compose
from driver.nodes.contexts import (
    FIRST_PORT,
    LAST_PORT,
    addresses,
    ask_machine,
    machines,
    need_machines,
    place_run,
    published_address,
)
from driver.nodes.node import Node, nodes_of, read_addresses, several
from driver.nodes.setup import bridge_options

SMALL, LARGE = "2 CPUs, 4.0 GiB, linux/x86_64", "8 CPUs, 16.0 GiB, linux/x86_64"
KNOBS = {"DATABASE_CPUS": "1", "LOADGEN_CPUS": "1"}


def node(role: str, number: int, kind: str = SMALL) -> Node:
    return Node(role, f"node-{number}", f"ctx-{number}", f"198.18.64.{number}", kind, int(kind[0]))


def without(name: str) -> list[Node]:
    return [one for one in ROLES if one.name != name]


ROLES = [node("support", 1), node("loadgen", 3), node("loadgen", 2), node("server", 4), node("server", 5)]


def test_each_server_has_a_load_generator_of_its_own() -> None:
    lanes = chosen_lanes(ROLES, [], "198.18.0.0/24", KNOBS)
    names = [[one.name for one in lane.nodes] for lane in lanes]
    assert names == [["node-4", "node-2", "node-1"], ["node-5", "node-3", "node-1"]]
    assert len(chosen_lanes(without("node-3"), [], "198.18.0.0/24", KNOBS)) == 1


def test_servers_are_of_the_kind_that_most_have_and_the_others_are_named() -> None:
    roles = [node("server", 1, LARGE), *ROLES]
    kept, left_out = of_largest_kinds(roles)
    assert set(kept) == set(ROLES)
    assert left_out == [f"node-1 (server: {LARGE}, the run uses {SMALL})"]
    assert {lane.nodes[0].kind for lane in chosen_lanes(roles, [], "198.18.0.0/24", KNOBS)} == {SMALL}
    # A resumed run keeps the kind of machine that it began with.
    before = [node("server", 9, LARGE)]
    assert [lane.nodes[0].name for lane in chosen_lanes(roles, before, "198.18.0.0/24", KNOBS)] == ["node-1"]


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_lanes_have_parts_of_the_subnet_that_do_not_overlap(count: int) -> None:
    parts = [ipaddress.ip_network(part) for part in lane_subnets("198.18.0.0/24", count)]
    whole = ipaddress.ip_network("198.18.0.0/24")
    assert len(parts) == count
    assert all(part.subnet_of(whole) for part in parts)  # type: ignore[arg-type]
    assert not any(a.overlaps(b) for n, a in enumerate(parts) for b in parts[n + 1 :])
    assert parts[0].num_addresses == 128 and all(part.num_addresses >= 32 for part in parts)


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
    # The node also has a load generator, whose CPUs are not for databases.
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


def test_a_role_without_a_suitable_node_says_why() -> None:
    with pytest.raises(Failure, match=r"no node can be used as server or loadgen: scripts/swarm.sh check says why"):
        chosen_lanes(ROLES[:1], [], "198.18.0.0/24", KNOBS)
    with pytest.raises(Failure, match=r"as server: node-4 \(server: 2 CPUs, .*, the run uses 8 CPUs"):
        chosen_lanes(ROLES, [node("server", 9, LARGE)], "198.18.0.0/24", KNOBS)


SERVER = Node("", "node-1", "one", "-", "4 CPUs, 8.0 GiB, linux/x86_64")
LOADGEN = Node("", "node-2", "ssh://root@two", "-", "2 CPUs, 4.0 GiB, linux/x86_64")
ADDRESS = "198.18.83.1"


NOT_IPV4 = ["::", "", "0", "::ffff:0.0.0.0", "server.example.org", "198.18.83.1:80", " 198.18.83.1"]
NOT_FOR_OTHERS = {
    "every interface": ["0.0.0.0"],
    "not an IPv4 address": NOT_IPV4,
    "can only be reached from the server's machine": ["127.0.0.1", "127.8.8.8"],
    "not a machine's address": ["224.0.0.1", "255.255.255.255"],
}


@pytest.mark.parametrize(("address", "words"), cases(NOT_FOR_OTHERS))
def test_an_address_that_is_not_of_one_interface_for_others_is_refused(address: str, words: str) -> None:
    assert words in refused(Failure, published_address, address).words


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, Node]]:
    """The nodes behind each Docker context."""
    found = {"one": ("ID-1", SERVER), "ssh://root@two": ("ID-2", LOADGEN)}
    monkeypatch.setattr(contexts, "ask_machine", found.__getitem__)
    return found


@pytest.mark.usefixtures("there")
def test_database_and_upstream_are_with_the_server() -> None:
    assert machines("one", "ssh://root@two", ADDRESS) == [
        Node("server", "node-1", "one", ADDRESS, SERVER.kind),
        Node("loadgen", "node-2", "ssh://root@two", "-", LOADGEN.kind),
        Node("support", "node-1", "one", ADDRESS, SERVER.kind),
    ]


def test_two_contexts_of_one_engine_are_refused(there: dict[str, tuple[str, Node]]) -> None:
    there["again"] = ("ID-1", replace(SERVER, context="again"))
    with pytest.raises(Failure, match="one and again are the same engine"):
        machines("one", "again", ADDRESS)
    there["again"] = ("ID-1", replace(SERVER, name="node-2"))
    assert machines("one", "again", ADDRESS)[1].name == "node-2"


def test_each_service_has_a_port_of_its_own_and_none_that_outgoing_connections_take() -> None:
    found = addresses(["web", "null", "app"], ADDRESS)
    assert [name for name, _ in found] == ["counters-server", "counters-support", "null", "web", "app"]
    assert [address for _, address in found] == [f"{ADDRESS}:{FIRST_PORT + i}" for i in range(5)]
    with pytest.raises(Failure, match="too few ports"):
        addresses(map(str, range(LAST_PORT - FIRST_PORT)), ADDRESS)


def test_the_database_has_a_network_without_a_way_out_and_published_ports_one_without_masquerading() -> None:
    found = bridge_options("198.18.191.0/24")
    assert {"--internal", "--subnet=198.18.191.0/25"} <= set(found["inner"])
    masquerading = "--opt=com.docker.network.bridge.enable_ip_masquerade=false"
    assert {masquerading, "--subnet=198.18.191.128/25"} <= set(found["outer"])
    assert "--internal" not in found["loadgen"]
    assert "cannot be divided in two" in refused(Failure, bridge_options, "198.18.191.0/32").words


def test_an_engine_is_asked_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"ID": "ID-1", "Name": "node-1", "NCPU": 4, "MemTotal": 8 * 2**30}
    about |= {"OSType": "linux", "Architecture": "x86_64"}
    told = [Done(0, f"Welcome to one\n{json.dumps(about)}\n", "Warning: added a key\n")]
    monkeypatch.setattr(contexts, "docker", lambda *_, **__: told[0])
    assert ask_machine("one") == ("ID-1", SERVER)
    told[0] = Done(1, "{}\n", 'x\ncontext "one" not found\r\n')
    with pytest.raises(Failure, match=r'^no Docker engine answers at one: context "one" not found$'):
        ask_machine("one")
    told[0] = Done(0, "{}\n", "")
    assert "does not answer like a Docker engine" in refused(Failure, ask_machine, "one").words


def test_run_is_placed_and_resumed_on_the_same_machines(
    tmp_path: Path, there: dict[str, tuple[str, Node]], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    run = made_run(tmp_path, "web")
    (run.folder / "run.json").write_text('{"services": {"web": {}}, "seed": 1}')
    assert several(run) == ""
    place_run(run, machines("one", "ssh://root@two", ADDRESS))
    assert (several(run), nodes_of(run)["loadgen"].context) == ("contexts", "ssh://root@two")
    lines = (run.folder / "nodes.tsv").read_text()
    assert lines == (run.folder / "nodes-ever.tsv").read_text()
    assert lines.splitlines()[1] == "loadgen\tnode-2\tssh://root@two\t-\t2 CPUs, 4.0 GiB, linux/x86_64"
    assert read_addresses(run)["web"] == f"{ADDRESS}:{FIRST_PORT + 3}"
    facts = json.loads((run.folder / "run.json").read_text())
    published = f"{ADDRESS}:{FIRST_PORT}-{FIRST_PORT + 3}"
    assert facts["machines"] == {"server": "node-1", "loadgen": "node-2", "published": published}
    assert facts["seed"] == 1

    monkeypatch.setattr(contexts, "need_far_compose", lambda _: None)
    need_machines(run, resume=True)
    words = f"server and database: node-1, at {ADDRESS}; load generator: node-2; not encrypted\n"
    assert capsys.readouterr().err == words
    there["one"] = ("ID-1", replace(SERVER, kind="8 CPUs, 8.0 GiB, linux/x86_64"))
    with pytest.raises(Failure, match=r"not the machines that the run began with: server node-1 one .* 8 CPUs"):
        need_machines(run, resume=True)


def compose(**services: Any) -> dict[str, Any]:
    secrets = {"database_password": {"file": "/here/postgres/password"}}
    return {"name": "bench", "services": services, "networks": {"bench": {"internal": True}}, "secrets": secrets}


def of_two_machines() -> dict[str, Any]:
    service = {"image": "bench/web", "cpuset": "0", "networks": {"bench": None}}
    loadgen = service | {"cpuset": "1", "build": {}, "volumes": [mount("/bench")]}
    database = service | {"cpuset": "3"}
    return compose(web=service, null=service, postgres=database, upstream=service, loadgen=loadgen)


def mount(target: str) -> dict[str, Any]:
    return {"type": "bind", "source": "/here", "target": target}


def test_services_keep_what_confines_them_and_nothing_of_this_machine() -> None:
    confined = CONFINED | {"image": "bench/web"}
    made = several_compose(compose(web=confined | {"secrets": [{"source": "database_password"}]}), "bench-a")
    assert made["services"]["web"].items() >= confined.items()
    secrets = {"type": "volume", "source": "secrets", "target": "/run/secrets", "read_only": True}
    assert made["services"]["web"]["volumes"][0] | {"volume": None} == secrets | {"volume": None}
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
    networks = {**dict.fromkeys(("postgres", "upstream", "checker"), "bench"), "loadgen": "outer"}
    for name, network in networks.items():
        assert "ports" not in services[name] and services[name]["networks"] == {network: None}
    assert made["networks"] == {
        "bench": {"name": "bench-a", "external": True},
        "outer": {"name": "bench-a-outer", "external": True},
    }


def test_what_verifies_is_a_load_generator_on_the_databases_cpus() -> None:
    services = contexts_compose(of_two_machines(), "bench-a", {})["services"]
    kept = {key: value for key, value in services["loadgen"].items() if key != "build"}
    assert services["checker"] == kept | {"cpuset": "3", "networks": {"bench": None}}


def test_a_lanes_compose_file_differs_in_its_project_and_its_databases_cpus() -> None:
    services = {"postgres": {"cpuset": "1"}, "upstream": {"cpuset": "1"}, "null": {"cpuset": "0"}}
    compose: dict[str, Any] = {"name": "bench-run", "services": services}
    compose["networks"] = {"bench": {"name": "bench-run", "external": True}}
    compose["volumes"] = {"source": {"name": "bench-run-source", "external": True}}
    made = lane_compose(compose, "bench-run-lane2", "3")
    theirs = {"cpuset": "3"}
    assert made["services"] == {"postgres": theirs, "upstream": theirs, "null": {"cpuset": "0"}}
    assert made["volumes"] == {"source": {"name": "bench-run-lane2-source", "external": True}}
    assert made["name"] == made["networks"]["bench"]["name"] == "bench-run-lane2"
    assert compose["name"] == "bench-run"
