"""The engine of a run on this machine: its Docker, with fresh containers for every measurement."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from driver import counters, dependencies, freezer, kind, provenance, target
from driver.compose import FRESH, in_tools, run_compose
from driver.docker import DockerError, Done, answers, docker
from driver.engine import Started, State
from driver.failure import RUN, Failure
from driver.files import save
from driver.node import role_of
from driver.run import Run

GONE = "the Docker daemon does not answer any more: start it (systemctl start docker)"
LOADGEN = "loadgen"
ONLINE_CPUS = Path("/sys/devices/system/cpu/online")
AWAY_TRIES, AWAY_S = 40, 0.5
LONGEST_S = 86400
FACTS = "|".join(
    (
        *('{{index .Config.Labels "com.docker.compose.service"}}', "{{.Id}}", "{{.Image}}", "{{.State.Pid}}"),
        *("{{.State.Running}}", "{{.State.OOMKilled}}", "{{.RestartCount}}", "{{.State.StartedAt}}"),
        "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
    )
)
"""All that is ever asked of containers, of several by one command: each costs 30 ms."""
LIMITS = 'echo "nofile $(ulimit -n)"; echo "net.core.somaxconn $(cat /proc/sys/net/core/somaxconn)"'


@dataclass(frozen=True)
class Facts:
    """What the engine says of a container."""

    id: str
    image_id: str
    pid: int
    state: State
    started_ns: int | None
    address: str


class LocalDocker:
    """Compose on the run's own resolved file. First processes are kept as they were when it was looked last: an
    engine is made for one verb of the driver.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._loadgen = LOADGEN
        self._pids: dict[str, int] = {}
        self._unreadable = ""

    def context_of(self, service: str) -> str:
        """The Docker context of the engine where the service's container is; empty for this machine's."""
        return ""

    def start(
        self, services: Sequence[str], *, loadgens: int = 0, any_cpu: bool = False, host_network: bool = False
    ) -> Started:
        """As Engine has it."""
        ours = self._ours(services)
        targets = [name for name in services if name not in ours]
        up = self._fresh(ours, loadgens, any_cpu) if ours else []
        if not up and not targets:
            return Started()
        facts = self.facts(up)
        up = [name for name in up if name in facts]
        self._pids.update({name: facts[name].pid if name in facts else 0 for name in ours})
        if any_cpu:
            save(self.run.lane_folder / "containers.tsv", self.cgroups(ours))
            self.know_containers()
        if targets or host_network:
            try:
                self._to_host_network({name: facts[name].address for name in up})
            except DockerError:
                return Started()
        return Started(
            [*up, *targets],
            {name: facts[name].image_id for name in up},
            {name: facts[name].started_ns for name in up},
        )

    def _fresh(self, services: Sequence[str], loadgens: int, any_cpu: bool) -> list[str]:
        """Those of them that have started."""
        files = [self.run.lane_folder / "block.yml"] if any_cpu else []
        if any_cpu:
            cpus = self.online_cpus()
            lines = "".join(f'  {name}: {{cpuset: "{cpus}"}}\n' for name in services)
            save(files[0], f"services:\n{lines}")
        loadgen = [LOADGEN] if loadgens else []
        log = self.start_log(services[0])
        if self.up([*services, *loadgen], log, files=files):
            return list(services) if loadgens < 2 or self.more_loadgens(loadgens, log) else []
        # One that cannot start keeps those from it that are started with it.
        if len(services) == 1 or (loadgen and not self.up(loadgen, log, files=files)):
            return []
        return [name for name in services if self.up([name], self.start_log(name), files=files)]

    def more_loadgens(self, count: int, log: Path) -> bool:
        """Whether there are so many, the first of which has started."""
        words = ("up", "--detach", "--no-deps", "--no-build", "--no-recreate", "--scale", f"{LOADGEN}={count}")
        return self.up([LOADGEN], log, words)

    def up(self, services: Sequence[str], log: Path, words: Sequence[str] = FRESH, files: Sequence[Path] = ()) -> bool:
        """Whether Compose has started them, each on the engine where it is."""
        parts = self._by_context(services).items()
        return all(self.up_at(context, names, log, words, files) for context, names in parts)

    def up_at(
        self, context: str, services: Sequence[str], log: Path, words: Sequence[str], files: Sequence[Path]
    ) -> bool:
        """The same on one engine."""
        done = run_compose(self.run, *words, *services, context=context, files=files, log=log, check=False)
        return not done.status

    def cgroups(self, services: Sequence[str]) -> str:
        """RUN/containers.tsv, by which `bench turns` reads the CPU time of these services and of what all of them
        ask.
        """
        names = (*services, "postgres", "upstream", *self.run.own_services)
        return "".join(f"{name}\t{self.cgroup_of(name)}\n" for name in names)

    def cgroup_of(self, service: str) -> str:
        """The folder of its CPU counters below the root that has them."""
        return counters.NOT_FOUND if self._why_not() else counters.below_root(self.pid_of(service))

    def know_containers(self) -> None:
        """RUN/containers.tsv is new."""

    def online_cpus(self) -> str:
        """All CPUs of the server's machine."""
        return ONLINE_CPUS.read_text().strip()

    def pid_of(self, service: str) -> int:
        """The first process of a service as it was started last, or of a dependency; 0 where there is none."""
        if service in self.run.dependencies and service not in self._pids:
            self.know_dependencies()
        return self._pids.get(service, 0)

    def pin(self, services: Sequence[str]) -> None:
        """As Engine has it; nothing where the engine can pin no container."""
        if "no-cpuset" in kind.kinds():
            return
        cpus = self.run.setting("SERVER_CPUS")
        self._each_context(self._ours(services), "update", "--cpuset-cpus", cpus, check=True)

    def look(self, services: Sequence[str]) -> Mapping[str, State]:
        """As Engine has it."""
        found = {name: one.state for name, one in self.facts(self._ours(services)).items()}
        return {**found, **{name: State(running=True) for name in services if self.is_target(name)}}

    def is_running(self, service: str) -> bool:
        """As Engine has it."""
        state = self.look([service]).get(service)
        return state is not None and state.running

    def state_lines(self, service: str, state: State | None = None) -> str:
        """As Engine has it."""
        if self.is_target(service):
            return target.STATE
        lines = self.counters_of(service, self.pid_of(service))
        if role_of(service) != "server":
            return lines
        state = state or self.look([service]).get(service)
        return lines + (state.lines() if state else "")

    def counters_of(self, service: str, pid: int) -> str:
        """The counters of the container whose first process this is."""
        return counters.counters(pid, self._why_not())

    def limits(self, service: str) -> str:
        """As Engine has it."""
        container, context = self.run.container(service), self.context_of(service)
        done = docker("exec", container, "sh", "-c", LIMITS, context=context, check=False)
        return done.out + ("null the container ended\n" if done.status else "")

    def file_memory(self, service: str) -> str:
        """As Engine has it."""
        return counters.file_memory(self.pid_of(service), self._why_not())

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """As Engine has it."""
        pids = {} if self._why_not() else {name: self.pid_of(name) for name in self._ours(services)}
        return freezer.served(self.run.folder, freezer.Freezer(pids, self._pause))

    def _pause(self, verb: str, service: str) -> bool:
        return not docker(verb, self.run.container(service), check=False).status

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        """As Engine has it."""
        return docker("exec", self.run.container(self._loadgen), *words, log=log, timeout=LONGEST_S, check=False)

    def client(self, number: int, words: Sequence[str], *, log: Path, folder: str) -> Done:
        """As Engine has it."""
        return docker("exec", self.run.container(LOADGEN, number), *words, log=log, timeout=LONGEST_S, check=False)

    def log(self, service: str) -> str:
        """As Engine has it."""
        if self.is_target(service):
            return ""
        with tempfile.TemporaryDirectory() as folder:
            # Both streams in one file: in the order in which they were written.
            words, context = ("logs", "--tail", "50", self.run.container(service)), self.context_of(service)
            return docker(*words, context=context, log=Path(folder, "log"), check=False).out

    def start_log(self, service: str) -> Path:
        """As Engine has it."""
        return self.run.service_folder(service) / "start.log"

    def stop(self, services: Sequence[str]) -> None:
        """As Engine has it."""
        self._each_context(self._ours(services), "rm", "--force", "--volumes", check=False)
        if self._loadgen != LOADGEN or any(map(self.is_target, services)):
            self._from_host_network()

    def check(self, step_failed: bool = False) -> None:
        """As Engine has it."""
        if step_failed and not answers():
            raise Failure(RUN, GONE)

    def address(self, service: str) -> str:
        """As Engine has it."""
        return f"{service}:8080"

    def answers_at_home(self, service: str) -> bool:
        """Never: its machine is the load generator's."""
        return False

    @contextmanager
    def on_host_network(self) -> Iterator[None]:
        """As Engine has it."""
        self._to_host_network({})
        try:
            yield
        finally:
            self._from_host_network()

    def _to_host_network(self, addresses: Mapping[str, str]) -> None:
        target.start_loadgen(self.run, addresses)
        self._loadgen = target.LOADGEN

    def _from_host_network(self) -> None:
        target.stop_loadgen(self.run)
        self._loadgen = LOADGEN

    def save_provenance(self, service: str) -> None:
        """As Engine has it."""
        provenance.save_provenance(self.run, service)

    def start_dependencies(self) -> None:
        """As Engine has it."""
        dependencies.start(self)

    def revive(self) -> tuple[str, ...]:
        """As Engine has it."""
        return dependencies.revive(self)

    def ended(self) -> tuple[str, ...]:
        """As Engine has it. Where Docker does not answer, nothing is known."""
        return tuple(name for name, one in self.look_at_dependencies().items() if not one.state.running)

    def know_dependencies(self) -> bool:
        """Looks for their processes; whether all are there."""
        return set(self.look_at_dependencies()) >= set(self.run.dependencies)

    def look_at_dependencies(self) -> dict[str, Facts]:
        """Those that are there."""
        found = self.facts(self.run.dependencies)
        self._pids.update({name: found[name].pid if name in found else 0 for name in self.run.dependencies})
        loadgen = found.get(LOADGEN)
        if loadgen and loadgen.state.running:
            self._unreadable = counters.unreadable(loadgen.id, loadgen.pid)
        return found

    def _why_not(self) -> str:
        """Why no counters of this engine's containers can be read, as the load generator's show; empty where they
        can.
        """
        self.pid_of(LOADGEN)
        return self._unreadable

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """In the load generator where that is up: to start a container costs more than most verbs. One that was
        killed with it is tried again elsewhere, but for `next`, which the loop begins again.
        """
        if self.is_running(LOADGEN):
            interactive = ["--interactive"] if stdin else []
            loadgen = self.run.container(self._loadgen)
            done = docker(
                "exec", *interactive, loadgen, "python3", "-m", "bench", *words, stdin=stdin or None, check=False
            )
            if not done.status or words[0].endswith("next") or self.is_running(LOADGEN):
                return done
        return in_tools(self.run, "python3", "-m", "bench", *words, stdin=stdin or None, check=False)

    def is_target(self, service: str) -> bool:
        """Whether it is a server that already runs: no container of this project."""
        return service in self.run.services and self.run.services[service].url is not None

    def facts(self, services: Iterable[str]) -> dict[str, Facts]:
        """Of the containers of these that are there."""
        found: dict[str, Facts] = {}
        for context, names in self._by_context(services).items():
            found.update(_look(context, [self.run.container(name) for name in names]))
        return found

    def _ours(self, services: Iterable[str]) -> list[str]:
        return [name for name in services if not self.is_target(name)]

    def _by_context(self, services: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in services:
            found.setdefault(self.context_of(name), []).append(name)
        return found

    def _each_context(self, services: Iterable[str], *words: str, check: bool) -> None:
        for context, names in self._by_context(services).items():
            docker(*words, *map(self.run.container, names), context=context, check=check)


def _look(context: str, containers: Sequence[str]) -> dict[str, Facts]:
    """By service. An engine that is away may be starting again: it is waited for, as all would seem to have ended by
    themselves. Of another machine `check` says that it is lost.
    """
    away = False
    for _ in range(AWAY_TRIES):
        done = docker("inspect", "--format", FACTS, *containers, context=context, check=False)
        if not done.status or context:
            break
        if answers():
            if not away:
                break
            away = False
        else:
            away = True
            time.sleep(AWAY_S)
    return dict(map(_facts, filter(None, done.out.splitlines())))


def _facts(line: str) -> tuple[str, Facts]:
    service, container, image, pid, running, killed, restarts, started, address = line.split("|")
    state = State(running == "true", killed == "true", int(restarts))
    return service, Facts(container, image, int(pid), state, time_ns(started), address)


def time_ns(text: str) -> int | None:
    """An engine's time (2026-01-01T00:00:00.123456789Z) since the epoch, in ns."""
    found = re.match(r"([\d-]+)[T ]([\d:]+)(?:\.(\d+))? ?(Z|[+-][\d:]+)", text)
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    whole = datetime.strptime(f"{day} {clock} {zone}", "%Y-%m-%d %H:%M:%S %z")
    return int(whole.timestamp()) * 10**9 + int((fraction or "").ljust(9, "0")[:9])
