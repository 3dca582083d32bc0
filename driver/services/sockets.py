"""Reads the socket options of a server in a container from outside it."""

from __future__ import annotations

import json
from time import sleep

from driver.docker import CONFINED, INSPECTING, docker
from driver.engines.engine import Engine
from driver.engines.of_run import engine_of
from driver.failure import say, warn
from driver.files import save
from driver.run import Run, open_run

TRIES = 60


def read_sockets(run: Run, container: str) -> str:
    """A line of JSON (bench/contract/sockets.py): the options, or why there are none.

    The reader joins the container's namespaces.
    """
    done = docker(
        *("run", "--rm", "--label", f"bench.run={run.project}", "--pid", f"container:{container}"),
        *("--network", f"container:{container}", *INSPECTING, "--volume", f"{run.root}:/bench:ro"),
        *("--workdir", "/bench", "bench/loadgen", "python3", "-m", "bench", "sockets"),
        check=False,
    )
    if done.status == 0:
        return done.out.strip() + "\n"
    return json.dumps({"unreadable": f"no container can look into the service: {done.last_line}"}) + "\n"


def check_sockets(engine: Engine, service: str) -> None:
    """Saves a service's socket options, which bench/contract/results.py compares with services/listeners.toml."""
    words = read_sockets(engine.run, engine.run.container(service))
    save(engine.run.service_folder(service) / "sockets.json", words)


def own_bind(run: Run, server: str, service: str, start: str) -> str:
    """The socket options of a server started as its own documentation says, in the image of a service."""
    container = f"{run.project}-own-{server}"
    docker(
        *("run", "--detach", "--name", container, "--label", f"bench.run={run.project}", "--network", "none", "--init"),
        *(*CONFINED, "--tmpfs", "/tmp", "--sysctl", "net.core.somaxconn=16384", "--env", "PYTHONPATH=/own"),
        *("--env", "PYTHONDONTWRITEBYTECODE=1", "--volume", f"{run.root}/scripts/listeners:/own:ro"),
        *("--workdir", "/tmp", run.services[service].image, "sh", "-c", f"exec {start}"),
    )
    try:
        for _ in range(TRIES):
            words = read_sockets(run, container)
            if '"fault"' not in words:
                break
            sleep(0.5)
        if '"options"' not in words:
            logs = docker("logs", "--tail", "5", container, check=False)
            warn((logs.out + logs.err).rstrip())
    finally:
        docker("rm", "--force", "--volumes", container, check=False)
    return words


def main(argv: list[str]) -> None:
    """`sockets RUN [SERVER...]`: reads these servers and writes the full table to RUN/listeners.toml."""
    run = open_run(argv[0])
    engine = engine_of(run)
    lines = ""
    for bind in engine.told("own-binds", *argv[1:]).splitlines():
        server, service, start = bind.split("\t")
        say(server)
        lines += f"{server}\t{own_bind(run, server, service, start)}"
    save(run.folder / "own-binds.tsv", lines)
    save(run.folder / "listeners.toml", engine.told("own-binds-read", stdin=lines.encode()))
