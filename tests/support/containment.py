"""Checks that every container of this project is confined: the rules, and the one list of exemptions from them.

    docker compose --profile '*' config --format json | containment.py PROJECT
    docker inspect CONTAINER... NETWORK... | containment.py PROJECT

Prints a line for each fault, or the number of containers; the status is 1 if there is a fault. PROJECT is the folder
that containers may mount read-only. Settings that no rule covers are faults too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from bench.own_app.compose_file import rules

INHIBIT = "com.docker.network.bridge.inhibit_ipv4"
TOOLS = "tools"
"""Stands for the containers in which scripts run a command: these have no name and no network."""
INSPECTING = "inspecting"
"""Stands for those that read the sockets of a service, or sample its stacks: they join its process namespace."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A fault that containers with this name (a glob) may have, and the reason."""

    container: str
    fault: str
    reason: str


ADDED = ", ".join(sorted(rules().hardened["cap_add"]))
EXEMPTIONS = (
    Exemption("bench", "adds capabilities: SETGID, SETUID", "it begins as root, to become the owner of results/"),
    Exemption("bench", "may write to /bench/results", "it writes the run; no service mounts anything"),
    Exemption("bench", "mounts /sys/fs/cgroup", "the CPU time of the services, which it reads; read-only"),
    Exemption("loadgen", "may write to /bench/results", "it writes the run; no service mounts anything"),
    Exemption("loadgen", "mounts /sys/fs/cgroup", "the CPU time of the services, which it reads; read-only"),
    Exemption(TOOLS, "may write to /bench/results", "it writes plan, records and report; no service mounts anything"),
    Exemption(INSPECTING, "adds capabilities: SYS_PTRACE", "only with it are a service's sockets and stacks seen"),
    Exemption(INSPECTING, "shares a PID namespace (pid)", "that of the service which it looks into"),
    Exemption(INSPECTING, "leaves the internal network (network_mode)", "it has the service's own network, or none"),
    Exemption("own-*", f"adds capabilities: {ADDED}", "an entrypoint gives its files away"),
    Exemption("own-*", "its root is writable", "a user's own service may not be made for a read-only one"),
    Exemption("own-*", "has no limit of open files", "as its file says; the engine's own limit holds"),
)
HARMLESS = frozenset(
    {"build", "command", "cpuset", "depends_on", "entrypoint", "environment", "healthcheck", "image", "init", "labels"}
    | {"annotations", "configs", "expose", "hostname", "platform", "profiles", "pull_policy", "restart", "secrets"}
    | {"shm_size", "stop_grace_period", "stop_signal", "tmpfs", "user", "working_dir"}
)
JUDGED = frozenset(
    {"cap_add", "cap_drop", "logging", "mem_limit", "networks", "pids_limit", "ports", "read_only", "security_opt"}
    | {"sysctls", "ulimits", "volumes"}
)
NO_NEW_PRIVILEGES = ("no-new-privileges:true", "no-new-privileges=true", "no-new-privileges")
LIMIT = re.compile(r"[1-9]\d*[bkmg]?")
SECRETS = PurePosixPath("/run/secrets")


def faults(service: Mapping[str, Any], networks: Mapping[str, Any], project: str) -> Iterator[str]:
    """The faults of a service resolved by Compose, ignoring exemptions."""
    if service.get("read_only") is not True:
        yield "its root is writable"
    if "ALL" not in (service.get("cap_drop") or ()):
        yield "keeps the capabilities of the engine's default"
    if added := service.get("cap_add"):
        yield f"adds capabilities: {', '.join(sorted(added))}"
    options = list(service.get("security_opt") or ())
    if not any(option in NO_NEW_PRIVILEGES for option in options):
        yield "may gain privileges"
    yield from (f"weakens its confinement ({option})" for option in options if option not in NO_NEW_PRIVILEGES)
    for key, what in (("pids_limit", "processes"), ("mem_limit", "memory")):
        if not LIMIT.fullmatch(str(service.get(key))):
            yield f"has no limit of {what}"
    if not (service.get("ulimits") or {}).get("nofile"):
        yield "has no limit of open files"
    logging = service.get("logging") or {}
    if logging.get("driver") != "json-file" or not (logging.get("options") or {}).get("max-size"):
        yield "its log has no limit"
    reached = [name for name in service.get("networks") or () if not _closed(networks.get(name))]
    yield from (f"is on {name}, which leads out of the run" for name in reached)
    if service.get("ports"):
        yield "publishes a port"
    yield from (f"sets {name} for the host" for name in service.get("sysctls") or () if not name.startswith("net."))
    for volume in service.get("volumes") or ():
        yield from _mount_faults(volume, project)
    for key, value in service.items():
        if value and key not in HARMLESS | JUDGED:
            yield f"{rules().refused.get(key, 'has what no rule knows')} ({key})"


def _closed(network: Mapping[str, Any] | None) -> bool:
    """Whether a network reaches neither the outside nor the host."""
    network = network or {}
    return network.get("internal") is True and (network.get("driver_opts") or {}).get(INHIBIT) == "true"


def _mount_faults(volume: Mapping[str, Any], project: str) -> Iterator[str]:
    source, target = PurePosixPath(volume.get("source") or "/"), PurePosixPath(volume["target"])
    if volume["type"] == "tmpfs" or (volume["type"] == "volume" and not volume.get("source", "").startswith("/")):
        return
    if volume["type"] != "bind":
        yield f"mounts a {volume['type']}"
    elif source.name.endswith("docker.sock"):
        yield "mounts the Docker socket"
    elif not source.is_relative_to(project) and SECRETS not in target.parents:
        yield f"mounts {source}"
    if not volume.get("read_only"):
        yield f"may write to {target}"


def inspected(container: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Converts a container of `docker inspect` to its name and the equivalent service of a Compose file."""
    host, labels = container["HostConfig"], container["Config"].get("Labels") or {}
    # Images built by Compose have its labels too.
    service = labels.get("com.docker.compose.service")
    ours = INSPECTING if host.get("PidMode") else TOOLS
    name = ours if "bench.run" in labels else service or container["Name"].removeprefix("/")
    mode = host.get("NetworkMode") or ""
    alone = mode == "host" or mode.startswith("container:")
    return name, {
        "read_only": host.get("ReadonlyRootfs"),
        "cap_drop": [one.removeprefix("CAP_") for one in host.get("CapDrop") or ()],
        "cap_add": [one.removeprefix("CAP_") for one in host.get("CapAdd") or ()],
        "security_opt": host.get("SecurityOpt"),
        "pids_limit": host.get("PidsLimit"),
        "mem_limit": host.get("Memory"),
        "ulimits": {limit["Name"]: limit["Hard"] for limit in host.get("Ulimits") or ()},
        "logging": {"driver": host["LogConfig"]["Type"], "options": host["LogConfig"].get("Config")},
        "networks": [] if mode == "none" else list(container["NetworkSettings"].get("Networks") or ()),
        "network_mode": mode if alone else None,
        "ports": host.get("PortBindings") or host.get("PublishAllPorts"),
        "sysctls": host.get("Sysctls"),
        "volumes": [
            {"type": one["Type"], "source": one.get("Name") or one["Source"]}
            | {"target": one["Destination"], "read_only": not one["RW"]}
            for one in container.get("Mounts") or ()
        ],
        # The engine masks parts of /proc and /sys unless a container is privileged.
        "privileged": host.get("Privileged") or not host.get("MaskedPaths"),
        "devices": host.get("Devices"),
        "device_cgroup_rules": host.get("DeviceCgroupRules"),
        "gpus": host.get("DeviceRequests"),
        "pid": host.get("PidMode"),
        "ipc": None if host.get("IpcMode") in ("", "private", "none") else host.get("IpcMode"),
        "uts": host.get("UTSMode"),
        "userns_mode": host.get("UsernsMode"),
        "cgroup_parent": host.get("CgroupParent"),
        "runtime": None if host.get("Runtime") in ("", "runc") else host.get("Runtime"),
        "volumes_from": host.get("VolumesFrom"),
        "extra_hosts": host.get("ExtraHosts"),
    }


def read(document: Any) -> tuple[list[tuple[str, Mapping[str, Any]]], dict[str, Any]]:
    """(containers, networks) from the output of Compose or `docker inspect`."""
    if isinstance(document, Mapping):
        return list(document["services"].items()), dict(document.get("networks") or {})
    found = [one for one in document if "IPAM" in one]
    networks = {one["Name"]: {"internal": one["Internal"], "driver_opts": one.get("Options")} for one in found}
    return [inspected(one) for one in document if "HostConfig" in one], networks


def unexempted(
    containers: Iterable[tuple[str, Mapping[str, Any]]], networks: Mapping[str, Any], project: str
) -> Iterator[str]:
    """A line for each fault without an exemption."""
    for name, service in containers:
        for fault in faults(service, networks, project):
            if not any(one.fault == fault and fnmatchcase(name, one.container) for one in EXEMPTIONS):
                yield f"{name}: {fault}"


def unneeded(
    containers: Iterable[tuple[str, Mapping[str, Any]]], networks: Mapping[str, Any], project: str
) -> Iterator[str]:
    """A line for each exemption that an existing container no longer needs; not for those of scripts, which differ."""
    have: dict[str, set[str]] = {}
    for name, service in containers:
        have.setdefault(name, set()).update(faults(service, networks, project))
    for one in EXEMPTIONS:
        if one.container not in (TOOLS, INSPECTING) and one.fault not in have.get(one.container, {one.fault}):
            yield f"{one.container}: no longer needs its exemption: {one.fault}"


def main(arguments: Sequence[str]) -> int:
    """Check the containers on standard input."""
    containers, networks = read(json.load(sys.stdin))
    found = [line for judge in (unexempted, unneeded) for line in judge(containers, networks, arguments[0])]
    print(*found or [f"{len(containers)} containers are confined"], sep="\n")
    return 1 if found or not containers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
