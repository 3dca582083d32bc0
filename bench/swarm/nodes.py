"""Nodes of a swarm as `docker node inspect` describes them, their roles and their engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.errors import UserError, unknown

LABEL = "bench.role"
ROLES = ("server", "loadgen", "support")
SEPARATOR = "+"
"""Between several roles of a node: a constraint of a swarm takes no comma in a label's value."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `context`: the Docker context that reaches its engine, None where none does; `memory` in bytes."""

    id: str
    name: str
    address: str
    label: str
    ready: bool
    active: bool
    manager: bool
    cpus: float
    memory: int
    platform: str
    engine: str
    context: str | None

    @property
    def roles(self) -> tuple[str, ...]:
        """Those that the label names; other words in it are no roles."""
        return tuple(role for role in ROLES if role in self.label.split(SEPARATOR))

    @property
    def usable(self) -> bool:
        """Whether containers can be started there now."""
        return self.ready and self.active and self.context is not None

    @property
    def kind(self) -> str:
        """What two nodes have in common whose figures may be compared; the CPU model is not known to the swarm."""
        return f"{self.cpus:g} CPUs, {self.memory / 2**30:.1f} GiB, {self.platform}"


def read_nodes(inspected: Sequence[Mapping[str, Any]], contexts: Mapping[str, str]) -> tuple[Node, ...]:
    """The nodes, by name. `inspected`: the array of `docker node inspect`; `contexts`: of the nodes' ids."""
    try:
        return tuple(sorted((_node(one, contexts) for one in inspected), key=lambda node: (node.name, node.id)))
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"not what docker node inspect prints: {error!r}") from error


def _node(one: Mapping[str, Any], contexts: Mapping[str, str]) -> Node:
    spec, status, about = one["Spec"], one["Status"], one["Description"]
    manager = one.get("ManagerStatus") or {}
    address = str(status["Addr"])
    # A leader that was not told its address calls itself 0.0.0.0, and has the right one as a manager.
    if address in ("", "0.0.0.0") and manager:
        address = str(manager["Addr"]).rpartition(":")[0]
    resources, platform = about["Resources"], about["Platform"]
    return Node(
        id=one["ID"],
        name=about["Hostname"],
        address=address,
        label=(spec.get("Labels") or {}).get(LABEL, ""),
        ready=status["State"] == "ready",
        active=spec["Availability"] == "active",
        manager=bool(manager),
        cpus=resources["NanoCPUs"] / 1e9,
        memory=resources["MemoryBytes"],
        platform=f"{platform['OS']}/{platform['Architecture']}",
        engine=about["Engine"]["EngineVersion"],
        context=contexts.get(one["ID"]),
    )


def with_role(nodes: Iterable[Node], role: str) -> tuple[Node, ...]:
    """The nodes that have it, whether they can be used now or not."""
    return tuple(node for node in nodes if role in node.roles)


def role_label(roles: Sequence[str]) -> str:
    """The value of the label `bench.role`; UserError for what is no role, or for a server that is not alone."""
    for role in roles:
        if role not in ROLES:
            raise unknown("role", role, ROLES)
    if "server" in roles and len(set(roles)) > 1:
        raise UserError("a server under test shares its node with no other role")
    return SEPARATOR.join(role for role in ROLES if role in roles)
