"""Reads counters on another machine, by a container that sees that machine's cgroups and processes, read-only.

It also serves them to `bench turns` over the run's network (bench/load/far_counters.py).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Callable

from driver import counters
from driver.docker import CONFINED, DockerError, docker
from driver.failure import RUN, Failure
from driver.files import text_of
from driver.nodes.node import Node, nodes_of, read_addresses
from driver.run import Run

PORT = 7070
ROLES = ("server", "support")
"""Machines that have a reader."""
BOOT_ID = counters.PROC / "sys/kernel/random/boot_id"
ONLINE = Path("/sys/devices/system/cpu/online")


def main(argv: list[str]) -> int:
    """WHAT [PID], called in the reader's container: prints one of READINGS."""
    sys.stdout.write(READINGS[argv[0]](int(argv[1]) if len(argv) > 1 else 0))
    return 0


READINGS: dict[str, Callable[[int], str]] = {
    "counters": lambda pid: counters.counters(pid) + f"host_cpus {os.sysconf('SC_NPROCESSORS_ONLN')}\n",
    "file-memory": counters.file_memory,
    "below-root": counters.below_root,
    "online-cpus": lambda _: (text_of(ONLINE) or "").strip(),
    "boot-id": lambda _: (text_of(BOOT_ID) or "").strip(),
}


def read_at(run: Run, node: Node, what: str, pid: int = 0) -> str:
    """One of READINGS, read on that machine."""
    words = ("env", "CGROUP_ROOT=/host/cgroup", "python3", "-m", "driver.nodes.readers", what, str(pid))
    return docker("exec", reader(run, node), *words, context=node.context).out


def reader(run: Run, node: Node) -> str:
    """The container name of a machine's reader."""
    return f"{run.project}-counters-{node.role}"


def asked_at(run: Run, role: str) -> str:
    """The address at which the load generator reaches it."""
    return read_addresses(run).get(f"counters-{role}", f"counters-{role}")


def start_reader(run: Run, node: Node) -> None:
    """Starts it; it is unprivileged, and reads what any user of that machine can."""
    address = read_addresses(run).get(f"counters-{node.role}")
    way = ["--network", f"{run.project}-outer", "--publish", f"{address}:{PORT}"]
    if not address:
        way = ["--network", run.project, "--network-alias", f"counters-{node.role}"]
    docker(
        *("run", "--detach", "--name", reader(run, node), "--label", f"com.docker.compose.project={run.project}", *way),
        *("--pid", "host", "--cgroupns", "host", "--init", *CONFINED, "--tmpfs", "/tmp:mode=1777", "--memory", "256m"),
        *("--user", "65534:65534", "--workdir", "/bench", "--volume", f"{run.project}-source:/bench:ro"),
        *("--volume", "/sys/fs/cgroup:/host/cgroup:ro", "bench/loadgen"),
        *("python3", "-m", "bench", "counters", "/tmp/containers.tsv"),
        context=node.context,
    )


def need_readers(run: Run) -> None:
    """Failure if the load generator cannot reach the readers, as no window would be valid."""
    node = nodes_of(run)["loadgen"]
    words = ("python3", "-m", "bench", "counters-reached", *(asked_at(run, role) for role in ROLES))
    try:
        docker("exec", run.container("loadgen"), *words, context=node.context)
    except DockerError as error:
        raise Failure(RUN, f"the load generator on {node.name} does not reach the counters: {error}") from error


def tell_readers(run: Run, cgroups: str) -> None:
    """Tells the readers which cgroups they may serve in this block."""
    nodes = nodes_of(run)
    for role in ROLES:
        words = ("sh", "-c", "cat >/tmp/new && mv /tmp/new /tmp/containers.tsv")
        docker(
            "exec",
            "--interactive",
            reader(run, nodes[role]),
            *words,
            context=nodes[role].context,
            stdin=cgroups.encode(),
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
