"""The engine inside the container `bench` of `docker-compose up bench`, which starts all containers beside it.

Compose has pinned them and restarts those that end. Without a Docker socket, containers are not fresh for each step and
their memory is null, with the reason. CPU time of services that take turns comes from the host's cgroup file system,
mounted read-only (bench/load/cpu_counters.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from socket import create_connection
from time import monotonic, sleep

from driver.docker import LONGEST_S, Done, run
from driver.engines.engine import Container, Engine
from driver.failure import RUN, Failure
from driver.messages import Step

DATABASE, DATABASE_S, POLL_S = ("postgres", 5432), 60.0, 0.2
NO_SOCKET = "null no Docker socket is mounted: the {} of other containers cannot be read\n"


class Composed(Engine):
    """All containers are up, and stay."""

    def start_dependencies(self) -> None:
        """Waits for the database, which Compose has just started; Failure if it does not answer."""
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

    def start(self, step: Step, loadgen: bool = False) -> dict[str, Container]:
        return self.look(step.services)

    def look(self, services: Sequence[str]) -> dict[str, Container]:
        """All are assumed to run."""
        return dict.fromkeys(services, Container(running=True))

    def state_lines(self, service: str, container: Container | None = None) -> str:
        return NO_SOCKET.format("counters")

    def limits(self, service: str) -> str:
        return NO_SOCKET.format("limits")

    def log(self, service: str) -> str:
        return f"see: docker-compose logs {service}\n"

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        return run(words, log=log, timeout=LONGEST_S, check=False)

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        return run(["python3", "-m", "bench", *words], stdin=stdin or None, check=False)
