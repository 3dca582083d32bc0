"""The load generator on the host's network, for servers that already run (--target)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from driver.compose import TOOLS
from driver.docker import CONFINED, DockerError, docker
from driver.engines.kind import results_user
from driver.files import last_line
from driver.run import Run

LOADGEN = "loadgen-host"
STATE = "null no counters: not a container of this project\n"
"""The raw file of a target."""


def start_loadgen(run: Run, addresses: Mapping[str, str]) -> None:
    """With the rights and limits of the regular load generator. `addresses`: of services that it must reach by name."""
    stop_loadgen(run)
    log = run.folder / "start-loadgen.log"
    label = "com.docker.compose.project"
    volumes = (f"{run.root}:/bench:ro", f"{run.root}/results:/bench/results", "/sys/fs/cgroup:/host/cgroup:ro")
    argv = ["run", "--detach", "--name", run.container(LOADGEN), "--network", "host"]
    argv += _each("--add-host", (f"{name}:{address}" for name, address in addresses.items()))
    argv += ["--init", *CONFINED, "--tmpfs", "/tmp:mode=1777", "--memory", "2g"]
    argv += ["--ulimit", f"nofile={run.setting('NOFILE')}", "--cpuset-cpus", run.setting("LOADGEN_CPUS")]
    argv += ["--user", results_user(), "--workdir", "/bench"]
    argv += _each("--label", (f"{label}={run.project}", f"{label}.working_dir={run.folder}"))
    argv += _each("--volume", volumes)
    if docker(*argv, TOOLS, "sleep", "infinity", log=log, check=False).status:
        raise DockerError(f"the load generator does not start in the host's network: {last_line(log)}")


def stop_loadgen(run: Run) -> None:
    """Removes it, if there is one."""
    docker("rm", "--force", "--volumes", run.container(LOADGEN), check=False)


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
