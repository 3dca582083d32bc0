"""Engines have a run's containers; the interface, and the simplest one.

There are three: `docker-compose up bench` (below), this machine's Docker (driver/engines/local.py), and several
machines (driver/engines/nodes.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from time import monotonic, sleep

from driver.docker import LONGEST_S, DockerError, Done, run
from driver.failure import RUN, USER, Failure
from driver.messages import Step
from driver.run import Run

DATABASE, DATABASE_S, POLL_S = ("postgres", 5432), 60.0, 0.2
NO_SOCKET = "null no Docker socket is mounted: the {} of other containers cannot be read\n"


@dataclass(frozen=True)
class Container:
    """What the engine knows of a container.

    `pid`: of its first process, on its machine. `address`: HOST:PORT. `started_ns`: in ns since the epoch.
    """

    running: bool
    oom_killed: bool = False
    restarts: int = 0
    id: str = ""
    image_id: str = ""
    pid: int = 0
    started_ns: int | None = None
    address: str = ""

    def lines(self) -> str:
        """Its state, as lines of a raw file."""
        facts = {"running": self.running, "oom_killed": self.oom_killed, "restarts": self.restarts}
        return "".join(f"{name} {value}\n".lower() for name, value in facts.items())


@dataclass(frozen=True)
class End:
    """How a container ended: when, its exit status (137: killed), and when it was told to, if known.

    Times are in ns since the epoch.
    """

    at_ns: int | None
    code: int
    told_ns: int | None = None


class Engine:
    """Calls return when the work is done, or raise DockerError.

    This one is in the container `bench` of `docker-compose up bench`, which starts all containers beside it: Compose
    has pinned them, and restarts those that end. Without a Docker socket, containers are not fresh for each step and
    their memory is null, with the reason. CPU time of services that take turns comes from the host's cgroup file
    system, mounted read-only (bench/load/cpu_counters.py).
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def start(self, step: Step, loadgen: bool = False) -> dict[str, Container]:
        """Starts fresh containers of the step's services, and of the load generator if `loadgen`; those that are up.

        If one of several services does not start, the others do; if the step as a whole cannot be started, none is up.
        `start_log` says why one did not start.
        """
        return dict(self.look(step.services))

    def start_log(self, service: str) -> Path:
        """The file with the output of starting the service."""
        return self.run.service_folder(service) / "start.log"

    def pin(self, services: Sequence[str]) -> None:
        """Restricts the services to the server's CPUs."""

    @property
    def cannot_act(self) -> str:
        """Why events on services are impossible with this engine; empty if they are possible (with LocalDocker)."""
        return "this engine cannot send signals to a service"

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """While this is open, the load generator can have services frozen at the end of their turns.

        Without a freezer, load tools must end within the turn.
        """
        return nullcontext()

    def stop(self, services: Sequence[str]) -> None:
        """Removes their containers."""

    def look(self, services: Sequence[str]) -> Mapping[str, Container]:
        """Containers, all read in one go; without those that are gone. Targets (--target) count as running."""
        return dict.fromkeys(services, Container(running=True))

    def is_running(self, service: str) -> bool:
        """Whether its container still runs."""
        container = self.look([service]).get(service)
        return container is not None and container.running

    def state_lines(self, service: str, container: Container | None = None) -> str:
        """Counters and state as lines of a raw file; for a dependency only the counters.

        `container`: the result of `look`, if already known.
        """
        return NO_SOCKET.format("counters")

    def limits(self, service: str) -> str:
        """The limits in effect inside the container, as lines."""
        return NO_SOCKET.format("limits")

    def in_service(self, service: str, words: Sequence[str]) -> Done:
        """Runs a command in the service's container, for 20 s at most."""
        raise DockerError("this engine cannot run commands in a service")

    def save_provenance(self, service: str) -> None:
        """Saves what the image is made of; Failure if the image of a resumed run has changed."""

    def log(self, service: str) -> str:
        """The last lines of its container."""
        return f"see: docker-compose logs {service}\n"

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        """Runs a command in the load generator's container; the caller checks its status.

        `folder`: its working folder below the run's. If the load generator is on another machine, the engine sends the
        command's input there and fetches its output.
        """
        return run(words, log=log, timeout=LONGEST_S, check=False)

    def on_host_network(self) -> AbstractContextManager[None]:
        """While this is open, `in_loadgen` uses a load generator on the host's network, to reach targets."""
        return nullcontext()

    def address(self, service: str) -> str:
        """HOST:PORT at which the load generator reaches the service."""
        return f"{service}:8080"

    def answers_at_home(self, service: str) -> bool:
        """Whether a service that the load generator cannot reach answers on its own machine; False on one machine."""
        return False

    def check(self, step_failed: bool = False) -> None:
        """Failure if a machine of the run does not answer, so that no service is blamed for it.

        `step_failed`: the step ended with a DockerError; only then this machine's engine is asked too.
        """

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """Runs `python3 -m bench WORDS` where it sees the run's folder as results/RUN; the caller checks its status."""
        return run(["python3", "-m", "bench", *words], stdin=stdin or None, check=False)

    def told(self, *words: str, stdin: bytes = b"") -> str:
        """What `bench` prints; Failure with its last line if it fails."""
        done = self.bench(*words, stdin=stdin)
        if done.status:
            raise Failure(USER if done.status == USER else RUN, done.last_line)
        return done.out

    def start_bench(self, *words: str) -> Callable[[str], Done]:
        """As `bench`, but may start it now: calling the result passes standard input and waits for the end."""
        return lambda stdin: self.bench(*words, stdin=stdin.encode())

    def start_dependencies(self) -> None:
        """Starts database, upstream, load generator and the user's own services, and waits until they are ready."""
        end = monotonic() + DATABASE_S
        while True:
            try:
                create_connection(DATABASE, timeout=1).close()
                return
            except OSError as error:
                if monotonic() > end:
                    words = f"the database does not answer ({error}): docker-compose logs postgres"
                    raise Failure(RUN, words) from None
                sleep(POLL_S)

    def restore(self) -> None:
        """Gives the database its first rows again, while no service is up."""

    def revive(self) -> tuple[str, ...]:
        """Restarts dependencies that have ended; returns their names."""
        return ()

    def ended(self) -> tuple[str, ...]:
        """Dependencies that have ended."""
        return ()


def is_composed() -> bool:
    """Whether `docker-compose up bench` has started all containers."""
    return os.environ.get("BENCH_ENGINE") == "composed"
