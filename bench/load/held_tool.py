"""A load tool that runs only in its turns: stopped (SIGSTOP) from its start, and between any two turns."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
