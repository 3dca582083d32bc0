"""A run on two machines without a swarm: which addresses are refused, ports and networks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pretend_engine import made_run

from driver.docker import Done
from driver.failure import Failure
from driver.nodes import contexts
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

SERVER = Node("", "node-1", "one", "-", "4 CPUs, 8.0 GiB, linux/x86_64")
LOADGEN = Node("", "node-2", "ssh://root@two", "-", "2 CPUs, 4.0 GiB, linux/x86_64")
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
    with pytest.raises(Failure, match=words):
        published_address(address)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, Node]]:
    """What is at each context."""
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


def test_two_contexts_of_one_engine_are_refused_and_two_machines_of_one_image_are_not(
    there: dict[str, tuple[str, Node]],
) -> None:
    there["again"] = ("ID-1", replace(SERVER, context="again"))
    with pytest.raises(Failure, match="one and again are one engine"):
        machines("one", "again", ADDRESS)
    there["again"] = ("ID-1", replace(SERVER, name="node-2"))
    assert machines("one", "again", ADDRESS)[1].name == "node-2"


def test_each_service_has_a_port_of_its_own_and_none_that_outgoing_connections_take() -> None:
    found = addresses(["web", "null", "app"], ADDRESS)
    assert [name for name, _ in found] == ["counters-server", "counters-support", "null", "web", "app"]
    assert [address for _, address in found] == [f"{ADDRESS}:{FIRST_PORT + i}" for i in range(5)]
    with pytest.raises(Failure, match="more than there are ports"):
        addresses(map(str, range(LAST_PORT - FIRST_PORT)), ADDRESS)


def test_the_database_has_a_network_without_a_way_out_and_published_ports_one_without_masquerading() -> None:
    found = bridge_options("198.18.191.0/24")
    assert {"--internal", "--subnet=198.18.191.0/25"} <= set(found["inner"])
    assert {
        "--opt=com.docker.network.bridge.enable_ip_masquerade=false",
        "--subnet=198.18.191.128/25",
    } <= set(found["outer"])
    assert "--internal" not in found["loadgen"]
    with pytest.raises(Failure, match="cannot be divided in two"):
        bridge_options("198.18.191.0/32")


def test_an_engine_is_asked_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {
        "ID": "ID-1",
        "Name": "node-1",
        "NCPU": 4,
        "MemTotal": 8 * 2**30,
        "OSType": "linux",
        "Architecture": "x86_64",
    }
    told = [Done(0, f"Welcome to one\n{json.dumps(about)}\n", "Warning: added a key\n")]
    monkeypatch.setattr(contexts, "docker", lambda *_, **__: told[0])
    assert ask_machine("one") == ("ID-1", SERVER)
    told[0] = Done(1, "{}\n", 'x\ncontext "one" not found\r\n')
    with pytest.raises(Failure, match=r'^no Docker engine answers at one: context "one" not found$'):
        ask_machine("one")
    told[0] = Done(0, "{}\n", "")
    with pytest.raises(Failure, match="not what docker info prints"):
        ask_machine("one")


def test_a_run_is_placed_and_goes_on_with_the_same_machines_alone(
    tmp_path: Path,
    there: dict[str, tuple[str, Node]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
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
    with pytest.raises(Failure, match=r"others than those that the run began with: server node-1 one .* 8 CPUs"):
        need_machines(run, resume=True)
