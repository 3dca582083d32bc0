"""Adapts a run's resolved Compose file (JSON) to engines on other machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from driver.compose import FILE, resolved, save_compose
from driver.failure import USER, Failure
from driver.files import text_of
from driver.nodes.node import read_addresses
from driver.run import Run

NETWORK = "bench"
OUTER = "outer"
"""The network for published ports, on two machines without a swarm."""
CHECKER = "checker"
"""A load generator on the server's machine: verification needs the database, which is reachable only there."""
PROJECT, RESULTS = "/bench", "/bench/results"
"""Paths in the load generator."""
VOLUMES = {PROJECT: "source", RESULTS: "results"}


def need_far_compose(run: Run) -> None:
    """Writes the file that `run_compose` reads, unless it exists; for a run on several machines."""
    if not text_of(run.folder / FILE):
        ports, compose = read_addresses(run), json.loads(resolved(run, "json"))
        made = contexts_compose(compose, run.project, ports) if ports else several_compose(compose, run.project)
        save_compose(run, json.dumps(made, indent=1) + "\n")


def several_compose(compose: Mapping[str, Any], project: str) -> dict[str, Any]:
    """Replaces what exists only on this machine; limits and restrictions of services stay.

    The network becomes an existing one that all machines share. Mounts become volumes of the run: `-source` (the
    project), `-results` (the load generator's output) and `-secrets`. Failure for any other mount.
    """
    return {
        "name": compose.get("name", project),
        "services": {name: _service(name, service) for name, service in compose["services"].items()},
        "networks": {NETWORK: {"name": project, "external": True}},
        "volumes": _volumes(project, ("source", "results", "secrets")),
    }


def contexts_compose(compose: Mapping[str, Any], project: str, ports: Mapping[str, str]) -> dict[str, Any]:
    """For two machines without a swarm: adds published ports (`ADDRESS:PORT` by service) and CHECKER."""
    made = several_compose(compose, project)
    services = made["services"]
    for name in services.keys() & ports.keys():
        host, _, port = ports[name].partition(":")
        services[name].update(
            networks={NETWORK: None, OUTER: None},
            ports=[{"mode": "host", "host_ip": host, "published": port, "target": 8080}],
        )
    checker = {key: value for key, value in services["loadgen"].items() if key != "build"}
    services[CHECKER] = {**checker, "cpuset": services["postgres"]["cpuset"]}
    services["loadgen"]["networks"] = {OUTER: None}
    made["networks"][OUTER] = {"name": f"{project}-{OUTER}", "external": True}
    return made


def lane_compose(compose: Mapping[str, Any], project: str, database_cpus: str) -> dict[str, Any]:
    """The result of `several_compose`, adapted to a lane with this project name."""
    given = compose["services"]
    pinned = {name: {**given[name], "cpuset": database_cpus} for name in ("postgres", "upstream") if name in given}
    return {
        **compose,
        "name": project,
        "services": {**given, **pinned},
        "networks": {NETWORK: {"name": project, "external": True}},
        "volumes": _volumes(project, compose["volumes"]),
    }


def _volumes(project: str, names: Any) -> dict[str, Any]:
    return {name: {"name": f"{project}-{name}", "external": True} for name in names}


def _service(name: str, service: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in service.items() if key not in ("volumes", "secrets")}
    mounts = []
    for volume in service.get("volumes") or ():
        target = volume["target"]
        if target not in (*VOLUMES, "/host/cgroup"):
            raise Failure(USER, f"service {name}: on another machine there is no {volume.get('source')} for {target}")
        if target in VOLUMES:
            mounts.append(_volume(VOLUMES[target], target, read_only=target != RESULTS))
    if service.get("secrets"):
        mounts.append(_volume("secrets", "/run/secrets", read_only=True))
    return {**made, **({"volumes": mounts} if mounts else {})}


def _volume(source: str, target: str, *, read_only: bool) -> dict[str, Any]:
    made = {"type": "volume", "source": source, "target": target, "read_only": read_only}
    return {**made, "volume": {"nocopy": True}}
