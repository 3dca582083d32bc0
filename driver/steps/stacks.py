"""`stacks`: samples where a service's worker spends its time under load, for scripts/profile.sh."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver.compose import project_compose
from driver.docker import docker, run, start_docker
from driver.failure import RUN, Failure
from driver.files import save
from driver.planning.tools import bench
from driver.run import ROOT
from driver.steps.sampler import sample

SECONDS = 4
"""Duration of sampling; the load begins a second earlier and ends a second later."""
PROFILES = ROOT / "results/profiles"


def main(argv: list[str]) -> None:
    """`stacks SERVICE PATH...`: prints what `bench profile` says about the service under load on each path."""
    service, *paths = argv
    project = f"bench-profile-{os.getpid()}"
    with _started(project, service, paths[0]):
        pid = _worker(docker("inspect", "--format", "{{.State.Pid}}", f"{project}-{service}-1").out.strip())
        for path in paths:
            name = f"{service}{path.replace('/', '-')}"
            _sample(project, service, path, pid, PROFILES / name)
            print(bench(ROOT, "profile", f"results/profiles/{name}", path), end="", flush=True)


@contextmanager
def _started(project: str, service: str, path: str) -> Iterator[None]:
    """Starts the service and its database in a Compose project of its own, and waits until the path is answered."""
    file, log = PROFILES / "services.yml", PROFILES / "services.log"
    # Only this service: Compose takes minutes to read all services of the matrix.
    save(file, bench(ROOT, "profile-compose", service))
    options = ("--project-name", project, "--file", str(file), "--profile", "*")
    names = ("loadgen", "postgres", "upstream", service)
    try:
        if project_compose(ROOT, *options, "up", "--detach", "--no-build", *names, log=log, check=False).status:
            words = f"{service} does not start: build it with scripts/verify.sh {service}, or see {log}"
            raise Failure(RUN, words)
        url = f"http://{service}:8080{path}"
        tries = ("--retry", "50", "--retry-all-errors", "--retry-delay", "1", "--output", "/dev/null")
        if docker("exec", f"{project}-loadgen-1", "curl", "-sf", *tries, url, check=False).status:
            raise Failure(RUN, f"{service} does not answer {path} successfully")
        yield
    finally:
        project_compose(ROOT, *options, "down", "--timeout", "0", "--volumes", check=False)


def _worker(pid: str) -> str:
    """The first worker, found from Docker's init through the server; it exists once a response was given."""
    while children := run(["pgrep", "--oldest", "--parent", pid], check=False).out.split():
        pid = children[0]
    return pid


def _sample(project: str, service: str, path: str, pid: str, file: Path) -> None:
    """Leaves FILE.wrk, FILE.before, FILE.after (CPU time) and FILE.raw (stacks)."""
    url = f"http://{service}:8080{path}"
    words = ("exec", f"{project}-loadgen-1", "wrk", "-t", "1", "-c", "64", "-d", f"{SECONDS + 2}s", url)
    place = {name: file.with_name(f"{file.name}.{name}") for name in ("wrk", "before", "after", "raw", "log")}
    load_ends = start_docker(*words)
    time.sleep(1)
    save(place["before"], _cpu_time(pid))
    cpus = os.environ.get("LOADGEN_CPUS", "")
    save(place["log"], sample(f"{project}-{service}-1", project, SECONDS, place["raw"], cpus=cpus))
    if not place["raw"].exists():
        raise Failure(RUN, f"py-spy failed; {place['log']} says why")
    save(place["after"], _cpu_time(pid))
    done = load_ends("")
    save(place["wrk"], done.out + done.err)
    if done.status:
        raise Failure(RUN, f"wrk failed; {place['wrk']} has its output")


def _cpu_time(pid: str) -> str:
    """The time in ns, and /proc/PID/stat of the process."""
    return f"{time.time_ns()} {Path('/proc', pid, 'stat').read_text()}"
