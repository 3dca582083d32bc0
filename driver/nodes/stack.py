"""Derives a swarm's stack file from the project's resolved Compose file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from driver.failure import USER, Failure
from driver.nodes.swarm import LABEL, SwarmNode, support_label

REGISTRY = "registry"
NETWORK = "bench"
IMAGES = "images"
"""The network of the registry and the nodes' relays."""

KEPT = (
    *("image", "command", "entrypoint", "environment", "user", "working_dir", "init", "read_only", "cap_drop"),
    *("sysctls", "ulimits", "logging", "healthcheck", "stop_grace_period", "secrets"),
)
MOVED = ("tmpfs", "shm_size", "volumes", "mem_limit", "pids_limit", "networks")
"""Settings that a stack has under other names."""
LEFT_OUT = ("build", "pull_policy", "profiles", "depends_on")
"""Settings without a meaning in a stack, and without an effect on what a container may do."""
IGNORED = ("cpuset", "security_opt")
"""Settings that a swarm does not support."""


def stack(
    compose: Mapping[str, Any], names: Sequence[str], nodes: Sequence[SwarmNode], images: Mapping[str, str]
) -> dict[str, Any]:
    """The stack of these services, on nodes with the role `support`.

    `compose`: the output of `docker compose config --format json`. `images`: references with a digest, by image name.
    Failure for an unknown service, and for an unknown setting of one, so that no setting is lost unnoticed.
    """
    label = support_label(nodes)
    services = {}
    for name in names:
        if name not in compose["services"]:
            raise Failure(USER, f"no service {name} in the Compose file")
        services[name] = _service(name, compose["services"][name], label, images)
    used = {secret["source"] for service in services.values() for secret in service.get("secrets", ())}
    return {
        "version": "3.9",
        "services": services,
        "networks": {
            NETWORK: _overlay(compose["networks"][NETWORK]),
            **({IMAGES: {"driver": "overlay", "attachable": True}} if REGISTRY in names else {}),
        },
        "secrets": {name: {"file": compose["secrets"][name]["file"]} for name in sorted(used)},
    }


def loses(compose: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[str]]:
    """The settings that each service loses in a stack, if any."""
    lost = {name: [key for key in IGNORED if key in compose["services"][name]] for name in names}
    return {name: keys for name, keys in lost.items() if keys}


def overlay_options(compose: Mapping[str, Any]) -> list[str]:
    """The options of `docker network create` for an overlay network like the one in the Compose file."""
    network = _overlay(compose["networks"][NETWORK])
    return [
        f"--driver={network['driver']}",
        "--attachable",
        *(["--internal"] if network["internal"] else []),
        *(f"--label={name}={value}" for name, value in network["labels"].items()),
        *(f"--subnet={config['subnet']}" for config in network["ipam"]["config"]),
    ]


def _overlay(network: Mapping[str, Any]) -> dict[str, Any]:
    """An internal network as on one machine; not encrypted."""
    return {
        "driver": "overlay",
        "attachable": True,
        "internal": bool(network.get("internal")),
        "labels": dict(network.get("labels") or {}),
        "ipam": {"config": [{"subnet": config["subnet"]} for config in network["ipam"]["config"]]},
    }


def _service(name: str, service: Mapping[str, Any], label: str, images: Mapping[str, str]) -> dict[str, Any]:
    strange = sorted(service.keys() - {*KEPT, *MOVED, *LEFT_OUT, *IGNORED})
    if strange:
        raise Failure(USER, f"service {name}: what becomes of {', '.join(strange)} in a stack is not decided")
    made = {key: service[key] for key in KEPT if service.get(key) is not None}
    made["image"] = images.get(service["image"], service["image"])
    limits = {"memory": str(service["mem_limit"]), "pids": int(service["pids_limit"])}
    return {
        **made,
        "networks": [IMAGES if name == REGISTRY else NETWORK],
        "volumes": [*_folders(service), *(service.get("volumes") or ())],
        "deploy": {
            "replicas": 1,
            "endpoint_mode": "dnsrr",
            "placement": {"constraints": [f"node.labels.{LABEL} == {label}"]},
            "resources": {"limits": limits},
            "restart_policy": {"condition": "any", "delay": "1s"},
        },
    }


def _folders(service: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Folders in memory. A stack makes them writable for anyone (1777), whatever the Compose file says."""
    folders: list[dict[str, Any]] = [
        {"type": "tmpfs", "target": str(entry).partition(":")[0]} for entry in service.get("tmpfs") or ()
    ]
    size = service.get("shm_size")
    if size:
        folders.append({"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": int(size)}})
    return folders
