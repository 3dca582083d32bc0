"""A port of this machine, with a thread for each of its connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def served(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """The port; each connection is closed when `serve` is done with it."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                serve(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
