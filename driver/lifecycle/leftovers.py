"""Removes a run's containers, volumes and networks: at its end, and before it is resumed."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from driver.compose import FILE, run_compose
from driver.docker import DockerError, docker
from driver.engines.local import stop_host_loadgen, time_ns
from driver.failure import say, warn
from driver.files import text_of
from driver.nodes.node import several
from driver.run import PROJECT, Run

TRIES, WAIT_S = 5, 0.5
DOWN = ("--profile", "*", "down", "--timeout", "0", "--volumes", "--remove-orphans")
FOLDER = f"{PROJECT}.working_dir"
BEGINS_S = 10
"""Seconds: a younger network may belong to a run that is just starting."""


def remove_run(run: Run) -> None:
    """Removes the run's containers, volumes, networks and the images that only it uses.

    This may take several tries: Compose exits with status 0 although it leaves a network that is in use, and the engine
    may still be starting containers for a killed client.
    """
    # If the engine does not answer, nothing can be done. `_remove_run` warns about what is left.
    with suppress(DockerError):
        _remove_run(run)


def remove_left(run: Run) -> None:
    """Removes what a killed call has left, including containers of the tools."""
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
    if run.host.source_images:
        docker("image", "rm", *run.host.source_images, check=False)
    if left:
        warn(f"{run.name}: some of its containers and networks are left: {' '.join(words[-300:].split())}")


def _left_of_run(run: Run) -> list[str] | None:
    """Ids of its containers and networks; None if Docker fails."""
    found = [
        docker(*words, "--quiet", "--filter", f"label={run.label}", check=False)
        for words in (("ps", "--all"), ("network", "ls"))
    ]
    return None if any(done.status for done in found) else [word for done in found for word in done.out.split()]


def remove_dead_runs() -> bool:
    """Removes runs that no process measures or that have no running container; False if Docker fails.

    A reboot, a killed daemon and `docker-compose up bench` leave such runs; their networks occupy the subnet.
    """
    wanted = ("--filter", "label=com.docker.compose.network=bench", "--filter", "label=bench.network")
    try:
        networks = docker("network", "ls", *wanted, "--format", f'{{{{.Label "{PROJECT}"}}}}\t{{{{.CreatedAt}}}}').out
        for line in networks.splitlines():
            name, _, made = line.partition("\t")
            if name.startswith("bench") and not _begins(made) and _is_dead(name):
                say(f"removing what is left of {name}, which is no longer being measured")
                words = ("down", "--timeout", "0", "--volumes", "--remove-orphans")
                docker("compose", "--project-name", name, *words)
    except DockerError:
        return False
    return True


def is_abandoned(containers: Sequence[str]) -> bool:
    """Whether no process measures the run of these containers: its lock is free, or its folder is gone."""
    label = f'{{{{index .Config.Labels "{FOLDER}"}}}}'
    folder = docker("inspect", "--format", label, containers[0]).out.strip()
    if not folder:
        return False
    path = Path(folder)
    try:
        if not path.exists():
            return path.parent.is_dir()
        if (path / "services" / "matrix.toml").is_file():
            return _bench_has_ended(folder)
        return (path / ".writer").exists() and not is_locked(path / ".writer")
    except PermissionError:
        # Another user's run.
        return False


def is_locked(file: Path) -> bool:
    """Whether a process holds the lock of this file."""
    with file.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _begins(made: str) -> bool:
    """Whether a network is young. One from the future is old: the clock was set back after its creation."""
    return abs(time.time() - (time_ns(made) or 0) / 1e9) <= BEGINS_S


def _is_dead(name: str) -> bool:
    # FOLDER is set on containers that Compose started; PROJECT alone may come from an image that Compose built.
    up = docker("ps", "--quiet", "--filter", f"label={PROJECT}={name}", "--filter", f"label={FOLDER}").out.split()
    return not up or is_abandoned(up)


def _bench_has_ended(folder: str) -> bool:
    """Whether `docker-compose up bench` in this clone has ended, which leaves its services up."""
    wanted = ("--filter", "label=com.docker.compose.service=bench", "--filter", f"label={FOLDER}={folder}")
    return docker("ps", "--all", "--format", "{{.State}}", *wanted).out.strip() == "exited"
