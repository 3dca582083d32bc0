"""Worker processes for servers without any: one listening socket, N processes."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType


def listen() -> socket.socket:
    """A socket that listens on PORT with an accept queue of BACKLOG."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", int(os.environ["PORT"])))
    listener.listen(int(os.environ["BACKLOG"]))
    return listener


def run(serve: Callable[[socket.socket], object]) -> None:
    """Call `serve` with the listening socket in each of WORKERS processes, until SIGTERM.

    A single worker runs in this process. If there are several, the first to exit ends them all, with status 1: it could
    not start, or has failed. One that is killed leaves the others running, and nobody replaces it.
    """
    listener = listen()
    workers = int(os.environ["WORKERS"])
    signal.signal(signal.SIGTERM, _exit)
    if workers == 1:
        serve(listener)
        return
    children = {_fork(serve, listener) for _ in range(workers)}
    status, killed = 1, True
    try:
        while killed and children:
            child, ended = os.wait()
            children.discard(child)
            killed = os.WIFSIGNALED(ended)
    except SystemExit:
        status = 0
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
    # A container ends with its first process, which would cut off requests in flight in the others.
    for child in children:
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
    sys.exit(status)


def _fork(serve: Callable[[socket.socket], object], listener: socket.socket) -> int:
    child = os.fork()
    if child == 0:
        serve(listener)
        sys.exit()
    return child


def _exit(signum: int, frame: FrameType | None) -> None:
    sys.exit()
