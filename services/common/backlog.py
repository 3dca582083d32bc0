"""The accept queue of servers that hard-code its length."""

import os
import socket
from typing import Any


def widen() -> None:
    """Set the accept queue of each listening socket of this process to BACKLOG."""
    for name in os.listdir("/proc/self/fd"):
        try:
            copy = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            # Not a socket, or the directory's own descriptor, which is closed by now.
            continue
        with copy:
            if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                copy.listen(int(os.environ["BACKLOG"]))


def widen_when_listening(worker: Any) -> None:
    """Call `widen` when a gunicorn worker that calls listen() itself has done so, which its first notify() shows."""
    notify = worker.notify

    def first() -> None:
        widen()
        worker.notify = notify
        notify()

    worker.notify = first
