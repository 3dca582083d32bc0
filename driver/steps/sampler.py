"""Samples stacks with py-spy from a second container, so the host needs neither root nor py-spy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver.docker import INSPECTING, DockerError, docker
from driver.engines.engine import Engine
from driver.files import save

RATE, SECONDS = 250, 5
"""Samples per second, and seconds of sampling during a load of LOAD_S (bench/plan/profile.py)."""
CONNECTS_S = 1.0
"""By then, the load tool has opened its connections."""
RECORD = """
for i in $(seq "$2"); do
    py-spy record --pid 1 --subprocesses --format raw --rate "$1" --duration 1 --output /tmp/stacks >&2 &&
        cat /tmp/stacks && echo || exit
done
"""


def sample(container: str, project: str, seconds: int, file: Path, *, cpus: str) -> str:
    """Writes the collapsed stacks of all Python threads in a container; returns py-spy's output.

    Each second is a separate recording, followed by an empty line: how much they differ shows how reliable the samples
    are. If sampling is interrupted, complete recordings count.

    py-spy runs in a container that joins the other one's process namespace, where process 1 is Docker's init.
    """
    file.unlink(missing_ok=True)
    options = ["--rm", "--name", f"{project}-sampler", "--label", f"bench.run={project}"]
    options += ["--pid", f"container:{container}", "--network", "none", *INSPECTING, "--workdir", "/"]
    options += ["--cpuset-cpus", cpus] if cpus else []
    words = ["sh", "-c", RECORD, "sh", str(RATE), str(seconds)]
    done = docker("run", *options, "bench/loadgen", *words, check=False)
    if done.out:
        save(file, done.out)
    return done.err


@contextmanager
def sampled(engine: Engine, service: str, folder: Path) -> Iterator[None]:
    """Samples while the service is loaded, into stacks.txt; sampler.txt has py-spy's output."""
    run, loaded = engine.run, threading.Event()
    container = run.container(service)

    def work() -> None:
        try:
            # To py-spy, a process waiting for a CPU looks busy, so give the service precedence over other programs.
            docker("update", "--cpu-shares", "262144", container)
            if not loaded.wait(CONNECTS_S):
                stacks, cpus = folder / "stacks.txt", run.setting("LOADGEN_CPUS")
                save(folder / "sampler.txt", sample(container, run.project, SECONDS, stacks, cpus=cpus))
        except (DockerError, OSError) as error:
            save(folder / "sampler.txt", f"{error}\n")

    sampler = threading.Thread(target=work, daemon=True)
    sampler.start()
    try:
        yield
    finally:
        loaded.set()
        docker("rm", "--force", f"{run.project}-sampler", check=False)
        sampler.join()
