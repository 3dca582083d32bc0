"""The engine of a run on several machines, each with a Docker context: on a swarm, or on two machines without one.

A run on several pairs of nodes has one for each lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from driver.compose import FRESH, in_tools
from driver.docker import Done, answer, docker
from driver.engines.engine import Started
from driver.engines.local import LOADGEN, Facts, LocalDocker
from driver.failure import RUN, Failure
from driver.files import save, text_of
from driver.nodes.compose import CHECKER
from driver.nodes.loadgen import FarLoadgen
from driver.nodes.node import nodes_of, read_addresses, read_lanes, role_of, several
from driver.nodes.readers import asked_at, need_readers, read_at, reader, tell_readers
from driver.nodes.swarm import find_manager
from driver.run import Run

APART = "apart"
"""In the folder of a lane: whether load generator and server are on two kernels, yes or no."""


class Nodes(LocalDocker):
    """Compose and Docker on the engine of each service's machine."""

    def __init__(self, run: Run) -> None:
        parts = read_lanes(run)
        settings = {**run.settings, "BENCH_SUBNET": parts[run.lane - 1].subnet} if parts else run.settings
        self.on_swarm = several(run) == "swarm"
        # Services are verified on the machine of the database, which the load generator does not reach.
        more = () if self.on_swarm or CHECKER in run.dependencies else (CHECKER,)
        host = replace(run.host, dependencies=(*run.dependencies, *more))
        super().__init__(replace(run, settings=settings, host=host))
        self.nodes = nodes_of(run)

    def context_of(self, service: str) -> str:
        return self.nodes[role_of(service)].context

    def start(
        self, services: Sequence[str], *, loadgens: int = 0, any_cpu: bool = False, host_network: bool = False
    ) -> Started:
        """Before a load, checks that the counters can be read."""
        if loadgens:
            try:
                need_readers(self.run)
            except Failure:
                self.check()
                raise
        return super().start(services, loadgens=loadgens, any_cpu=any_cpu, host_network=host_network)

    def more_loadgens(self, count: int, log: Path) -> bool:
        """Each on its own machine."""
        more = [self.nodes[f"{LOADGEN}-{number}"].context for number in range(2, count + 1)]
        return all(self.up_at(context, [LOADGEN], log, FRESH, ()) for context in more)

    def up_at(
        self, context: str, services: Sequence[str], log: Path, words: Sequence[str], files: Sequence[Path]
    ) -> bool:
        """Tries once more: to join an overlay network, a container needs a manager that answers."""
        up = partial(super().up_at, context, services, log, words, files)
        return up() or (self.on_swarm and find_manager() is not None and up())

    def cgroup_of(self, service: str) -> str:
        """The folder, and the address of the reader that can see it."""
        role = role_of(service)
        return f"{read_at(self.run, self.nodes[role], 'below-root', self.pid_of(service))}\t{asked_at(self.run, role)}"

    def know_containers(self) -> None:
        tell_readers(self.run, text_of(self.run.lane_folder / "containers.tsv") or "")

    def online_cpus(self) -> str:
        return read_at(self.run, self.nodes["server"], "online-cpus")

    def look_at_dependencies(self) -> dict[str, Facts]:
        """Counters are never unreadable here: a reader on each machine reads them."""
        found = super().look_at_dependencies()
        self._unreadable = ""
        return found

    def counters_of(self, service: str, pid: int) -> str:
        apart = (text_of(self.run.lane_folder / APART) or "").strip()
        lines = read_at(self.run, self.nodes[role_of(service)], "counters", pid)
        return lines + (f"apart {apart}\n" if apart else "")

    def file_memory(self, service: str) -> str:
        return read_at(self.run, self.nodes[role_of(service)], "file-memory", self.pid_of(service))

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """None: the pipes do not reach another machine."""
        return nullcontext()

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        verifies = not self.on_swarm and "verify" in words
        return self._far(CHECKER if verifies else LOADGEN).do(words, log=log, folder=folder)

    def client(self, number: int, words: Sequence[str], *, log: Path, folder: str) -> Done:
        return self._far(LOADGEN, "" if number == 1 else f"-{number}").do(words, log=log, folder=folder)

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """Always here, where the run's folder is."""
        return in_tools(self.run, "python3", "-m", "bench", *words, stdin=stdin or None, check=False)

    def check(self, step_failed: bool = False) -> None:
        for role, node in self.nodes.items():
            # Of several load generators, only the first is sure to have been started.
            asked: tuple[str, ...] = ("version", "--format", "true")
            if not role.startswith(f"{LOADGEN}-"):
                name = self.run.container(LOADGEN) if role == LOADGEN else reader(self.run, node)
                asked = ("inspect", "--format", "{{.State.Running}}", name)
            if answer(*asked, context=node.context) != "true":
                raise Failure(RUN, f"node {node.name} ({role}) is lost: what it was measuring is not recorded")

    def address(self, service: str) -> str:
        return read_addresses(self.run).get(service) or super().address(service)

    def answers_at_home(self, service: str) -> bool:
        """With any status. An overlay network loses a new container now and then."""
        node = self.nodes["server"]
        asks = ("curl", "--silent", "--output", "/dev/null", "--max-time", "5", f"http://{service}:8080/")
        return answer("exec", reader(self.run, node), *asks, context=node.context) is not None

    def start_dependencies(self) -> None:
        """Also notes whether load generator and server are on different kernels, so share no CPU time."""
        super().start_dependencies()
        words = ("exec", self.run.container(LOADGEN), "cat", "/proc/sys/kernel/random/boot_id")
        here = docker(*words, context=self.context_of(LOADGEN)).out.strip()
        same = here == read_at(self.run, self.nodes["server"], "boot-id")
        save(self.run.lane_folder / APART, "no\n" if same else "yes\n")

    def _far(self, service: str, number: str = "") -> FarLoadgen:
        node = self.nodes[role_of(service) + number]
        return FarLoadgen(self.run, node.context, self.run.container(service))
