"""What ends a run whose holder was killed, so that it cannot do that itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from driver.failure import SIGNALS


class Guard:
    """A process in a session of its own, at the end of a pipe whose other end only the holder has: Python gives no open
    file to what it starts, unless asked. When that end is closed and nothing was said, the holder was killed. The guard
    holds the run's lock until nothing is left of it.
    """

    def __init__(self, clean: Callable[[], None]) -> None:
        """Before this process has any thread: it is forked."""
        reader, self._writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._writer)
            _stand(reader, clean)
        os.close(reader)

    def dismiss(self) -> None:
        """The holder has taken the run away itself."""
        with suppress(OSError):
            os.write(self._writer, b"ended")
        os.close(self._writer)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _stand(reader: int, clean: Callable[[], None]) -> None:
    """It never returns: a fork must not go on as its parent."""
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
