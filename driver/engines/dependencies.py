"""Services that run as long as the run: database, upstream, load generator, and those of a user's own app."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

from driver.docker import docker
from driver.failure import RUN, USER, Failure
from driver.files import last_line
from driver.run import PROJECT, Run

if TYPE_CHECKING:
    from driver.engines.local import LocalDocker

UP = ("up", "--detach", "--no-build")
TRIES, WAIT_S = 100, 0.1


def start(engine: LocalDocker) -> None:
    """Starts them and waits for the database's rows; Failure if they do not start."""
    run, log = engine.run, engine.run.lane_folder / "start.log"
    if not _up(engine) and not _up_without_dead_runs(engine):
        taken = subnet_taken(run)
        if taken:
            where = f"the subnet {run.setting('BENCH_SUBNET')} is in use by Docker's network {taken} (another run?)"
            raise Failure(USER, f"{where}: end that, or set BENCH_SUBNET in .env")
        raise Failure(RUN, f"the database, upstream or load generator does not start: {last_line(log)}")
    for attempt in range(1, TRIES + 1):
        if database_ready(engine) and engine.know_dependencies():
            return
        time.sleep(WAIT_S)
        # One may have been killed while it started.
        if attempt % 10 == 0 and engine.ended():
            _up(engine)
    words = engine.log("postgres").strip().rpartition("\n")[2] or "its container is gone"
    raise Failure(RUN, f"the database has no rows after {TRIES * WAIT_S:g} s: {words}")


def database_ready(engine: LocalDocker) -> bool:
    """Whether it has its rows. A user's own database is not waited for here."""
    name = "postgres"
    if name not in engine.run.dependencies:
        return True
    ready = ("exec", engine.run.container(name), "/usr/local/bin/ready")
    return not docker(*ready, context=engine.context_of(name), check=False).status


def subnet_taken(run: Run) -> str:
    """The networks of others that overlap with this run's subnet."""
    names = docker("network", "ls", "--format", "{{.Name}}").out.split()
    # A network may be gone by now, hence no check.
    networks = json.loads(docker("network", "inspect", *names, check=False).out or "[]")
    others = (one for one in networks if (one.get("Labels") or {}).get(PROJECT) != run.project)
    with suppress(ValueError):
        wanted = IPv4Network(run.setting("BENCH_SUBNET"), strict=False)
        return ", ".join(network["Name"] for network in others if any(map(wanted.overlaps, _subnets(network))))
    return ""


def _subnets(network: Mapping[str, Any]) -> Iterator[IPv4Network]:
    for config in network["IPAM"].get("Config") or ():
        if "." in config.get("Subnet", ""):
            yield IPv4Network(config["Subnet"], strict=False)


def _up(engine: LocalDocker) -> bool:
    return engine.up(engine.run.dependencies, engine.run.lane_folder / "start.log", UP)


def _up_without_dead_runs(engine: LocalDocker) -> bool:
    """Removes dead runs if the subnet is taken, and tries once more."""
    if not subnet_taken(engine.run):
        return False
    from driver.lifecycle.leftovers import remove_dead_runs

    return remove_dead_runs() and _up(engine)
