"""The machines of a run on several: their roles, and their files in the run's folder (fields separated by tabs).

nodes.tsv        `ROLE NODE CONTEXT ADDRESS KIND` per machine; each lane has its own
nodes-ever.tsv   the same for all machines used in any call of the run
lanes.tsv        `LANE SUBNET DATABASE_CPUS`; only for two or more pairs of nodes
addresses.tsv    `NAME ADDRESS:PORT` per service and reader; only for two machines without a swarm
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from driver.files import save, text_of
from driver.run import Run

ROLES = ("server", "loadgen", "support")
NODES, EVER, LANES, ADDRESSES = "nodes.tsv", "nodes-ever.tsv", "lanes.tsv", "addresses.tsv"


@dataclass(frozen=True, order=True)
class Node:
    """A machine in one of its roles: server, loadgen or support.

    `context`: the Docker context of its engine, or a URL. `kind`: CPUs, memory and platform; figures are comparable
    only between machines of the same kind. `cpus` is 0 if the node was read from a run's file.
    """

    role: str
    name: str
    context: str
    address: str
    kind: str
    cpus: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Lane:
    """A pair of nodes with a support node, in the order of ROLES, and its share of the run's subnet and database CPUs.

    A lane read from a run's file has no `nodes`: those are in the lane's folder.
    """

    subnet: str
    database_cpus: str
    nodes: tuple[Node, ...] = ()


def role_of(service: str) -> str:
    """The role of the machine on which a service runs."""
    if service in ("postgres", "upstream") or service.startswith("own-"):
        return "support"
    return "loadgen" if service.startswith("loadgen") else "server"


def read_nodes(file: Path) -> tuple[Node, ...]:
    """The machines in a file; empty if there is no file."""
    lines = (words for words in _words(file) if len(words) > 4)
    return tuple(Node(role, name, context, address, kind) for role, name, context, address, kind, *_ in lines)


def nodes_of(run: Run) -> Mapping[str, Node]:
    """The machines of a run or lane, by role; empty for a run on this machine."""
    return {node.role: node for node in read_nodes(run.lane_folder / NODES)}


def save_nodes(folder: Path, nodes: Iterable[Node]) -> None:
    """Records that the run in this folder uses these nodes now."""
    lines = "".join(f"{node.role}\t{node.name}\t{node.context}\t{node.address}\t{node.kind}\n" for node in nodes)
    save(folder / EVER, (text_of(folder / EVER) or "") + lines)
    save(folder / NODES, lines)


def read_lanes(run: Run) -> list[Lane]:
    """All lanes; empty for a run on one pair of nodes."""
    return [Lane(words[1], words[2]) for words in _words(run.folder / LANES)]


def read_addresses(run: Run) -> dict[str, str]:
    """`ADDRESS:PORT` by name; empty if the network resolves names."""
    return {words[0]: words[1] for words in _words(run.folder / ADDRESSES)}


def several(run: Run) -> str:
    """`swarm`, or `contexts` (two machines without one); empty for a run on this machine."""
    if not text_of(run.folder / NODES):
        return ""
    return "contexts" if (run.folder / ADDRESSES).exists() else "swarm"


def _words(file: Path) -> Iterator[list[str]]:
    return (line.split("\t") for line in (text_of(file) or "").splitlines())
