"""A synthetic swarm in the format of `docker node inspect`."""

from __future__ import annotations

from typing import Any

from driver.nodes.swarm import Swarm, nodes_of_inspect


def inspected(name: str, label: str | None = None, **changed: Any) -> dict[str, Any]:
    """A node, ready and active; `changed`: `state`, `availability`, `address`, `manager`, `cpus`, `engine`."""
    labels = {} if label is None else {"bench.role": label}
    resources = {"NanoCPUs": changed.get("cpus", 2) * 10**9, "MemoryBytes": 8 * 2**30}
    node: dict[str, Any] = {
        "ID": f"id-{name}",
        "Spec": {"Labels": labels, "Role": "worker", "Availability": changed.get("availability", "active")},
        "Description": {"Hostname": name, "Platform": {"Architecture": "x86_64", "OS": "linux"}, "Resources": resources}
        | {"Engine": {"EngineVersion": changed.get("engine", "26.1.5")}},
        "Status": {"State": changed.get("state", "ready"), "Addr": changed.get("address", "198.18.64.9")},
    }
    if manager := changed.get("manager"):
        node["ManagerStatus"] = {"Leader": True, "Reachability": "reachable", "Addr": manager}
    return node


THREE = (inspected("alpha", "support"), inspected("beta", "loadgen"), inspected("gamma", "server"))


def swarm(nodes: tuple[dict[str, Any], ...] = THREE, *unreached: str) -> Swarm:
    """These nodes, each with a context of the same name, except `unreached` ones."""
    names = [node["Description"]["Hostname"] for node in nodes]
    contexts = {f"id-{name}": name for name in names if name not in unreached}
    return Swarm(nodes_of_inspect(nodes, contexts), names[0], tuple(names))


CONFINED: dict[str, Any] = {
    **{"read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"]},
    **{"pids_limit": 512, "mem_limit": "536870912", "cpuset": "1", "networks": {"bench": None}},
}
"""What confines a service in a Compose file."""
