"""Removes a run's containers, volumes and networks: at its end, and before it is resumed."""

from __future__ import annotations

import time
from contextlib import suppress

from driver.compose import FILE, run_compose
from driver.docker import DockerError, docker
from driver.engines.local import stop_host_loadgen
from driver.failure import warn
from driver.files import text_of
from driver.nodes.node import several
from driver.run import Run

TRIES, WAIT_S = 5, 0.5
DOWN = ("--profile", "*", "down", "--timeout", "0", "--volumes", "--remove-orphans")


def remove_run(run: Run) -> None:
    """Removes the run's containers, volumes, networks and the images that only it uses.

    This may take several tries: Compose exits with status 0 although it leaves a network that is in use, and the engine
    may still be starting containers for a killed client.
    """
    # If the engine does not answer, nothing can be done.
    with suppress(DockerError):
        if run.targets:
            stop_host_loadgen(run)
        if not text_of(run.folder / FILE):
            return
        if several(run):
            from driver.nodes.setup import remove_nodes

            remove_nodes(run)
        words, left = "", None
        for attempt in range(TRIES):
            time.sleep(WAIT_S if attempt else 0)
            done = run_compose(run, *DOWN, check=False)
            words, left = done.out + done.err, _left_of_run(run)
            if left is None:
                return
            if not left:
                break
        if run.source_images:
            docker("image", "rm", *run.source_images, check=False)
        if left:
            warn(f"{run.name}: some of its containers and networks are left: {' '.join(words[-300:].split())}")


def remove_left(run: Run) -> None:
    """Removes what a killed call has left, including containers of the tools."""
    with suppress(DockerError):
        if (left := _left_of_run(run)) is None:
            return
        if left or several(run):
            remove_run(run)
        if tools := docker("ps", "--all", "--quiet", "--filter", f"label=bench.run={run.project}").out.split():
            docker("rm", "--force", *tools, check=False)


def _left_of_run(run: Run) -> list[str] | None:
    """Ids of its containers and networks; None if Docker fails."""
    ids = ("--quiet", "--filter", f"label={run.label}")
    listings = [docker(*words, *ids, check=False) for words in (("ps", "--all"), ("network", "ls"))]
    return None if any(done.status for done in listings) else [word for done in listings for word in done.out.split()]
