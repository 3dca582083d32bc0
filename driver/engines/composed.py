"""The engine inside the container `bench` of `docker-compose up bench`, which starts all containers beside it.

Without a Docker socket, containers are not fresh for each step and their memory is null, with the reason. CPU time of
services in turns comes from the host's cgroup file system, mounted read-only (bench/load/discover.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from driver.docker import Done, run
from driver.engines.engine import Started, State
from driver.run import Run

NO_SOCKET = "null no Docker socket is mounted: the {} of other containers cannot be read\n"


class Composed:
    """All containers are up, and Compose restarts those that end."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def start(
        self, services: Sequence[str], *, loadgens: int = 0, any_cpu: bool = False, host_network: bool = False
    ) -> Started:
        return Started(list(services))

    def pin(self, services: Sequence[str]) -> None:
        """Compose has pinned them."""

    def look(self, services: Sequence[str]) -> Mapping[str, State]:
        """All are assumed to run."""
        return {name: State(running=True) for name in services}

    def is_running(self, service: str) -> bool:
        return True

    def state_lines(self, service: str, state: State | None = None) -> str:
        return NO_SOCKET.format("counters")

    def limits(self, service: str) -> str:
        return NO_SOCKET.format("limits")

    def file_memory(self, service: str) -> str:
        return ""

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """Nothing can be frozen: the load tools end within their last turns."""
        return nullcontext()

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        return run(words, log=log, timeout=86400, check=False)

    def client(self, number: int, words: Sequence[str], *, log: Path, folder: str) -> Done:
        """There is one load generator."""
        return self.in_loadgen(words, log=log)

    def log(self, service: str) -> str:
        return f"see: docker-compose logs {service}\n"

    def start_log(self, service: str) -> Path:
        return self.run.service_folder(service) / "start.log"

    def stop(self, services: Sequence[str]) -> None:
        """They stay."""

    def check(self, step_failed: bool = False) -> None:
        """There is no other machine that could be lost."""

    def address(self, service: str) -> str:
        """Its name in Compose's network."""
        return f"{service}:8080"

    def answers_at_home(self, service: str) -> bool:
        """Never: there is one machine."""
        return False

    def on_host_network(self) -> AbstractContextManager[None]:
        """Unused: `--target` does not exist here."""
        return nullcontext()

    def save_provenance(self, service: str) -> None:
        """Without a socket, no image can be inspected."""

    def start_dependencies(self) -> None:
        """They are up."""

    def revive(self) -> tuple[str, ...]:
        return ()

    def ended(self) -> tuple[str, ...]:
        return ()

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        return run(["python3", "-m", "bench", *words], stdin=stdin or None, check=False)
