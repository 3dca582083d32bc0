"""Freezing services while their load tools end; the host does it, and is asked through two pipes in the run's folder.

The load generator has no right to stop what runs in other containers. `scripts/lib/freeze.sh` is the other end.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ASK, TOLD = "freeze.ask", "freeze.told"
"""In the run's folder: a line `freeze NAME...` or `thaw NAME...`, and the names for which it was done."""
PATIENCE_S = 10.0


class Freezer:
    """Asks the host to freeze services. `folder` holds both pipes."""

    def __init__(self, folder: Path) -> None:
        # Both ends of each: to open one end alone would wait for the other.
        self._ask, self._told = (os.open(folder / name, os.O_RDWR | os.O_NONBLOCK) for name in (ASK, TOLD))

    @contextmanager
    def frozen(self, services: Sequence[str]) -> Iterator[frozenset[str]]:
        """Those of the services that are frozen meanwhile."""
        try:
            yield self._tell("freeze", services)
        finally:
            self._tell("thaw", services)

    def _tell(self, verb: str, services: Sequence[str]) -> frozenset[str]:
        """For which services the host has done it; none where it gives no answer."""
        os.write(self._ask, f"{verb} {' '.join(services)}\n".encode())
        said = b""
        while not said.endswith(b"\n"):
            if not select.select([self._told], [], [], PATIENCE_S)[0]:
                return frozenset()
            said += os.read(self._told, 65536)
        done, *names = said.decode().splitlines()[-1].split(" ")
        return frozenset(names) if done == verb else frozenset()


def freezer_of(folder: Path) -> Freezer | None:
    """The freezer of a run; None where nobody on the host can freeze its services."""
    return Freezer(folder) if (folder / ASK).is_fifo() and (folder / TOLD).is_fifo() else None
