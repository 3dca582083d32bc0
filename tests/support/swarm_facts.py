"""A swarm as `docker node inspect` describes it, and a folder of facts as scripts/swarm.sh check writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def inspected(name: str, label: str | None = None, **changed: Any) -> dict[str, Any]:
    """One node, ready and active; `changed` has `state`, `availability`, `address`, `manager`, `cpus`, `engine`."""
    labels = {} if label is None else {"bench.role": label}
    node: dict[str, Any] = {
        "ID": f"id-{name}",
        "Spec": {"Labels": labels, "Role": "worker", "Availability": changed.get("availability", "active")},
        "Description": {
            "Hostname": name,
            "Platform": {"Architecture": "x86_64", "OS": "linux"},
            "Resources": {"NanoCPUs": changed.get("cpus", 2) * 10**9, "MemoryBytes": 8 * 2**30},
            "Engine": {"EngineVersion": changed.get("engine", "26.1.5")},
        },
        "Status": {"State": changed.get("state", "ready"), "Addr": changed.get("address", "198.18.64.9")},
    }
    if manager := changed.get("manager"):
        node["ManagerStatus"] = {"Leader": True, "Reachability": "reachable", "Addr": manager}
    return node


THREE = (inspected("alpha", "support"), inspected("beta", "loadgen"), inspected("gamma", "server"))


def facts_folder(folder: Path, nodes: tuple[dict[str, Any], ...] = THREE, **files: str) -> Path:
    """A folder with these nodes, a context for each that is called as it is, and the other files' text."""
    (folder / "nodes.json").write_text(json.dumps(nodes))
    names = [node["Description"]["Hostname"] for node in nodes]
    (folder / "contexts").write_text("".join(f"id-{name} {name}\n" for name in names))
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def link_files(folder: Path, of: str, to: str, *, gbits: float | None, round_trip_ms: float | None) -> None:
    """A measured link; None: what the tools leave where they fail."""
    with (folder / "links").open("a") as links:
        links.write(f"{of} {to}\n")
    ping = "PING x\n\n--- x ping statistics ---\n40 packets transmitted, 40 received, 0% packet loss, time 1951ms\n"
    if round_trip_ms is not None:
        ping += f"rtt min/avg/max/mdev = 0.050/{round_trip_ms:.3f}/0.300/0.040 ms\n"
    (folder / f"ping-{of}-{to}.txt").write_text(ping)
    end = {} if gbits is None else {"sum_received": {"bits_per_second": gbits * 1e9}}
    error = {"error": "unable to connect to server"} if gbits is None else {}
    (folder / f"iperf-{of}-{to}.json").write_text(json.dumps({"start": {}, "end": end, **error}))
