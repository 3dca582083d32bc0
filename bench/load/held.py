"""What stands still between turns: a load tool, stopped by SIGSTOP, and a service, which only the host can freeze."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_HOLD = ("sh", "-c", 'kill -STOP $$; exec "$@"', "sh")
"""Stops before it becomes the tool, so that the tool's own clock starts with its first turn."""
_PATIENCE_S = 15.0
_AGAIN_S = 1.0
"""After this long SIGINT is sent once more. On a busy machine the kernel may give the first to another thread than the
one that sleeps for the tool's duration (wrk's main thread, not yet awake after its stop), which then sleeps on."""


class HeldTool:
    """One process of a load tool; its output goes to a file. Use as a context manager: no process outlives it."""

    def __init__(self, argv: Sequence[str], output: Path, env: Mapping[str, str] | None = None) -> None:
        self._file: IO[bytes] = output.open("wb")
        self._process = subprocess.Popen(
            [*_HOLD, *argv], stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT, env=env
        )
        self._status: int | None = None
        self._told = False
        self._wait_stopped()

    def __enter__(self) -> HeldTool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is None:
            self._signal(signal.SIGKILL)
            self._collect(os.waitpid(self._process.pid, 0)[1])
        self._file.close()

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._status

    @property
    def told(self) -> bool:
        """Whether it was told to end while it ran; else it has ended by itself."""
        return self._told

    def resume(self) -> None:
        """Let it run."""
        self._signal(signal.SIGCONT)

    def hold(self) -> None:
        """Stop it, and wait until all of its threads have stopped."""
        self._signal(signal.SIGSTOP)
        self._wait_stopped()

    def interrupt(self) -> None:
        """Have it print its result, as Ctrl-C does."""
        self._told = self._status is None
        self._signal(signal.SIGINT)
        self._signal(signal.SIGCONT)

    def end(self, patience_s: float = _PATIENCE_S) -> int:
        """Wait until it has ended after `interrupt`, and return its exit status; kill it where it does not end."""
        again_s = min(_AGAIN_S, patience_s)
        for wait_s, number in ((again_s, signal.SIGINT), (patience_s - again_s, signal.SIGKILL)):
            if self._status is None:
                with suppress(subprocess.TimeoutExpired):
                    self._status = self._process.wait(wait_s)
            self._signal(number)
        self._status = self._process.wait()
        return self._status

    def _signal(self, number: signal.Signals) -> None:
        if self._status is None:
            os.kill(self._process.pid, number)

    def _wait_stopped(self) -> None:
        if self._status is None:
            _, status = os.waitpid(self._process.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self._collect(status)

    def _collect(self, status: int) -> None:
        self._status = self._process.returncode = os.waitstatus_to_exitcode(status)


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

    @contextmanager
    def thawed(self, services: Sequence[str]) -> Iterator[None]:
        """Of services that are frozen, these are not meanwhile."""
        self._tell("thaw", services)
        try:
            yield
        finally:
            self._tell("freeze", services)

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
