"""The accept queue of servers that hard-code its length in compiled code."""

import os
import socket


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
