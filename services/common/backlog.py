"""The listening queue of servers that fix its length in compiled code."""

import os
import socket


def widen() -> None:
    """Gives each listening socket of this process the queue that the container's settings ask for."""
    for name in os.listdir("/proc/self/fd"):
        try:
            copy = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            # No socket, or the folder's own descriptor, which is closed by now.
            continue
        with copy:
            if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                copy.listen(int(os.environ["BACKLOG"]))
