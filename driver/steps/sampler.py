"""py-spy beside a container: it needs neither root nor py-spy on the host.

python3 -m driver.steps.sampler CONTAINER PROJECT SECONDS FILE: for scripts/profile.sh.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver.docker import DockerError, docker
from driver.engines.protocol import Engine
from driver.files import save

RATE, SECONDS = 250, 5
"""Samples a second, for so many seconds of a load; bench/plan/profile.py says how long that is."""
CONNECTS_S = 1.0
"""After so long the load tool has connected."""
RECORD = """
for i in $(seq "$2"); do
    py-spy record --pid 1 --subprocesses --format raw --rate "$1" --duration 1 --output /tmp/stacks >&2 &&
        cat /tmp/stacks && echo || exit
done
"""


def main(argv: list[str]) -> int:
    """Status 1 where nothing was sampled; what py-spy says goes to standard error."""
    container, project, seconds, file = argv
    said = sample(container, project, int(seconds), Path(file), cpus=os.environ.get("LOADGEN_CPUS", ""))
    print(said, end="", file=sys.stderr)
    return 0 if Path(file).exists() else 1


def sample(container: str, project: str, seconds: int, file: Path, *, cpus: str) -> str:
    """The stacks of all threads that run Python in a container, collapsed, into a file, whole or not at all.

    It is a recording of each second, with an empty line between two, as how much they differ says how far the samples
    can be relied on. If it is ended from outside, those that are complete count. Returns what py-spy said.

    Its own container, `sampler` of the project, is in the other one's process namespace, whose first process is
    Docker's init, and may look into processes of other users: only root may have that capability in effect.
    """
    file.unlink(missing_ok=True)
    options = [
        "--rm",
        "--name",
        f"{project}-sampler",
        "--label",
        f"bench.run={project}",
        "--pid",
        f"container:{container}",
    ]
    options += ["--network", "none", "--cap-drop", "ALL", "--cap-add", "SYS_PTRACE", "--user", "0:0"]
    options += ["--cpuset-cpus", cpus] if cpus else []
    options += ["--read-only", "--tmpfs", "/tmp", "--workdir", "/", "--entrypoint", ""]
    words = ["sh", "-c", RECORD, "sh", str(RATE), str(seconds)]
    done = docker("run", *options, "bench/loadgen", *words, check=False)
    if done.out:
        save(file, done.out)
    return done.err


@contextmanager
def sampled(engine: Engine, service: str, folder: Path) -> Iterator[None]:
    """While the service is loaded; what came of it is in stacks.txt and sampler.txt."""
    run, loaded = engine.run, threading.Event()
    container = run.container(service)

    def work() -> None:
        try:
            # A process that waits for a CPU looks like one that runs: what else this machine does has to wait.
            docker("update", "--cpu-shares", "262144", container)
            if not loaded.wait(CONNECTS_S):
                stacks, cpus = folder / "stacks.txt", run.setting("LOADGEN_CPUS")
                said = sample(container, run.project, SECONDS, stacks, cpus=cpus)
                save(folder / "sampler.txt", said)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
