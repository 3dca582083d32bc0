"""The engine where `docker-compose up bench` has started all containers, and this is in one of them: there is no
Docker socket, so that no container is fresh and memory is null, with that reason. CPU time in turns comes from the
host's cgroup file system, mounted read-only (bench/load/discover.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from driver.docker import Done, run
from driver.engine import Started, State
from driver.run import Run

NO_SOCKET = "null no Docker socket is mounted: the {} of other containers cannot be read\n"


class Composed:
    """Everything is up, and what ends is Compose's to start again; each method is as Engine has it."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def start(
        self, services: Sequence[str], *, loadgens: int = 0, any_cpu: bool = False, host_network: bool = False
    ) -> Started:
        """They are up."""
        return Started(list(services))

    def pin(self, services: Sequence[str]) -> None:
        """They are where Compose has put them."""

    def look(self, services: Sequence[str]) -> Mapping[str, State]:
        """All are taken to run."""
        return {name: State(running=True) for name in services}

    def is_running(self, service: str) -> bool:
        """As `look`."""
        return True

    def state_lines(self, service: str, state: State | None = None) -> str:
        """Why there are none."""
        return NO_SOCKET.format("counters")

    def limits(self, service: str) -> str:
        """Why there are none."""
        return NO_SOCKET.format("limits")

    def file_memory(self, service: str) -> str:
        """Unknown."""
        return ""

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """Nothing can be frozen: the load tools end within their last turns."""
        return nullcontext()

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        """Here."""
        return run(words, log=log, timeout=86400, check=False)

    def client(self, number: int, words: Sequence[str], *, log: Path, folder: str) -> Done:
        """There is one load generator."""
        return self.in_loadgen(words, log=log)

    def log(self, service: str) -> str:
        """Where it is."""
        return f"see: docker-compose logs {service}\n"

    def start_log(self, service: str) -> Path:
        """There is none."""
        return self.run.service_folder(service) / "start.log"

    def stop(self, services: Sequence[str]) -> None:
        """They stay."""

    def check(self, step_failed: bool = False) -> None:
        """This machine is here."""

    def address(self, service: str) -> str:
        """Its name in Compose's network."""
        return f"{service}:8080"

    def answers_at_home(self, service: str) -> bool:
        """Its machine is this one."""
        return False

    def on_host_network(self) -> AbstractContextManager[None]:
        """No server is loaded that already runs."""
        return nullcontext()

    def save_provenance(self, service: str) -> None:
        """No image can be asked."""

    def start_dependencies(self) -> None:
        """They are up."""

    def revive(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def ended(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """Here."""
        return run(["python3", "-m", "bench", *words], stdin=stdin or None, check=False)
