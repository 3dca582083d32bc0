"""What the verbs ask of an engine, which runs a run's containers.

There are three: this machine's Docker (driver/engines/local.py), several machines (driver/engines/nodes.py), and
`docker-compose up bench`, where all containers are up and there is no Docker socket (driver/engines/composed.py).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driver.docker import DockerError, Done
from driver.nodes.node import NODES
from driver.processes import Processes
from driver.run import Run


@dataclass(frozen=True)
class State:
    """The state of a container."""

    running: bool
    oom_killed: bool = False
    restarts: int = 0

    def lines(self) -> str:
        """Lines of a raw file."""
        words = {True: "true", False: "false"}
        return f"running {words[self.running]}\noom_killed {words[self.oom_killed]}\nrestarts {self.restarts}\n"


@dataclass(frozen=True)
class Container:
    """One of several containers of a service: its HOST:PORT, and its first process as its machine numbers it."""

    address: str
    pid: int


@dataclass(frozen=True)
class End:
    """How a container ended: when, in ns since the epoch, and with which status (137: it was killed)."""

    at_ns: int | None
    code: int


@dataclass
class Started:
    """The containers of a step, by service. Why one did not start is in the engine's `start_log`."""

    up: list[str] = field(default_factory=list)
    image_id: dict[str, str] = field(default_factory=dict)
    started_ns: dict[str, int | None] = field(default_factory=dict)


class Engine(ABC):
    """Calls return when the work is done, and raise DockerError if it cannot be.

    Those with a body here are of an engine that has started everything, on one machine.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @abstractmethod
    def start(
        self,
        services: Sequence[str],
        *,
        loadgens: int = 0,
        any_cpu: bool = False,
        host_network: bool = False,
        environment: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Started:
        """Starts fresh containers of the services and `loadgens` load generators (0: keeps the one that is up).

        `any_cpu`: they may use every CPU until `pin`, so that they start quickly. `host_network`: the load generator is
        on the host's network. `environment`: what a service is given besides its own. If one of several services
        does not start, the others do; if the step as a whole cannot be started, none is `up`.
        """

    def start_log(self, service: str) -> Path:
        """The file with the output of starting it."""
        return self.run.service_folder(service) / "start.log"

    def pin(self, services: Sequence[str]) -> None:
        """Restricts them to the server's CPUs."""

    @property
    def cannot_act(self) -> str:
        """Why nothing can be done to a service under load, as its signals and processes are out of reach."""
        return "this engine cannot send signals to a service"

    def processes(self, service: str) -> Processes:
        """Its processes now."""
        raise DockerError(self.cannot_act)

    def usage(self, service: str) -> tuple[int | None, int | None]:
        """Its CPU time so far in ns, and its memory now in bytes; None where that cannot be read."""
        return None, None

    def descriptors(self, service: str) -> int | None:
        """How many file descriptors its processes have open; None where they cannot be counted."""
        return None

    def signal(self, service: str, signal: str, pid: int) -> int | None:
        """Sends a signal to a process of its container; DockerError where that fails.

        The result is when it was sent, in ns since the epoch; None where that is not known.
        """
        raise DockerError(self.cannot_act)

    def do_to_dependency(self, name: str, verb: str) -> str:
        """What driver/engines/dependencies.py can do to a dependency; what is seen of it then."""
        raise DockerError(self.cannot_act)

    def connections(self) -> Mapping[str, tuple[int, int]]:
        """Connections to the database from each address, and how many of them are in use, as the database says."""
        raise DockerError(self.cannot_act)

    def ip_of(self, service: str) -> str:
        """The address from which it connects to dependencies."""
        raise DockerError(self.cannot_act)

    def double(self, service: str) -> None:
        """Starts a second container of it beside the first; both have addresses that they keep if started again."""
        raise DockerError(self.cannot_act)

    def container_facts(self, service: str, number: int) -> Container:
        """Where its container of this number is."""
        raise DockerError(self.cannot_act)

    def stop_container(self, service: str, number: int) -> End:
        """Ends one of its containers as Docker does: SIGTERM, and SIGKILL after 10 s."""
        raise DockerError(self.cannot_act)

    def start_container(self, service: str, number: int) -> None:
        """Starts one that has ended."""
        raise DockerError(self.cannot_act)

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """While this is open, the load generator can have services frozen; else load tools end within their turn."""
        return nullcontext()

    def stop(self, services: Sequence[str]) -> None:
        """Removes their containers."""

    @abstractmethod
    def look(self, services: Sequence[str]) -> Mapping[str, State]:
        """States, read at once; a container that is gone is left out. Targets (--target) count as running."""

    def is_running(self, service: str) -> bool:
        """Whether its container still runs."""
        state = self.look([service]).get(service)
        return state is not None and state.running

    @abstractmethod
    def state_lines(self, service: str, state: State | None = None) -> str:
        """Counters and state as lines of a raw file; of a dependency the counters alone.

        `state`: the result of `look`, if it is known.
        """

    @abstractmethod
    def limits(self, service: str) -> str:
        """The limits in effect inside the container, as lines."""

    @abstractmethod
    def command(self, service: str) -> Mapping[str, Any]:
        """command.json: the `argv` that serves and its `environment` of knobs, or why they are `missing`."""

    def file_memory(self, service: str) -> str:
        """A line with the size of the container's page cache; empty if unknown."""
        return ""

    def save_provenance(self, service: str) -> None:
        """Saves what the image is made of; Failure if a resumed run finds another image than the one it began with."""

    @abstractmethod
    def log(self, service: str) -> str:
        """The last lines of its container."""

    @abstractmethod
    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "", number: int = 1) -> Done:
        """Runs a command in the load generator's container; the caller checks its status.

        `folder`: its working folder below the run's. If the load generator is on another machine, the engine sends the
        command's input there and fetches what it has written. `number`: which of several load generators.
        """

    def on_host_network(self) -> AbstractContextManager[None]:
        """While this is open, `in_loadgen` uses a load generator on the host's network, which reaches targets."""
        return nullcontext()

    def address(self, service: str) -> str:
        """HOST:PORT at which the load generator reaches it."""
        return f"{service}:8080"

    def answers_at_home(self, service: str) -> bool:
        """Whether a service that did not answer the load generator answers on its own machine, if that is another."""
        return False

    def check(self, step_failed: bool = False) -> None:
        """Failure if a machine of the run does not answer, so that no service is blamed for it.

        `step_failed`: the step ended with a DockerError; only then is this machine's engine asked too.
        """

    @abstractmethod
    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """Runs `python3 -m bench WORDS`, where results/RUN is the run's folder; the caller checks its status."""

    def start_bench(self, *words: str) -> Callable[[str], Done]:
        """The same, started now, where it can be: it reads its standard input, with which the result is called."""
        return lambda stdin: self.bench(*words, stdin=stdin.encode())

    def start_dependencies(self) -> None:
        """Starts database, upstream, load generator and a user's own services, and waits until they are ready."""

    def revive(self) -> tuple[str, ...]:
        """Restarts dependencies that have ended; returns their names."""
        return ()

    def ended(self) -> tuple[str, ...]:
        """Dependencies that have ended."""
        return ()


def is_composed() -> bool:
    """Whether `docker-compose up bench` has started all containers."""
    return os.environ.get("BENCH_ENGINE") == "composed"


def engine_of(run: Run) -> Engine:
    """The environment says whether this is `docker-compose up bench`; a run on several machines has a file of them."""
    if is_composed():
        from driver.engines.composed import Composed

        return Composed(run)
    if (run.lane_folder / NODES).exists():
        from driver.engines.nodes import Nodes

        return Nodes(run)
    from driver.engines.local import LocalDocker

    return LocalDocker(run)
