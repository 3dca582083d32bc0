"""The nodes of a Docker swarm, their Docker contexts, and their roles from labels."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driver.docker import answer, docker
from driver.failure import RUN, USER, Failure, warn
from driver.nodes.node import ROLES, Node
from driver.parallel import together

LABEL = "bench.role"
SEPARATOR = "+"
"""Separates the roles of a node; a swarm's constraints do not allow a comma."""


@dataclass(frozen=True)
class SwarmNode:
    """One node. `context`: the Docker context that reaches its engine, None if there is none.

    `kind`: CPUs, memory and platform, equal for comparable nodes; the swarm does not know the CPU model.
    """

    id: str
    name: str
    address: str
    label: str
    ready: bool
    active: bool
    manager: bool
    cpus: int
    kind: str
    engine: str
    context: str | None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles in its label; unknown words are ignored."""
        return tuple(role for role in ROLES if role in self.label.split(SEPARATOR))

    @property
    def usable(self) -> bool:
        """Whether containers can be started there now."""
        return self.ready and self.active and self.context is not None


def kind_of(cpus: float, memory: int, platform: str) -> str:
    """A machine's kind as text."""
    return f"{cpus:g} CPUs, {memory / 2**30:.1f} GiB, {platform}"


@dataclass(frozen=True)
class Swarm:
    """`manager`: the context of a manager that answers; `contexts`: those of all engines that answer."""

    nodes: tuple[SwarmNode, ...]
    manager: str
    contexts: tuple[str, ...]

    def with_role(self, role: str) -> list[SwarmNode]:
        """The nodes with this role, usable or not."""
        return [node for node in self.nodes if role in node.roles]

    def usable(self) -> list[Node]:
        """The usable nodes, one entry per role."""
        return [
            Node(role, node.name, node.context or "", node.address, node.kind, node.cpus)
            for node in self.nodes
            if node.usable
            for role in node.roles
        ]

    def machines(self, role: str = "") -> list[Node]:
        """The usable nodes with this role (or any), each once."""
        by_name: dict[str, Node] = {}
        for node in self.usable():
            if role in ("", node.role):
                by_name.setdefault(node.name, node)
        return list(by_name.values())


def read_swarm() -> Swarm:
    """The swarm that the user's Docker contexts reach; Failure if no manager answers."""
    contexts = docker("context", "ls", "--format", "{{.Name}}").out.split()
    engines = [engine for engine in together(_ask_engine, contexts, max(1, len(contexts))) if engine]
    of_node: dict[str, str] = {}
    for engine, context, _ in sorted(engines):
        of_node.setdefault(engine, context)
    for engine, context, manages in sorted(engines):
        if manages and of_node[engine] == context and (inspected := _inspect_nodes(context)):
            return Swarm(nodes_of_inspect(inspected, of_node), context, tuple(of_node.values()))
    how = "docker context create NAME --docker host=ssh://NODE (docs/several-machines.md)"
    raise Failure(RUN, f"no Docker context reaches a manager of a swarm that answers: {how}")


def find_manager() -> str | None:
    """The context of a manager that answers; None, with a warning, if none does within a minute.

    After the leader is lost, the others need time to elect a new one.
    """
    contexts = docker("context", "ls", "--format", "{{.Name}}").out.split()
    for _ in range(20):
        for context in contexts:
            if answer("node", "ls", "--quiet", context=context, timeout=5) is not None:
                return context
        time.sleep(3)
    warn("no manager of the swarm answers")
    return None


def nodes_of_inspect(inspected: Sequence[Mapping[str, Any]], contexts: Mapping[str, str]) -> tuple[SwarmNode, ...]:
    """The nodes, sorted by name. `inspected`: the output of `docker node inspect`; `contexts`: by node id."""
    try:
        return tuple(sorted((_node(one, contexts) for one in inspected), key=lambda node: (node.name, node.id)))
    except (KeyError, TypeError, AttributeError) as error:
        raise Failure(USER, f"not what docker node inspect prints: {error!r}") from error


def role_label(roles: Sequence[str]) -> str:
    """The value of the label `bench.role`; Failure for unknown roles, or a server with another role."""
    for role in roles:
        if role not in ROLES:
            raise Failure(USER, f"unknown role '{role}'; there are: {', '.join(ROLES)}")
    if "server" in roles and len(set(roles)) > 1:
        raise Failure(USER, "a server under test shares its node with no other role")
    return SEPARATOR.join(role for role in ROLES if role in roles)


def support_label(nodes: Iterable[SwarmNode]) -> str:
    """The label of support nodes; a single value, because a swarm's constraints compare whole values."""
    labels = {node.label for node in nodes if "support" in node.roles and node.ready and node.active}
    if not labels:
        raise Failure(USER, "no node of the swarm has the role support: scripts/swarm.sh label NODE support")
    return "support" if "support" in labels else min(labels)


def _ask_engine(context: str) -> tuple[str, str, bool] | None:
    """Node id, context, and whether it is a manager; None if the engine does not answer or is in no swarm."""
    words = answer("info", "--format", "{{.Swarm.NodeID}} {{.Swarm.ControlAvailable}}", context=context, timeout=10)
    node, _, manages = (words or "").partition(" ")
    return (node, context, manages == "true") if node and manages else None


def _inspect_nodes(manager: str) -> list[Mapping[str, Any]]:
    ids = (answer("node", "ls", "--quiet", context=manager) or "").split()
    text = answer("node", "inspect", *ids, context=manager) if ids else None
    return list(json.loads(text or "[]"))


def _node(entry: Mapping[str, Any], contexts: Mapping[str, str]) -> SwarmNode:
    spec, status, about = entry["Spec"], entry["Status"], entry["Description"]
    manager = entry.get("ManagerStatus") or {}
    address = str(status["Addr"])
    # A leader without an advertised address shows 0.0.0.0 here; its manager status has the right address.
    if address in ("", "0.0.0.0") and manager:
        address = str(manager["Addr"]).rpartition(":")[0]
    cpus, memory, platform = about["Resources"]["NanoCPUs"] / 1e9, about["Resources"]["MemoryBytes"], about["Platform"]
    return SwarmNode(
        id=entry["ID"],
        name=about["Hostname"],
        address=address,
        label=(spec.get("Labels") or {}).get(LABEL, ""),
        ready=status["State"] == "ready",
        active=spec["Availability"] == "active",
        manager=bool(manager),
        cpus=int(cpus),
        kind=kind_of(cpus, memory, f"{platform['OS']}/{platform['Architecture']}"),
        engine=about["Engine"]["EngineVersion"],
        context=contexts.get(entry["ID"]),
    )
