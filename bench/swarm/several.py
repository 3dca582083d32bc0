"""A run on several machines: the machine of each role, and the run's Compose file for their engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.core.errors import UserError
from bench.swarm.nodes import ROLES

NETWORK = "bench"
SECRETS = "/run/secrets"
PROJECT, RESULTS = "/bench", "/bench/results"
"""Where the load generator has the project and the run."""
KNOWN_MOUNTS = {PROJECT, RESULTS, "/host/cgroup"}


Chosen = tuple[str, str, str, str, str]
"""Role, node, context, address and kind of a node."""


def chosen_nodes(roles: Iterable[str], before: Iterable[str] = ()) -> list[Chosen]:
    """Each role's first node of the kind that the run began with; UserError where a role has none.

    `before` has the lines of nodes that the run has had: its figures all come from nodes of one kind.
    """
    kinds: dict[str, str] = {}
    for line in before:
        kinds.setdefault(line.split("\t")[0], line.split("\t")[-1])
    found: dict[str, Chosen] = {}
    others: dict[str, str] = {}
    for line in sorted(roles):
        words = line.split(maxsplit=4)
        if len(words) == 5 and words[0] in ROLES:
            role, node, context, address, kind = words
            if kinds.get(role, kind) == kind:
                found.setdefault(role, (role, node, context, address, kind))
            else:
                others[role] = f"{node} has {kind}, and the run began on {kinds[role]}"
    if lacking := [role for role in ROLES if role not in found]:
        why = "; ".join(others[role] for role in lacking if role in others) or "scripts/swarm.sh check says why"
        raise UserError(f"no node can be used as {' or '.join(lacking)}: {why}")
    return [found[role] for role in ROLES]


def more_loadgens(roles: Iterable[str], first: Chosen, number: int) -> list[Chosen]:
    """A node for each other one of several load generators, as role `loadgen-2` and so on, all of the first one's kind.

    UserError where there are too few: two on one node would share its CPUs, and make no more load than one.
    """
    split = (line.split(maxsplit=4) for line in sorted(roles))
    others = [words for words in split if len(words) == 5 and words[0] == first[0] and words[1] != first[1]]
    alike = [words for words in others if words[4] == first[4]]
    if len(alike) < number - 1:
        kinds = "; ".join(
            f"{words[1]} has {words[4]}, and {first[1]} {first[4]}" for words in others if words not in alike
        )
        why = f" ({kinds})" if kinds else ": scripts/swarm.sh label NODE loadgen"
        raise UserError(f"{number} load generators need as many nodes of one kind, there are {len(alike) + 1}{why}")
    chosen = enumerate(alike[: number - 1], 2)
    return [(f"{first[0]}-{place}", words[1], words[2], words[3], words[4]) for place, words in chosen]


def several_compose(compose: Mapping[str, Any], project: str) -> dict[str, Any]:
    """The run's Compose file without anything of this machine; `compose` is what `docker compose config` resolved.

    Services keep what limits and confines them. The network is one that all machines are in, made before; what is
    mounted comes from volumes of the run: `-source` (the project), `-results` (what the load generator writes) and
    `-secrets`. UserError for a mount whose content would not be there.
    """
    services = {name: _service(name, service) for name, service in compose["services"].items()}
    volumes = {name: {"name": f"{project}-{name}", "external": True} for name in ("source", "results", "secrets")}
    return {
        "name": compose.get("name", project),
        "services": services,
        "networks": {NETWORK: {"name": project, "external": True}},
        "volumes": volumes,
    }


def _service(name: str, service: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in service.items() if key not in ("volumes", "secrets")}
    mounts = []
    for volume in service.get("volumes") or ():
        if (target := volume["target"]) not in KNOWN_MOUNTS:
            raise UserError(f"service {name}: on another machine there is no {volume.get('source')} for {target}")
        if target == PROJECT:
            mounts.append(_volume("source", target, read_only=True))
        elif target == RESULTS:
            mounts.append(_volume("results", target))
    if service.get("secrets"):
        mounts.append(_volume("secrets", SECRETS, read_only=True))
    return {**made, **({"volumes": mounts} if mounts else {})}


def _volume(source: str, target: str, *, read_only: bool = False) -> dict[str, Any]:
    return {
        "type": "volume",
        "source": source,
        "target": target,
        "read_only": read_only,
        "volume": {"nocopy": True},
    }
