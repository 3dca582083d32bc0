"""Where the containers of a run are. Three kinds: this machine's Docker (driver/local.py), inside `docker-compose up
bench`, where all containers are up and there is no Docker socket (driver/composed.py), and several machines
(driver/nodes.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from driver.docker import Done
from driver.run import Run


@dataclass(frozen=True)
class State:
    """How a container is."""

    running: bool
    oom_killed: bool = False
    restarts: int = 0

    def lines(self) -> str:
        """As the raw files have it."""
        words = {True: "true", False: "false"}
        return f"running {words[self.running]}\noom_killed {words[self.oom_killed]}\nrestarts {self.restarts}\n"


@dataclass
class Started:
    """The containers of a step, by service. Of one that did not start, `start_log` of the engine has the reason."""

    up: list[str] = field(default_factory=list)
    image_id: dict[str, str] = field(default_factory=dict)
    started_ns: dict[str, int | None] = field(default_factory=dict)


class Engine(Protocol):
    """What the verbs ask of it. Each call returns when it is done, and raises DockerError where it cannot be."""

    run: Run

    def start(
        self, services: Sequence[str], *, loadgens: int = 0, any_cpu: bool = False, host_network: bool = False
    ) -> Started:
        """Fresh containers of them, and of so many load generators (0: the one that is up stays).

        `any_cpu`: until they are pinned they may use every CPU, as while they import their modules. With several
        services, one that cannot start keeps no other from it. `host_network`: the load comes from the host's
        network. Where the step as a whole cannot be started, none of them is `up`.
        """

    def pin(self, services: Sequence[str]) -> None:
        """From now on each uses only the CPUs of the server."""

    def look(self, services: Sequence[str]) -> Mapping[str, State]:
        """How their containers are, by one look for all; one that is gone is left out. Targets are running."""

    def is_running(self, service: str) -> bool:
        """Whether its container still runs."""

    def state_lines(self, service: str, state: State | None = None) -> str:
        """Its counters and how its container is, as lines of a raw file: of the service as it was started last, or of a
        dependency (counters alone). `state`: what `look` has said of it, which saves asking again.
        """

    def limits(self, service: str) -> str:
        """What the service may really use, read inside it, as lines."""

    def file_memory(self, service: str) -> str:
        """A line with the bytes of files that its container has in memory; empty where unknown."""

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """While this is open, the load generator may ask for services to be frozen."""

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        """A command in the load generator's container; its status is the caller's to judge.

        `folder`, below the run's folder: where it works, so that an engine whose load generator is on another machine
        sends what it needs there and brings home what it has written.
        """

    def client(self, number: int, words: Sequence[str], *, log: Path, folder: str) -> Done:
        """The same in one of several load generators."""

    def log(self, service: str) -> str:
        """The last lines of its container."""

    def start_log(self, service: str) -> Path:
        """The file with what was said when it was started."""

    def stop(self, services: Sequence[str]) -> None:
        """They are removed."""

    def check(self, step_failed: bool = False) -> None:
        """Failure where a machine of the run is lost, so that what happened meanwhile is nobody's fault; of this
        machine's engine that is asked only where a step has failed as a whole, such as with a DockerError.
        """

    def address(self, service: str) -> str:
        """HOST:PORT at which the load generator reaches it."""

    def answers_at_home(self, service: str) -> bool:
        """Whether it answers on its own machine, though it did not to the load generator's."""

    def on_host_network(self) -> AbstractContextManager[None]:
        """While this is open, `in_loadgen` is a load generator in the host's network, which reaches targets."""

    def save_provenance(self, service: str) -> None:
        """What it is made of, in raw/services/NAME; Failure where its image is not the one that the run began with."""

    def start_dependencies(self) -> None:
        """What all services need, until it can be used; Failure where it cannot."""

    def revive(self) -> tuple[str, ...]:
        """Starts again what all services need and has ended; its names."""

    def ended(self) -> tuple[str, ...]:
        """What all services need and has ended."""

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """A verb of `python3 -m bench`, where the run's folder is results/RUN; its status is the caller's to judge."""
