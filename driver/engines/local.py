"""The engine of a run on this machine: its Docker, with fresh containers for every measurement."""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from driver import counters
from driver.compose import FILE, FRESH, TOOLS, in_tools, run_compose, tools_words
from driver.docker import (
    CONFINED,
    ENGINE_GONE,
    LONGEST_S,
    DockerError,
    Done,
    answers,
    docker,
    kinds,
    results_user,
    start_docker,
    time_ns,
)
from driver.engines import dead_runs, dependencies, freezer
from driver.engines.engine import Container, End, Engine
from driver.engines.provenance import save_provenance
from driver.failure import RUN, USER, Failure, warn
from driver.files import last_line, save
from driver.messages import Step
from driver.nodes.node import role_of
from driver.processes import Processes, all_pids, processes_of
from driver.run import PROJECT, Run

LOADGEN, DATABASE = "loadgen", "postgres"
HOST_LOADGEN = "loadgen-host"
"""The load generator on the host's network, for servers that already run (--target)."""
AWAY_TRIES, AWAY_S = 40, 0.5
FACTS = (
    '{{index .Config.Labels "com.docker.compose.service"}}|{{.State.Running}}|{{.State.OOMKilled}}|{{.RestartCount}}'
    "|{{.Id}}|{{.Image}}|{{.State.Pid}}|{{.State.StartedAt}}|{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
)
"""All facts that are needed about containers, so that one command (30 ms) serves several callers."""
LIMITS = 'echo "nofile $(ulimit -n)"; echo "net.core.somaxconn $(cat /proc/sys/net/core/somaxconn)"'
DESCRIPTORS = 'for pid; do ls "/proc/$pid/fd" 2>/dev/null || [ ! -e "/proc/$pid" ] || echo unreadable; done'
"""Prints the open file descriptors of the given processes, one per line."""
TRIES, WAIT_S = 100, 0.1
CONTAINERS = 2
"""How many containers a service behind a proxy has."""
TARGET = Container(running=True)


class LocalDocker(Engine):
    """Runs Compose on the run's resolved file. Caches process ids: it lives for one verb."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._loadgen = LOADGEN
        self._pids: dict[str, int] = {}
        self._unreadable = ""
        self._fixed: list[str] = []
        """Services with two containers at fixed addresses."""
        self._copies: Mapping[str, str] = {}
        """Further containers of a service in a step, by name: the service."""
        self._had_ended = set[str]()
        """Dependencies that had ended before an event could stop or pause them: its later start would hide that."""

    def context_of(self, service: str) -> str:
        """The Docker context of the service's machine; empty for this one."""
        return ""

    def start(self, step: Step, loadgen: bool = False) -> dict[str, Container]:
        ours = self._ours(step.services)
        targets = [name for name in step.services if name not in ours]
        self._copies = step.copies
        if loadgen:
            self.before_load()
        up = self._fresh(step, ours, [LOADGEN] if loadgen else []) if ours else []
        if not up and not targets:
            return {}
        facts = self.facts(up)
        self._know(ours, facts)
        if step.any_cpu:
            self.save_cgroups(ours)
        if targets or step.host_network:
            try:
                self._to_host_network(facts)
            except DockerError:
                return {}
        return {**facts, **dict.fromkeys(targets, TARGET)}

    def before_load(self) -> None:
        """Failure if the counters cannot be read."""

    def _fresh(self, step: Step, services: Sequence[str], loadgen: Sequence[str]) -> list[str]:
        """Starts services of the step and the load generator; returns the services that are up."""
        more = {"cpuset": self.read("online-cpus", services[0])} if step.any_cpu else {}
        changed = {name: {**more, **self._changes(step, name)} for name in services}
        files = [self.run.lane_folder / "block.yml"] if any(changed.values()) else []
        if files:
            save(files[0], json.dumps({"services": changed}) + "\n")
        log = self.start_log(services[0])
        if self.up([*services, *loadgen], log, files=files):
            return list(services)
        # One service that cannot start makes Compose fail for all, so start each by itself.
        if len(services) == 1 or (loadgen and not self.up(loadgen, log, files=files)):
            return []
        return [name for name in services if self.up([name], self.start_log(name), files=files)]

    def _changes(self, step: Step, name: str) -> dict[str, Any]:
        """What Compose needs to know of a service in this step: what it is a copy of, and its event's variables."""
        service, changes = self._copies.get(name, name), dict[str, Any]()
        if name in self._copies:
            changes["extends"] = {"file": str(self.run.lane_folder / FILE), "service": service}
        event = step.events.get(name)
        if event and event.environment:
            # Variables set by --vary take precedence.
            settings = self.run.services[service].settings if service in self.run.services else ""
            varied = {setting.partition("=")[0] for setting in shlex.split(settings)}
            given = {variable: value for variable, value in event.environment.items() if variable not in varied}
            changes["environment"] = given
        return changes

    def up(self, services: Sequence[str], log: Path, words: Sequence[str] = FRESH, files: Sequence[Path] = ()) -> bool:
        """Starts services, each on its own machine; whether Compose succeeded."""
        parts = self._by_context(services).items()
        return all(self.up_at(context, names, log, words, files) for context, names in parts)

    def up_at(
        self, context: str, services: Sequence[str], log: Path, words: Sequence[str], files: Sequence[Path]
    ) -> bool:
        """As `up`, on one machine."""
        done = run_compose(self.run, *words, *services, context=context, files=files, log=log, check=False)
        return not done.status

    def save_cgroups(self, services: Sequence[str]) -> str:
        """Writes RUN/containers.json: where the load generator reads the CPU time of what is running."""
        names = (*services, "postgres", "upstream", *self.run.own_services)
        text = json.dumps({name: self.cgroup_of(name) for name in names if self.pid_of(name)})
        save(self.run.lane_folder / "containers.json", text)
        return text

    def cgroup_of(self, service: str) -> list[str]:
        """The service's cgroup as a path below the root of the CPU counters."""
        return [self.read("below-root", service)]

    def read(self, what: str, service: str) -> str:
        """One of counters.READINGS for the service's container, on its machine."""
        return counters.READINGS[what](self.pid_of(service), self._why_not())

    def _know(self, services: Sequence[str], facts: Mapping[str, Container]) -> None:
        self._pids.update({name: facts[name].pid if name in facts else 0 for name in services})

    def pid_of(self, service: str) -> int:
        """The pid of the first process of a service or dependency; 0 if there is none."""
        if service in self.run.dependencies and service not in self._pids:
            self.know_dependencies()
        return self._pids.get(service, 0)

    def pin(self, services: Sequence[str]) -> None:
        """Does nothing where the engine ignores CPU sets."""
        if "no-cpuset" in kinds():
            return
        cpus = self.run.setting("SERVER_CPUS")
        self._each_context(self._ours(services), "update", "--cpuset-cpus", cpus, check=True)
        for name in self._fixed:
            container, context = self.run.container(name, CONTAINERS), self.context_of(name)
            docker("update", "--cpuset-cpus", cpus, container, context=context)

    def look(self, services: Sequence[str]) -> Mapping[str, Container]:
        targets = [name for name in services if name in self.run.targets]
        return {**self.facts(self._ours(services)), **dict.fromkeys(targets, TARGET)}

    def state_lines(self, service: str, container: Container | None = None) -> str:
        if service in self.run.targets:
            return "null no counters: not a container of this project\n"
        lines = self.read("counters", service)
        if role_of(service) != "server":
            return lines
        container = container or self.look([service]).get(service)
        return lines + (container.lines() if container else "")

    def limits(self, service: str) -> str:
        try:
            done = self.in_service(service, ("sh", "-c", LIMITS))
        except DockerError as error:
            return f"null {error}\n"
        return done.out + ("null the container ended\n" if done.status else "")

    def in_service(self, service: str, words: Sequence[str]) -> Done:
        words = ("exec", self.run.container(service), *words)
        return docker(*words, context=self.context_of(service), check=False, timeout=20)

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        pids = {} if self._why_not() else {name: self.pid_of(name) for name in self._ours(services)}
        return freezer.served(self.run.folder, freezer.Freezer(pids, self._pause))

    @property
    def cannot_act(self) -> str:
        return f"{why}: its processes cannot be seen" if (why := self._why_not()) else ""

    def processes(self, service: str) -> Processes:
        """Its processes now."""
        return processes_of(self.pid_of(service))

    def usage(self, service: str) -> tuple[int | None, int | None]:
        """Its CPU time so far in ns, and its memory now in bytes; None if unreadable."""
        return counters.usage(self.pid_of(service))

    def oom_kills(self, service: str) -> int | None:
        """How many of its processes the kernel has killed for lack of memory; None if unknown."""
        return counters.oom_kills(self.pid_of(service))

    def descriptors(self, service: str) -> int | None:
        """How many file descriptors its processes have open; None if they cannot be counted."""
        # From inside the container, for the same reason as in `signal`.
        if not (pids := all_pids(self.pid_of(service))):
            return None
        found = self.in_service(service, ("sh", "-c", DESCRIPTORS, "sh", *map(str, pids))).out.split()
        return len(found) if found and all(map(str.isdecimal, found)) else None

    def signal(self, service: str, signal: str, *pids: int, number: int = 1) -> int | None:
        """Sends a signal to processes of a container of the service; DockerError if that fails.

        Returns when it was sent, in ns since the epoch; None if unknown.
        """
        # From inside the container: a user who may call Docker need not own the service's processes. The command takes
        # longer than many requests, so it prints itself when it sends the signal. A `date` without %N prints no number.
        container, context = self.run.container(service, number), self.context_of(service)
        words = ("exec", container, "sh", "-c", 'date +%s%N; kill "$@"', "sh", f"-{signal}", *map(str, pids))
        done = docker(*words, context=context, timeout=20, check=False)
        sent_at = done.out.strip()
        # When the main process ends at once, the kernel kills the others of its container (137), this command too.
        if done.status and not (sent_at and done.status == 137):
            raise DockerError(done.last_line or f"SIG{signal} was not sent")
        return int(sent_at) if sent_at.isdigit() else None

    def do_to_dependency(self, name: str, verb: str) -> str:
        """Applies a verb of driver/engines/dependencies.py to a dependency; returns its new state."""
        if verb in ("stop", "pause") and name in self.ended():
            self._had_ended.add(name)
        seen = dependencies.do(verb, self.run.container(name), self.context_of(name))
        if verb == "start":
            self.know_dependencies()
        return seen

    def ip_of(self, service: str) -> str:
        """The address from which the service connects to dependencies."""
        return self.container_facts(service, 1).address.rpartition(":")[0]

    def connections(self) -> Mapping[str, tuple[int, int]]:
        """(connections to the database, how many of them are in use) by client address."""
        return dependencies.connections(self.run.container(DATABASE), self.context_of(DATABASE))

    def double(self, service: str) -> None:
        """Starts a second container of the service; both get addresses that they keep when started again."""
        log, block = self.start_log(service), self.run.lane_folder / "block.yml"
        words = ("up", "--detach", "--no-deps", "--no-build", "--no-recreate", "--scale", f"{service}={CONTAINERS}")
        context = self.context_of(service)
        try:
            if not self.up([service], log, words, [block] if block.exists() else []):
                raise DockerError(f"a second container does not start: {last_line(log)}")
            self._fix_addresses(service, context)
        except DockerError:
            # What is left of the two would take addresses of the next service, and CPU time beside it.
            names = [self.run.container(service, number) for number in range(1, CONTAINERS + 1)]
            docker("rm", "--force", "--volumes", *names, context=context, check=False)
            raise
        self._fixed.append(service)

    def _fix_addresses(self, service: str, context: str) -> None:
        """Gives both containers addresses that they keep while they are stopped, when Docker would reuse theirs."""
        network, subnet = f"{self.run.project}_bench", IPv4Network(self.run.setting("BENCH_SUBNET"), strict=False)
        for number in range(1, CONTAINERS + 1):
            # Docker assigns the lowest free address, so the upper half of the subnet is safe.
            at = subnet.num_addresses // 2 + CONTAINERS * len(self._fixed) + number
            if at >= subnet.num_addresses - 1:
                raise DockerError(f"BENCH_SUBNET={subnet} has too few addresses for two containers of each service")
            name = self.run.container(service, number)
            docker("network", "disconnect", network, name, context=context)
            docker("network", "connect", "--ip", str(subnet[at]), "--alias", service, network, name, context=context)

    def container_facts(self, service: str, number: int) -> Container:
        """The address and first process of the service's container with this number."""
        for container in _look(self.context_of(service), [self.run.container(service, number)]).values():
            return container
        raise DockerError(f"container {number} of {service} is gone")

    def stop_container(self, service: str, number: int, grace_s: float, every_process: bool) -> End:
        """Stops one of its containers: SIGTERM to its main process or to all, and SIGKILL after `grace_s`."""
        name, context = self.run.container(service, number), self.context_of(service)
        told_ns, stop = None, ["stop", "-t", f"{grace_s:.0f}"]
        if every_process:
            # -1: every process of the container except the main one and the one that calls `kill`.
            told_ns = self.signal(service, "TERM", 1, -1, number=number)
            # They have their SIGTERM: some servers end at once at a second one. SIGCONT changes nothing.
            stop += ["--signal", "CONT"]
        docker(*stop, name, context=context)
        told = docker("inspect", "--format", "{{.State.FinishedAt}}|{{.State.ExitCode}}", name, context=context).out
        at, _, code = told.strip().partition("|")
        return End(time_ns(at), int(code), told_ns)

    def start_container(self, service: str, number: int) -> None:
        """Starts a stopped container of the service again."""
        docker("start", self.run.container(service, number), context=self.context_of(service))
        if number == 1:
            self._pids[service] = self.container_facts(service, 1).pid

    def _pause(self, verb: str, service: str) -> bool:
        return not docker(verb, self.run.container(service), check=False).status

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        return docker("exec", self.run.container(self._loadgen), *words, log=log, timeout=LONGEST_S, check=False)

    def log(self, service: str) -> str:
        if service in self.run.targets:
            return ""
        with tempfile.TemporaryDirectory() as folder:
            # Writing both streams into one file keeps their order.
            words, context = ("logs", "--tail", "50", self.run.container(service)), self.context_of(service)
            return docker(*words, context=context, log=Path(folder, "log"), check=False).out

    def stop(self, services: Sequence[str]) -> None:
        self._each_context(self._ours(services), "rm", "--force", "--volumes", check=False)
        for name in self._fixed:
            docker("rm", "--force", self.run.container(name, CONTAINERS), context=self.context_of(name), check=False)
        self._fixed.clear()
        if self._loadgen != LOADGEN or any(name in self.run.targets for name in services):
            self._from_host_network()

    def check(self, step_failed: bool = False) -> None:
        if step_failed and not answers():
            raise Failure(RUN, ENGINE_GONE)

    @contextmanager
    def on_host_network(self) -> Iterator[None]:
        self._to_host_network({})
        try:
            yield
        finally:
            self._from_host_network()

    def _to_host_network(self, services: Mapping[str, Container]) -> None:
        """Starts one with the rights and limits of the regular load generator, which knows these services by name."""
        run, log = self.run, self.run.folder / "start-loadgen.log"
        stop_host_loadgen(run)
        argv = ["run", "--detach", "--name", run.container(HOST_LOADGEN), "--network", "host"]
        for name, container in services.items():
            argv += ["--add-host", f"{name}:{container.address.partition(':')[0]}"]
        argv += ["--init", *CONFINED, "--tmpfs", "/tmp:mode=1777", "--memory", "2g"]
        argv += ["--ulimit", f"nofile={run.setting('NOFILE')}", "--cpuset-cpus", run.setting("LOADGEN_CPUS")]
        argv += ["--user", results_user(), "--workdir", "/bench"]
        argv += ["--label", run.label, "--label", f"{PROJECT}.working_dir={run.folder}"]
        argv += ["--volume", f"{run.root}:/bench:ro", "--volume", f"{run.root}/results:/bench/results"]
        argv += ["--volume", "/sys/fs/cgroup:/host/cgroup:ro", TOOLS, "sleep", "infinity"]
        if docker(*argv, log=log, check=False).status:
            raise DockerError(f"the load generator does not start in the host's network: {last_line(log)}")
        self._loadgen = HOST_LOADGEN

    def _from_host_network(self) -> None:
        stop_host_loadgen(self.run)
        self._loadgen = LOADGEN

    def save_provenance(self, service: str) -> None:
        save_provenance(self.run, service)

    def start_dependencies(self) -> None:
        """Starts them and waits for the database's rows; Failure if that does not succeed."""
        run, log = self.run, self.run.lane_folder / "start.log"
        # A run that was killed during an event may have left one of them paused.
        self._each_context(run.dependencies, "unpause", check=False)
        up = self._up_dependencies()
        # Dead runs may have the subnet.
        if not up and not (subnet_taken(run) and dead_runs.remove_dead_runs() and self._up_dependencies()):
            if taken := subnet_taken(run):
                where = f"the subnet {run.setting('BENCH_SUBNET')} is in use by Docker's network {taken} (another run?)"
                raise Failure(USER, f"{where}: end that, or set BENCH_SUBNET in .env for a new run")
            raise Failure(RUN, f"the database, upstream or load generator does not start: {last_line(log)}")
        for attempt in range(1, TRIES + 1):
            if self._database_ready() and self.know_dependencies():
                return
            time.sleep(WAIT_S)
            # One may have been killed during its start.
            if attempt % 10 == 0 and self.ended():
                self._up_dependencies()
        words = self.log("postgres").strip().rpartition("\n")[2] or "its container is gone"
        raise Failure(RUN, f"the database has no rows after {TRIES * WAIT_S:g} s: {words}")

    def _up_dependencies(self) -> bool:
        return self.up(self.run.dependencies, self.run.lane_folder / "start.log", ("up", "--detach", "--no-build"))

    def _database_ready(self) -> bool:
        """Whether the database has its rows. A user's own database is not waited for here."""
        if "postgres" not in self.run.dependencies:
            return True
        ready = ("exec", self.run.container("postgres"), "/usr/local/bin/ready")
        return not docker(*ready, context=self.context_of("postgres"), check=False).status

    def restore(self) -> None:
        words = ("exec", self.run.container(DATABASE), "/usr/local/bin/restore")
        if DATABASE in self.run.dependencies and docker(*words, context=self.context_of(DATABASE), check=False).status:
            # A new container has the rows too.
            self.up([DATABASE], self.run.lane_folder / "start.log")
            self.start_dependencies()

    def revive(self) -> tuple[str, ...]:
        if ended := self.ended():
            warn(f"{' '.join(ended)} ended during the run: started again")
            self.start_dependencies()
        return ended

    def ended(self) -> tuple[str, ...]:
        """Empty while Docker does not answer."""
        found = self.look_at_dependencies().items()
        return tuple(name for name, one in found if not one.running or name in self._had_ended)

    def know_dependencies(self) -> bool:
        """Looks up the processes of all dependencies; whether all exist."""
        return set(self.look_at_dependencies()) >= set(self.run.dependencies)

    def look_at_dependencies(self) -> dict[str, Container]:
        """The dependencies that exist."""
        facts = self.facts(self.run.dependencies)
        self._know(self.run.dependencies, facts)
        loadgen = facts.get(LOADGEN)
        if loadgen and loadgen.running:
            self._unreadable = counters.unreadable(loadgen.id, loadgen.pid)
        return facts

    def _why_not(self) -> str:
        """Why this engine's counters cannot be read, judged by the load generator's; empty if they can."""
        self.pid_of(LOADGEN)
        return self._unreadable

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """Runs in the load generator if it is up, because starting a container takes longer than most verbs.

        If the load generator is killed meanwhile, the verb runs again in a container of its own; except for `next`,
        because the loop then has to start anew (driver/steps/next.py).
        """
        if self.is_running(LOADGEN):
            argv = ("exec", "--interactive", self.run.container(self._loadgen), "python3", "-m", "bench", *words)
            done = docker(*argv, stdin=stdin or None, check=False)
            if not done.status or words[0].endswith("next") or self.is_running(LOADGEN):
                return done
        return in_tools(self.run, "python3", "-m", "bench", *words, stdin=stdin or None, check=False)

    def start_bench(self, *words: str) -> Callable[[str], Done]:
        # Not in the load generator on the host's network: that ends with its step.
        argv = ("python3", "-m", "bench", *words)
        if self.is_running(LOADGEN):
            return start_docker("exec", "--interactive", self.run.container(LOADGEN), *argv)
        return start_docker(*tools_words(self.run, *argv))

    def facts(self, services: Iterable[str]) -> dict[str, Container]:
        """Their existing containers, by service."""
        facts: dict[str, Container] = {}
        for context, names in self._by_context(services).items():
            facts.update(_look(context, [self.run.container(name) for name in names]))
        return facts

    def _ours(self, services: Iterable[str]) -> list[str]:
        return [name for name in services if name not in self.run.targets]

    def _by_context(self, services: Iterable[str]) -> dict[str, list[str]]:
        by_context: dict[str, list[str]] = {}
        for name in services:
            by_context.setdefault(self.context_of(name), []).append(name)
        return by_context

    def _each_context(self, services: Iterable[str], *words: str, check: bool) -> None:
        for context, names in self._by_context(services).items():
            docker(*words, *map(self.run.container, names), context=context, check=check)


def _look(context: str, containers: Sequence[str]) -> dict[str, Container]:
    """Those that exist, by service.

    Waits for this machine's engine if it does not answer, because it may be restarting; otherwise all containers would
    seem to have ended. For other machines, `check` reports a lost one.
    """
    away = False
    for _ in range(AWAY_TRIES):
        done = docker("inspect", "--format", FACTS, *containers, context=context, check=False)
        if not done.status or context:
            break
        here = answers()
        if here and not away:
            break
        away = not here
        time.sleep(AWAY_S if away else 0)
    return dict(map(_facts, filter(None, done.out.splitlines())))


def _facts(line: str) -> tuple[str, Container]:
    service, running, killed, restarts, container, image, pid, started, ip = line.split("|")
    states = running == "true", killed == "true", int(restarts)
    return service, Container(*states, container, image, int(pid), time_ns(started), f"{ip}:8080")


def stop_host_loadgen(run: Run) -> None:
    """Removes the load generator on the host's network, if there is one."""
    docker("rm", "--force", "--volumes", run.container(HOST_LOADGEN), check=False)


def subnet_taken(run: Run) -> str:
    """Names of other networks that overlap with this run's subnet; empty if there are none."""
    names = docker("network", "ls", "--format", "{{.Name}}").out.split()
    # No check: a network may be gone by now.
    networks = json.loads(docker("network", "inspect", *names, check=False).out or "[]")
    others = (one for one in networks if (one.get("Labels") or {}).get(PROJECT) != run.project)
    with suppress(ValueError):
        wanted = IPv4Network(run.setting("BENCH_SUBNET"), strict=False)
        return ", ".join(network["Name"] for network in others if any(map(wanted.overlaps, _subnets(network))))
    return ""


def _subnets(network: Mapping[str, Any]) -> Iterator[IPv4Network]:
    for config in network["IPAM"].get("Config") or ():
        if "." in config.get("Subnet", ""):
            yield IPv4Network(config["Subnet"], strict=False)
