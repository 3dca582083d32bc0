"""The engine of a run on several machines, each with a Docker context: on a swarm, or on two machines without one.

In a run on several pairs of nodes, each lane has its own engine. Counters of another machine are read by a container
there that sees its cgroups and processes; it serves them to the load generator too (bench/load/far_counters.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from driver.compose import in_tools, tools_words
from driver.docker import CONFINED, DockerError, Done, answer, docker, or_failure, start_docker
from driver.engines.local import LOADGEN, LocalDocker
from driver.failure import RUN, Failure
from driver.files import save, text_of
from driver.nodes.compose import CHECKER, OUTER
from driver.nodes.loadgen import in_far_loadgen
from driver.nodes.node import nodes_of, read_addresses, read_lanes, role_of, several
from driver.nodes.swarm import find_manager
from driver.run import Run

APART, BESIDE = "apart", "beside"
"""A file in the folder of a lane: whether load generator and server have different kernels, yes or no."""
READ = ("server", "support")
"""Roles whose machines have a reader of counters."""
READER_PORT = 7070


class Nodes(LocalDocker):
    """Compose and Docker on the engine of each service's machine."""

    def __init__(self, run: Run) -> None:
        parts = read_lanes(run)
        settings = {**run.settings, "BENCH_SUBNET": parts[run.lane - 1].subnet} if parts else run.settings
        self.on_swarm = several(run) == "swarm"
        # Without a swarm, services are verified on the machine of the database: the load generator cannot reach that.
        more = () if self.on_swarm or CHECKER in run.dependencies else (CHECKER,)
        super().__init__(replace(run, settings=settings, dependencies=(*run.dependencies, *more)))
        self.nodes = nodes_of(run)

    @property
    def cannot_act(self) -> str:
        return "signals cannot reach services on several machines"

    def context_of(self, service: str) -> str:
        return self.nodes[role_of(service)].context

    def before_load(self) -> None:
        """Failure unless the load generator reaches the readers: without counters no window would be valid."""
        node = self.nodes[LOADGEN]
        words = ("python3", "-m", "bench", "counters-reached", *map(self.reader_address, READ))
        try:
            docker("exec", self.run.container(LOADGEN), *words, context=node.context)
        except DockerError as error:
            self.check()
            raise Failure(RUN, f"the load generator on {node.name} cannot reach the counters: {error}") from error

    def up_at(
        self, context: str, services: Sequence[str], log: Path, words: Sequence[str], files: Sequence[Path]
    ) -> bool:
        """Retries once, after a manager answers: without one, no container can join an overlay network."""
        up = partial(super().up_at, context, services, log, words, files)
        return up() or (self.on_swarm and find_manager() is not None and up())

    def save_cgroups(self, services: Sequence[str]) -> str:
        """Also tells the readers which cgroups they may serve in this block."""
        text = super().save_cgroups(services)
        save_there = ("sh", "-c", "cat >/tmp/new && mv /tmp/new /tmp/containers.json")
        for role in READ:
            words = ("exec", "--interactive", self.reader(role), *save_there)
            docker(*words, context=self.nodes[role].context, stdin=text.encode())
        return text

    def cgroup_of(self, service: str) -> list[str]:
        """The cgroup's path, and the address of the reader that can see it."""
        return [*super().cgroup_of(service), self.reader_address(role_of(service))]

    def read(self, what: str, service: str) -> str:
        role = role_of(service)
        lines = self._read_at(role, what, self.pid_of(service))
        for key in (APART, *([BESIDE] if role == "support" else [])) if what == "counters" else ():
            told = (text_of(self.run.lane_folder / key) or "").strip()
            lines += f"{key} {told}\n" if told else ""
        return lines

    def _read_at(self, role: str, what: str, pid: int = 0) -> str:
        words = ("env", "CGROUP_ROOT=/host/cgroup", "python3", "-m", "driver.counters", what, str(pid))
        return docker("exec", self.reader(role), *words, context=self.nodes[role].context).out

    def reader(self, role: str) -> str:
        """The name of the container that reads counters on the machine of this role."""
        return f"{self.run.project}-counters-{role}"

    def reader_address(self, role: str) -> str:
        """Where the load generator reaches the reader of this role."""
        return read_addresses(self.run).get(f"counters-{role}", f"counters-{role}")

    def start_readers(self) -> None:
        """Starts the readers. They are unprivileged, and read only what any user of their machines can."""
        project = self.run.project
        for role in READ:
            node, address = self.nodes[role], read_addresses(self.run).get(f"counters-{role}")
            way = ("--network", project, "--network-alias", f"counters-{role}")
            if address:
                way = ("--network", f"{project}-{OUTER}", "--publish", f"{address}:{READER_PORT}")
            with or_failure(RUN, f"the counters of node {node.name} cannot be read"):
                docker(
                    *("run", "--detach", "--name", self.reader(role), "--label", self.run.label, *way),
                    *("--pid", "host", "--cgroupns", "host", "--init", *CONFINED, "--tmpfs", "/tmp:mode=1777"),
                    *("--memory", "256m", "--user", "65534:65534", "--workdir", "/bench"),
                    *("--volume", f"{project}-source:/bench:ro", "--volume", "/sys/fs/cgroup:/host/cgroup:ro"),
                    *("bench/loadgen", "python3", "-m", "bench", "counters", "/tmp/containers.json"),
                    context=node.context,
                )

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """Does nothing, because the pipes do not reach another machine."""
        return nullcontext()

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        checks = not self.on_swarm and "verify" in words
        service, role = (CHECKER, "server") if checks else (LOADGEN, LOADGEN)
        context, container = self.nodes[role].context, self.run.container(service)
        return in_far_loadgen(self.run, context, container, words, log=log, folder=folder)

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """Always runs on this machine, where the run's folder is."""
        return in_tools(self.run, "python3", "-m", "bench", *words, stdin=stdin or None, check=False)

    def start_bench(self, *words: str) -> Callable[[str], Done]:
        return start_docker(*tools_words(self.run, "python3", "-m", "bench", *words))

    def check(self, step_failed: bool = False) -> None:
        for role, node in self.nodes.items():
            name = self.run.container(LOADGEN) if role == LOADGEN else self.reader(role)
            if answer("inspect", "--format", "{{.State.Running}}", name, context=node.context) != "true":
                raise Failure(RUN, f"node {node.name} ({role}) is lost: what it was measuring is not recorded")

    def address(self, service: str) -> str:
        return read_addresses(self.run).get(service) or super().address(service)

    def answers_at_home(self, service: str) -> bool:
        """Any HTTP status counts. An overlay network loses a new container now and then."""
        context = self.nodes["server"].context
        asks = ("curl", "--silent", "--output", "/dev/null", "--max-time", "5", f"http://{service}:8080/")
        return answer("exec", self.reader("server"), *asks, context=context) is not None

    def start_dependencies(self) -> None:
        """Also records which roles share a kernel, and thus CPU time: load generator and server, and the support."""
        super().start_dependencies()
        words = ("exec", self.run.container(LOADGEN), "cat", "/proc/sys/kernel/random/boot_id")
        here = docker(*words, context=self.context_of(LOADGEN)).out.strip()
        server, support = (self._read_at(role, "boot-id") for role in READ)
        save(self.run.lane_folder / APART, "no\n" if here == server else "yes\n")
        save(self.run.lane_folder / BESIDE, {here: "loadgen\n", server: "server\n"}.get(support, "neither\n"))
