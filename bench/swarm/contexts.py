"""A run on two machines without a swarm: which they are, where the server's is reached, and the run's Compose file.

Server, database and upstream are on one machine and talk over an internal network there. Services under test and the
reader of their counters have a port each on one of its addresses, through a second network that does not masquerade.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any

from bench.core.errors import UserError
from bench.swarm.nodes import ROLES
from bench.swarm.several import NETWORK, Chosen, several_compose

OUTER = "outer"
"""The network through which a port is published, and its name in the Compose file."""
CHECKER = "checker"
"""A load generator on the server's machine that verifies services there, where it reaches their database too."""
READERS = ("counters-server", "counters-support")
CONTAINER_PORT = 8080
FIRST_PORT, LAST_PORT = 21000, 32767
"""Below the ports that Linux gives to outgoing connections."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One of the two, as `docker info` describes it."""

    context: str
    id: str
    name: str
    kind: str


def read_engine(line: str) -> Engine:
    """An engine from `CONTEXT<tab>ID<tab>NAME<tab>CPUS<tab>BYTES<tab>OS<tab>ARCHITECTURE`."""
    try:
        context, id_, name, cpus, memory, system, architecture = line.split("\t")
        kind = f"{float(cpus):g} CPUs, {int(memory) / 2**30:.1f} GiB, {system}/{architecture}"
    except ValueError as error:
        raise UserError(f"not what docker info prints: {line!r}") from error
    return Engine(context, id_, name, kind)


def published_address(text: str) -> str:
    """The address that ports are bound to; UserError unless it is that of one interface, which others reach."""
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise UserError(f"'{text}' is no IPv4 address of the server's machine: give --server-address ADDRESS") from None
    if address.is_unspecified:
        raise UserError(f"{text} is every interface of the server's machine: give the address of one")
    if address.is_loopback:
        raise UserError(f"{text} is reached by the server's machine alone: give an address that the other one reaches")
    if address.is_multicast or address == IPv4Address("255.255.255.255"):
        raise UserError(f"{text} is no machine's address")
    return text


def machines(server: Engine, loadgen: Engine, address: str) -> list[Chosen]:
    """The machine of each role; database and upstream are on the server's."""
    if (server.id, server.name) == (loadgen.id, loadgen.name):
        raise UserError(f"{server.context} and {loadgen.context} are one engine: on one machine leave out both")
    found = {"server": server, "loadgen": loadgen, "support": server}
    address = published_address(address)
    return [
        (role, one.name, one.context, "-" if one is loadgen else address, one.kind)
        for role, one in ((role, found[role]) for role in ROLES)
    ]


def addresses(services: Iterable[str], address: str) -> list[tuple[str, str]]:
    """The readers and services of a run, each with a port of its own at this address."""
    names = [*READERS, *dict.fromkeys(("null", *services))]
    if len(names) > LAST_PORT - FIRST_PORT + 1:
        raise UserError(f"{len(names)} services are more than there are ports from {FIRST_PORT} to {LAST_PORT}")
    return [(name, f"{address}:{port}") for port, name in enumerate(names, FIRST_PORT)]


def run_entry(chosen: Sequence[Chosen], ports: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """run.json's entry of the two machines."""
    nodes = {role: node for role, node, *_ in chosen}
    first, last = ports[0][1], ports[-1][1]
    return {"server": nodes["server"], "loadgen": nodes["loadgen"], "published": f"{first}-{last.rpartition(':')[2]}"}


def contexts_compose(compose: Mapping[str, Any], project: str, ports: Mapping[str, str]) -> dict[str, Any]:
    """The run's Compose file for two machines: `several_compose` with published ports, and the one that verifies."""
    made = several_compose(compose, project)
    services = made["services"]
    for name in services.keys() & ports.keys():
        host, _, port = ports[name].partition(":")
        services[name] |= {
            "networks": {NETWORK: None, OUTER: None},
            "ports": [{"mode": "host", "host_ip": host, "published": port, "target": CONTAINER_PORT}],
        }
    checker = {key: value for key, value in services["loadgen"].items() if key != "build"}
    services[CHECKER] = checker | {"cpuset": services["postgres"]["cpuset"]}
    services["loadgen"] |= {"networks": {OUTER: None}}
    networks = made["networks"] | {OUTER: {"name": f"{project}-{OUTER}", "external": True}}
    return {**made, "services": services, "networks": networks}


def network_options(subnet: str) -> dict[str, list[str]]:
    """Options of `docker network create` for the two networks of the server's machine and the load generator's.

    `inner` is the network of a run on one machine: no way out, and no address of the host in it. `outer` has a way out,
    but what leaves it keeps its address, which nobody else can answer to.
    """
    try:
        inner, outer = IPv4Network(subnet, strict=False).subnets()
    except ValueError as error:
        raise UserError(f"BENCH_SUBNET '{subnet}' cannot be divided in two: {error}") from error
    bridge = "com.docker.network.bridge"
    label = "--label=bench.network=yes"
    return {
        "inner": ["--internal", f"--opt={bridge}.inhibit_ipv4=true", label, f"--subnet={inner}"],
        OUTER: [f"--opt={bridge}.enable_ip_masquerade=false", label, f"--subnet={outer}"],
        "loadgen": [label, f"--subnet={outer}"],
    }
