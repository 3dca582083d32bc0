"""A run on two machines without a swarm: checks the machines, and assigns ports on the server's.

Server, database and upstream are on one machine and talk over an internal network there. The services under test and
the reader of their counters publish one port each on one of its addresses, through a second network without
masquerading.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from ipaddress import AddressValueError, IPv4Address

from driver.docker import DockerError, docker
from driver.failure import USER, Failure, say
from driver.files import save
from driver.nodes.compose import need_far_compose
from driver.nodes.node import ADDRESSES, NODES, ROLES, Node, read_nodes, save_nodes
from driver.nodes.swarm import kind_of
from driver.run import Run

FIRST_PORT, LAST_PORT = 21000, 32767
"""Below the ports that Linux assigns to outgoing connections."""


def ask_machine(context: str) -> tuple[str, Node]:
    """The id of the engine at a context or URL, and its machine, still without a role."""
    try:
        done = docker("info", "--format", "{{json .}}", context=context, check=False, timeout=30)
        words = done.err.strip().splitlines() or [f"it ended with status {done.status}"]
        if done.status:
            raise DockerError(words[-1].strip())
        # ssh may have printed a banner.
        about = json.loads([line for line in done.out.splitlines() if line.startswith("{")][-1])
        cpus, memory = int(about["NCPU"]), int(about["MemTotal"])
        kind = kind_of(cpus, memory, f"{about['OSType']}/{about['Architecture']}")
        return str(about["ID"]), Node("", str(about["Name"]), context, "-", kind, cpus)
    except DockerError as error:
        raise Failure(USER, f"no Docker engine answers at {context}: {error}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise Failure(USER, f"{context} does not answer like a Docker engine: {error!r}") from error


def published_address(text: str) -> str:
    """Checks the address at which to publish ports; Failure unless other machines could reach it."""
    try:
        address = IPv4Address(text)
    except AddressValueError:
        words = f"'{text}' is not an IPv4 address of the server's machine: give --server-address ADDRESS"
        raise Failure(USER, words) from None
    if address.is_unspecified:
        raise Failure(USER, f"{text} stands for every interface of the server's machine: give the address of one")
    if address.is_loopback:
        words = "can only be reached from the server's machine: give an address that the other one can reach"
        raise Failure(USER, f"{text} {words}")
    if address.is_multicast or address == IPv4Address("255.255.255.255"):
        raise Failure(USER, f"{text} is not a machine's address")
    return text


def machines(server_context: str, loadgen_context: str, address: str) -> list[Node]:
    """The machine of each role; database and upstream are on the server's machine."""
    (server_id, server), (loadgen_id, loadgen) = ask_machine(server_context), ask_machine(loadgen_context)
    if (server_id, server.name) == (loadgen_id, loadgen.name):
        raise Failure(USER, f"{server_context} and {loadgen_context} are the same engine: leave out both")
    server = replace(server, address=published_address(address))
    return [replace(loadgen if role == "loadgen" else server, role=role) for role in ROLES]


def addresses(services: Iterable[str], address: str) -> list[tuple[str, str]]:
    """The readers and services of a run, each with its own port at this address."""
    names = ["counters-server", "counters-support", *dict.fromkeys(("null", *services))]
    if len(names) > LAST_PORT - FIRST_PORT + 1:
        raise Failure(USER, f"too few ports from {FIRST_PORT} to {LAST_PORT} for {len(names)} services")
    return [(name, f"{address}:{port}") for port, name in enumerate(names, FIRST_PORT)]


def place_run(run: Run, chosen: Sequence[Node]) -> None:
    """Writes addresses and nodes into a run's folder; nodes.tsv comes last, as it marks a run on several machines."""
    facts = json.loads((run.folder / "run.json").read_text())
    ports = addresses(facts.get("services") or (), chosen[0].address)
    save(run.folder / ADDRESSES, "".join(f"{name}\t{address}\n" for name, address in ports))
    published = f"{ports[0][1]}-{ports[-1][1].rpartition(':')[2]}"
    entry = {"server": chosen[0].name, "loadgen": chosen[1].name, "published": published}
    save(run.folder / "run.json", json.dumps({**facts, "machines": entry}, indent=1) + "\n")
    save_nodes(run.folder, chosen)


def need_machines(run: Run, resume: bool) -> None:
    """Failure if a resumed run's machines have changed."""
    kept = list(read_nodes(run.folder / NODES))
    server, loadgen = kept[0], kept[1]
    if resume:
        found = machines(server.context, loadgen.context, server.address)
        if found != kept:
            words = f"{_words(found)}, not {_words(kept)}"
            raise Failure(USER, f"these are not the machines that the run began with: {words}")
    need_far_compose(run)
    say(f"server and database: {server.name}, at {server.address}; load generator: {loadgen.name}; not encrypted")


def _words(nodes: Sequence[Node]) -> str:
    return " ".join(f"{node.role} {node.name} {node.context} {node.address} {node.kind}" for node in nodes)
