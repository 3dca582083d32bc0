"""What only the host can do for a window: freeze services while their load tools end, and say how long their threads
waited for a CPU. It is asked through two pipes in the run's folder.

The load generator has no right to stop what runs in other containers, and does not see their processes.
`driver/engines/freezer.py` is the other end.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ASK, TOLD = "freeze.ask", "freeze.told"
"""In the run's folder: a line `freeze NAME...` or `thaw NAME...`, and the names for which it was done; `threads NAME`,
and the name with two numbers."""
PATIENCE_S = 10.0


class Freezer:
    """Asks the host to freeze services. `folder` holds both pipes."""

    def __init__(self, folder: Path) -> None:
        # Both ends of each: to open one end alone would wait for the other.
        self._ask, self._told = (os.open(folder / name, os.O_RDWR | os.O_NONBLOCK) for name in (ASK, TOLD))
        self._silent = False

    @contextmanager
    def frozen(self, services: Sequence[str]) -> Iterator[frozenset[str]]:
        """Those of the services that are frozen meanwhile."""
        try:
            yield frozenset(self._tell("freeze", services))
        finally:
            self._tell("thaw", services)

    def ran_and_waited_ns(self, service: str) -> tuple[int, int] | None:
        """For how long the threads that a service has now have run, and were ready to run but had no CPU; in ns.

        None where the host does not tell. A container's own threads wait for each other too.
        """
        if self._silent:
            return None
        said = self._tell("threads", [service])
        self._silent = len(said) != 3
        return None if self._silent else (int(said[1]), int(said[2]))

    def _tell(self, verb: str, services: Sequence[str]) -> list[str]:
        """What the host says: the services for which it has done it; nothing where it gives no answer."""
        os.write(self._ask, f"{verb} {' '.join(services)}\n".encode())
        said = b""
        while not said.endswith(b"\n"):
            if not select.select([self._told], [], [], PATIENCE_S)[0]:
                return []
            said += os.read(self._told, 65536)
        done, *words = said.decode().splitlines()[-1].split(" ")
        return words if done == verb else []


def freezer_of(folder: Path) -> Freezer | None:
    """The freezer of a run; None where nobody on the host can freeze its services."""
    return Freezer(folder) if (folder / ASK).is_fifo() and (folder / TOLD).is_fifo() else None
