"""Cheroot in a process that may share its socket with others, for the servers cheroot and cherrypy."""

import os
import socket
from typing import Any

from cheroot import wsgi

SOCKET_ACTIVATION_FD = 3


def serve(listener: socket.socket, app: Any) -> None:
    """Serve until SystemExit; Cheroot takes the socket through systemd's socket activation."""
    # As Cheroot's own bind does (HTTPServer.prepare_socket): it sends headers and body separately, and without this
    # each response on a kept connection would wait 40 ms for the client's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    os.dup2(listener.fileno(), SOCKET_ACTIVATION_FD)
    os.environ["LISTEN_PID"] = str(os.getpid())
    server = wsgi.Server(
        listener.getsockname(),
        app,
        numthreads=int(os.environ.get("THREADS", "10")),
        request_queue_size=int(os.environ["BACKLOG"]),
        timeout=int(os.environ.get("KEEPALIVE", "10")),
        shutdown_timeout=int(os.environ.get("GRACEFUL", "5")),
    )
    # Keep all idle connections; by default it keeps only ten.
    server.keep_alive_conn_limit = None
    server.prepare()
    try:
        server.serve()
    except SystemExit:
        server.stop()
