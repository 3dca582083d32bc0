"""A run on two machines without a swarm: which addresses are refused, ports, networks and the Compose file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from bench.cli.contexts import contexts_network_verb, contexts_place_verb, contexts_verb
from bench.core.errors import UserError
from bench.run.addresses import host_and_port, read_addresses
from bench.swarm.contexts import (
    FIRST_PORT,
    LAST_PORT,
    addresses,
    contexts_compose,
    machines,
    network_options,
    published_address,
    read_engine,
)

SERVER = "one\tID-1\tnode-1\t4\t8589934592\tlinux\tx86_64"
LOADGEN = "ssh://root@two\tID-2\tnode-2\t2\t4294967296\tlinux\tx86_64"
ADDRESS = "198.18.83.1"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0.0.0.0", "every interface"),
        ("::", "no IPv4 address"),
        ("", "no IPv4 address"),
        ("0", "no IPv4 address"),
        ("::ffff:0.0.0.0", "no IPv4 address"),
        ("server.example.org", "no IPv4 address"),
        ("198.18.83.1:80", "no IPv4 address"),
        (" 198.18.83.1", "no IPv4 address"),
        ("127.0.0.1", "reached by the server's machine alone"),
        ("127.8.8.8", "reached by the server's machine alone"),
        ("224.0.0.1", "no machine's address"),
        ("255.255.255.255", "no machine's address"),
    ],
)
def test_an_address_that_is_not_of_one_interface_for_others_is_refused(address: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        published_address(address)


def test_database_and_upstream_are_with_the_server() -> None:
    assert machines(read_engine(SERVER), read_engine(LOADGEN), ADDRESS) == [
        ("server", "node-1", "one", ADDRESS, "4 CPUs, 8.0 GiB, linux/x86_64"),
        ("loadgen", "node-2", "ssh://root@two", "-", "2 CPUs, 4.0 GiB, linux/x86_64"),
        ("support", "node-1", "one", ADDRESS, "4 CPUs, 8.0 GiB, linux/x86_64"),
    ]


def test_two_contexts_of_one_engine_are_refused_and_two_machines_of_one_image_are_not() -> None:
    with pytest.raises(UserError, match="one and again are one engine"):
        machines(read_engine(SERVER), read_engine(SERVER.replace("one", "again", 1)), ADDRESS)
    twin = SERVER.replace("node-1", "node-2")
    assert machines(read_engine(SERVER), read_engine(twin), ADDRESS)[1][1] == "node-2"


@pytest.mark.parametrize("line", ["", "one\tID", SERVER.replace("4", "four", 1)])
def test_what_docker_info_does_not_print(line: str) -> None:
    with pytest.raises(UserError, match="not what docker info prints"):
        read_engine(line)


def test_each_service_has_a_port_of_its_own_and_none_that_outgoing_connections_take() -> None:
    found = addresses(["web", "null", "app"], ADDRESS)
    assert [name for name, _ in found] == ["counters-server", "counters-support", "null", "web", "app"]
    assert [address for _, address in found] == [f"{ADDRESS}:{FIRST_PORT + i}" for i in range(5)]
    with pytest.raises(UserError, match="more than there are ports"):
        addresses(map(str, range(LAST_PORT - FIRST_PORT)), ADDRESS)


def compose() -> dict[str, Any]:
    service = {"image": "bench/web", "cpuset": "0", "networks": {"bench": None}}
    mounts = [{"type": "bind", "source": "/here", "target": "/bench"}]
    return {
        "name": "bench",
        "services": {
            "web": service,
            "null": service,
            "postgres": {**service, "cpuset": "3"},
            "upstream": service,
            "loadgen": {
                "image": "bench/loadgen",
                "cpuset": "1",
                "build": {},
                "volumes": mounts,
                "networks": {"bench": None},
            },
        },
        "networks": {"bench": {"internal": True}},
    }


def test_services_are_published_at_the_one_address_and_nothing_else_is() -> None:
    ports = dict(addresses(["web"], ADDRESS))
    made = contexts_compose(compose(), "bench-a", ports)
    services = made["services"]
    assert services["web"]["ports"] == [
        {"mode": "host", "host_ip": ADDRESS, "published": ports["web"].partition(":")[2], "target": 8080}
    ]
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
    services = contexts_compose(compose(), "bench-a", {})["services"]
    kept = {key: value for key, value in services["loadgen"].items() if key != "build"}
    assert services["checker"] == kept | {"cpuset": "3", "networks": {"bench": None}}


def test_the_database_has_a_network_without_a_way_out_and_published_ports_one_without_masquerading() -> None:
    found = network_options("198.18.191.0/24")
    assert {"--internal", "--subnet=198.18.191.0/25"} <= set(found["inner"])
    assert {
        "--opt=com.docker.network.bridge.enable_ip_masquerade=false",
        "--subnet=198.18.191.128/25",
    } <= set(found["outer"])
    assert "--internal" not in found["loadgen"]
    with pytest.raises(UserError, match="cannot be divided in two"):
        network_options("198.18.191.0/32")


def test_the_verbs_place_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text('{"services": {"web": {}}, "seed": 1}')
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SERVER}\n{LOADGEN}\n"))
    assert contexts_verb([ADDRESS]) == 0
    text = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert contexts_place_verb([str(tmp_path)]) == 0
    assert (tmp_path / "nodes.tsv").read_text() == (tmp_path / "nodes-ever.tsv").read_text() == text
    assert read_addresses(tmp_path)["web"] == f"{ADDRESS}:{FIRST_PORT + 3}"
    facts = json.loads((tmp_path / "run.json").read_text())
    published = f"{ADDRESS}:{FIRST_PORT}-{FIRST_PORT + 3}"
    assert facts["machines"] == {"server": "node-1", "loadgen": "node-2", "published": published}
    assert facts["seed"] == 1
    assert contexts_network_verb(["inner", "198.18.0.0/24"]) == 0
    assert "--internal" in capsys.readouterr().out.split()


def test_addresses_of_a_run(tmp_path: Path) -> None:
    assert read_addresses(tmp_path) == {}
    assert host_and_port("counters-server", 7070) == ("counters-server", 7070)
    assert host_and_port("198.18.83.1:21000", 7070) == ("198.18.83.1", 21000)
    (tmp_path / "addresses.tsv").write_text("web 198.18.83.1:21000\n")
    with pytest.raises(UserError, match="no lines of names and addresses"):
        read_addresses(tmp_path)
