"""Cheroot in one of several processes that share a socket, for itself and for CherryPy."""

import os
import socket
import threading
from typing import Any

from cheroot import wsgi

SOCKET_ACTIVATION_FD = 3


def serve(listener: socket.socket, app: Any) -> None:
    """Serve until SystemExit, by systemd's socket activation, which it knows."""
    os.dup2(listener.fileno(), SOCKET_ACTIVATION_FD)
    os.environ["LISTEN_PID"] = str(os.getpid())
    server = wsgi.Server(listener.getsockname(), app, request_queue_size=int(os.environ["BACKLOG"]))
    # All connections are kept; by default the eleventh that waits is closed.
    server.keep_alive_conn_limit = None
    server.prepare()
    try:
        server.serve()
    except SystemExit:
        # stop() waits for the threads as long as they work, and so does Python at its end: they have a second.
        stop = threading.Thread(target=server.stop, daemon=True)
        stop.start()
        stop.join(1)
        os._exit(0)
