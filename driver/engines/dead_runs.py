"""Finds runs that nobody measures any more, and removes what they have left on the engine of this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from driver.docker import DockerError, docker, time_ns
from driver.failure import say
from driver.files import is_locked
from driver.run import PROJECT

FOLDER = f"{PROJECT}.working_dir"
NETWORK = "bench.network"
"""The label of a run's network: the run's folder, or anything for `docker-compose up bench`."""
BEGINS_S = 10
"""Seconds: a younger network may belong to a run that is just starting."""


def remove_dead_runs() -> bool:
    """Removes runs that no process measures; False if Docker fails.

    A reboot, a killed daemon and `docker-compose up bench` leave such runs; their networks occupy the subnet.
    """
    wanted = ("--filter", "label=com.docker.compose.network=bench", "--filter", f"label={NETWORK}")
    fields = f'{{{{.Label "{PROJECT}"}}}}\t{{{{.CreatedAt}}}}\t{{{{.Label "{NETWORK}"}}}}'
    try:
        for line in docker("network", "ls", *wanted, "--format", fields).out.splitlines():
            name, made, folder = line.split("\t")
            if name.startswith("bench") and not _begins(made) and not is_measured(Path(folder)) and _is_dead(name):
                say(f"removing what is left of {name}, which is no longer being measured")
                docker("compose", "--project-name", name, "down", "--timeout", "0", "--volumes", "--remove-orphans")
    except DockerError:
        return False
    return True


def is_abandoned(containers: Sequence[str]) -> bool:
    """Whether no process measures the run of these containers: its lock is free, or its folder is gone."""
    label = f'{{{{index .Config.Labels "{FOLDER}"}}}}'
    if not (folder := docker("inspect", "--format", label, containers[0]).out.strip()):
        return False
    path = Path(folder)
    try:
        if not path.exists():
            return path.parent.is_dir()
        if (path / "services" / "matrix.toml").is_file():
            # In a clone: whether its `docker-compose up bench` has ended, which leaves its services up.
            wanted = ("--filter", "label=com.docker.compose.service=bench", "--filter", f"label={FOLDER}={folder}")
            return docker("ps", "--all", "--format", "{{.State}}", *wanted).out.strip() == "exited"
        return (path / ".writer").exists() and not is_locked(path / ".writer")
    except PermissionError:
        # Another user's run.
        return False


def is_measured(folder: Path) -> bool:
    """Whether a process holds the run's lock, or may: that of another user's run cannot be read."""
    try:
        return is_locked(folder / ".writer")
    except OSError as error:
        return isinstance(error, PermissionError)


def _begins(made: str) -> bool:
    """Whether a network is young. One from the future is old: the clock was set back after its creation."""
    return abs(time.time() - (time_ns(made) or 0) / 1e9) <= BEGINS_S


def _is_dead(name: str) -> bool:
    # FOLDER is set on containers that Compose started; PROJECT alone may come from an image that Compose built.
    up = docker("ps", "--quiet", "--filter", f"label={PROJECT}={name}", "--filter", f"label={FOLDER}").out.split()
    return not up or is_abandoned(up)
