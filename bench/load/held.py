"""Pausing between turns: load tools are stopped by SIGSTOP, services are frozen by the host."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_HOLD = ("sh", "-c", 'kill -STOP $$; exec "$@"', "sh")
"""Stops itself before it executes the tool, so that the tool's own clock starts with its first turn."""
_PATIENCE_S = 15.0
_AGAIN_S = 1.0
"""SIGINT is sent again after this time. On a busy machine, the kernel may deliver the first one to a thread other than
wrk's main thread, which then sleeps on for the rest of the tool's duration."""


class HeldTool:
    """A load tool's process, whose output goes to a file. Use it as a context manager, which ends the process.

    `status`: its exit status, negative for a signal; None while it runs. `told`: whether it was interrupted.
    """

    def __init__(self, argv: Sequence[str], output: Path) -> None:
        self._file: IO[bytes] = output.open("wb")
        self._process = subprocess.Popen(
            [*_HOLD, *argv], stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT
        )
        self.status: int | None = None
        self.told = False
        self._wait_stopped()

    def __enter__(self) -> HeldTool:
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            self._signal(signal.SIGKILL)
            self._collect(os.waitpid(self._process.pid, 0)[1])
        self._file.close()

    def resume(self) -> None:
        """Let the tool run."""
        self._signal(signal.SIGCONT)

    def hold(self) -> None:
        """Stop the tool, and wait until all of its threads have stopped."""
        self._signal(signal.SIGSTOP)
        self._wait_stopped()

    def interrupt(self) -> None:
        """End the tool like Ctrl-C, so that it prints its result."""
        self.told = self.status is None
        self._signal(signal.SIGINT)
        self._signal(signal.SIGCONT)

    def end(self, patience_s: float = _PATIENCE_S) -> int:
        """Wait for the end after `interrupt`, and return the exit status; kill the tool if it does not end."""
        again_s = min(_AGAIN_S, patience_s)
        for wait_s, number in ((again_s, signal.SIGINT), (patience_s - again_s, signal.SIGKILL)):
            if self.status is None:
                with suppress(subprocess.TimeoutExpired):
                    self.status = self._process.wait(wait_s)
            self._signal(number)
        self.status = self._process.wait()
        return self.status

    def _signal(self, number: signal.Signals) -> None:
        if self.status is None:
            os.kill(self._process.pid, number)

    def _wait_stopped(self) -> None:
        if self.status is None:
            _, status = os.waitpid(self._process.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self._collect(status)

    def _collect(self, status: int) -> None:
        self.status = self._process.returncode = os.waitstatus_to_exitcode(status)


ASK, TOLD = "freeze.ask", "freeze.told"
"""Named pipes in the run's folder. A request is a line `freeze NAME...`, `thaw NAME...` or `threads NAME`; the host
replies with the same verb and the names for which it was done, or with the name and two numbers (for `threads`)."""
PATIENCE_S = 10.0
_ALL = ""


class Freezer:
    """Asks the host to freeze services. `folder` contains both pipes."""

    def __init__(self, folder: Path) -> None:
        # Open both ends of each pipe, because opening only one would wait for the other.
        self._ask, self._told = (os.open(folder / name, os.O_RDWR | os.O_NONBLOCK) for name in (ASK, TOLD))
        self._unknown: set[str] = set()

    @contextmanager
    def frozen(self, services: Sequence[str]) -> Iterator[frozenset[str]]:
        """Freeze services in the context; yields those that could be frozen."""
        try:
            yield frozenset(self._tell("freeze", services))
        finally:
            self._tell("thaw", services)

    @contextmanager
    def thawed(self, services: Sequence[str]) -> Iterator[None]:
        """Thaw these frozen services in the context."""
        self._tell("thaw", services)
        try:
            yield
        finally:
            self._tell("freeze", services)

    def ran_and_waited_ns(self, service: str) -> tuple[int, int] | None:
        """How long (in ns) the service's current threads have run, and have waited for a CPU while runnable.

        The wait includes that for other threads of the same container. None if the host gives no figures; it is then
        not asked again, for this service, or for any if it did not reply at all.
        """
        if self._unknown & {_ALL, service}:
            return None
        said = self._tell("threads", [service])
        if len(said) == 3:
            return int(said[1]), int(said[2])
        self._unknown.add(service if said else _ALL)
        return None

    def _tell(self, verb: str, services: Sequence[str]) -> list[str]:
        """Send a request to the host and return the words of its reply after the verb; empty if there is none."""
        os.write(self._ask, f"{verb} {' '.join(services)}\n".encode())
        said = b""
        while not said.endswith(b"\n"):
            if not select.select([self._told], [], [], PATIENCE_S)[0]:
                return []
            said += os.read(self._told, 65536)
        done, *words = said.decode().splitlines()[-1].split(" ")
        return words if done == verb else []


def freezer_of(folder: Path) -> Freezer | None:
    """The freezer of a run; None if the host does not provide the pipes."""
    return Freezer(folder) if (folder / ASK).is_fifo() and (folder / TOLD).is_fifo() else None
