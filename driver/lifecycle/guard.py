"""Ends a run whose holder was killed (SIGKILL) and cannot clean up itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from driver.failure import SIGNALS


class Guard:
    """A process in its own session that reads a pipe from the holder.

    No other process inherits the pipe's writing end. If it closes without a message, the holder was killed: the guard
    then cleans up, and keeps the run's lock until it has.
    """

    def __init__(self, clean: Callable[[], None]) -> None:
        """Forks; this process must not have threads yet."""
        reader, self._writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._writer)
            _stand(reader, clean)
        os.close(reader)

    def dismiss(self) -> None:
        """The holder has cleaned up itself."""
        with suppress(OSError):
            os.write(self._writer, b"ended")
        os.close(self._writer)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _stand(reader: int, clean: Callable[[], None]) -> None:
    """The guard process; never returns, as a fork must not go on as its parent."""
    try:
        os.setsid()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        silent = os.open(os.devnull, os.O_WRONLY)
        for place, file in ((0, reader), (1, silent), (2, silent)):
            os.dup2(file, place)
        if not os.read(0, 16):
            clean()
    finally:
        os._exit(0)
