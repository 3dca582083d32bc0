"""Servers that already run (--target): no containers of this project, loaded from the host's network."""

from __future__ import annotations

from typing import Mapping

from driver.compose import TOOLS
from driver.docker import CONFINED, DockerError, docker
from driver.files import last_line
from driver.kind import results_user
from driver.run import Run

LOADGEN = "loadgen-host"
STATE = "null no counters: not a container of this project\n"
"""In the place of counters."""


def start_loadgen(run: Run, addresses: Mapping[str, str]) -> None:
    """A load generator with the rights and limits of the other one, but in the host's network; it knows the addresses of these
    services.
    """
    stop_loadgen(run)
    log = run.folder / "start-loadgen.log"
    labels = {"com.docker.compose.project": run.project, "com.docker.compose.project.working_dir": run.folder}
    volumes = (f"{run.root}:/bench:ro", f"{run.root}/results:/bench/results", "/sys/fs/cgroup:/host/cgroup:ro")
    argv = ["run", "--detach", "--name", run.container(LOADGEN), "--network", "host"]
    argv += [f"--add-host={name}:{address}" for name, address in addresses.items()]
    argv += ["--init", *CONFINED, "--tmpfs", "/tmp:mode=1777", "--memory", "2g"]
    argv += ["--ulimit", f"nofile={run.setting('NOFILE')}", "--cpuset-cpus", run.setting("LOADGEN_CPUS")]
    argv += ["--user", results_user(), "--workdir", "/bench"]
    argv += [f"--label={name}={value}" for name, value in labels.items()]
    argv += [f"--volume={volume}" for volume in volumes]
    if docker(*argv, TOOLS, "sleep", "infinity", log=log, check=False).status:
        raise DockerError(f"the load generator does not start in the host's network: {last_line(log)}")


def stop_loadgen(run: Run) -> None:
    """It is removed; also where there is none."""
    docker("rm", "--force", "--volumes", run.container(LOADGEN), check=False)
