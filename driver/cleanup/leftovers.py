"""Removes a run's containers, volumes and networks: at its end, and before it is resumed."""

from __future__ import annotations

import time
from contextlib import suppress

from driver.compose import FILE, run_compose
from driver.docker import DockerError, docker
from driver.engines import host_loadgen
from driver.failure import warn
from driver.files import text_of
from driver.machines.node import several
from driver.run import Run

TRIES, WAIT_S = 5, 0.5
PROJECT = "label=com.docker.compose.project="
DOWN = ("--profile", "*", "down", "--timeout", "0", "--volumes", "--remove-orphans")


def remove_run(run: Run) -> None:
    """Removes containers, volumes, networks and images that are only this run's.

    It takes several tries: Compose leaves a network in use, with status 0, and the engine may still be starting
    containers for a client that was killed.
    """
    # Without an engine there is nothing to do; what it refuses is reported below.
    with suppress(DockerError):
        _remove_run(run)


def remove_left(run: Run) -> None:
    """Removes what a killed call has left, including the tools' containers."""
    with suppress(DockerError):
        left = _left_of_run(run)
        if left is None:
            return
        if left or several(run):
            remove_run(run)
        tools = docker("ps", "--all", "--quiet", "--filter", f"label=bench.run={run.project}").out.split()
        if tools:
            docker("rm", "--force", *tools, check=False)


def _remove_run(run: Run) -> None:
    if run.host.targets:
        host_loadgen.stop_loadgen(run)
    if not text_of(run.folder / FILE):
        return
    if several(run):
        from driver.machines.lanes import remove_lanes
        from driver.machines.setup import remove_from_nodes

        remove_lanes(run)
        remove_from_nodes(run)
    words, left = "", None
    for attempt in range(TRIES):
        time.sleep(WAIT_S if attempt else 0)
        done = run_compose(run, *DOWN, check=False)
        words, left = done.out + done.err, _left_of_run(run)
        if left is None:
            return
        if not left:
            break
    if run.host.source_images:
        docker("image", "rm", *run.host.source_images, check=False)
    if left:
        warn(f"{run.name}: some of its containers and networks are left: {' '.join(words[-300:].split())}")


def _left_of_run(run: Run) -> list[str] | None:
    """Ids of its containers and networks; None if Docker fails."""
    found = [
        docker(*words, "--quiet", "--filter", f"{PROJECT}{run.project}", check=False)
        for words in (("ps", "--all"), ("network", "ls"))
    ]
    return None if any(done.status for done in found) else [word for done in found for word in done.out.split()]
