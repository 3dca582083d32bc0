"""What a run has with Docker besides its images: taken away at its end, and before it goes on."""

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
    """Its containers, volumes, networks and images of its own. Compose leaves a network that is still in use, and says
    so with status 0: what the engine was still starting for a client that was killed has appeared by the next try.
    """
    # What Docker refuses is left, and said; without an engine nothing can be.
    with suppress(DockerError):
        _remove_run(run)


def remove_left(run: Run) -> None:
    """What no script is there any more to remove: all of this, and the containers in which Python works for the run."""
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
    """Its containers and networks, by id; None where Docker does not say."""
    found = [
        docker(*words, "--quiet", "--filter", f"{PROJECT}{run.project}", check=False)
        for words in (("ps", "--all"), ("network", "ls"))
    ]
    return None if any(done.status for done in found) else [word for done in found for word in done.out.split()]
