"""The socket options of a running server: of its listener, and of a connection that it accepted.

Runs in the process and network namespaces of the server's container, as root with the capability SYS_PTRACE. It
duplicates the descriptors of each process (pidfd_getfd, Linux 5.6) and asks the kernel for their options, so the
server's language and libraries do not matter.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

PROC = Path("/proc")
_PIDFD_GETFD = 438
_MOST_DESCRIPTORS = 1024
"""Descriptors to try per process. To list /proc/PID/fd would take another capability (DAC_READ_SEARCH)."""
_TIMEOUT_S = 10.0
_KEPT_S = 0.3
"""A connection that is still open this long after a response counts as kept."""
_TCP_INFO_BACKLOG_AT = 28
"""The offset of tcpi_sacked in tcp_info: for a listening socket, the length of its accept queue (tcp(7))."""
_SOCKET, _TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP
_BOTH = {"keepalive": (_SOCKET, socket.SO_KEEPALIVE), "nodelay": (_TCP, socket.TCP_NODELAY)}
_LISTENER = _BOTH | {
    "reuseaddr": (_SOCKET, socket.SO_REUSEADDR),
    "reuseport": (_SOCKET, socket.SO_REUSEPORT),
    "defer_accept": (_TCP, socket.TCP_DEFER_ACCEPT),
    "fastopen": (_TCP, socket.TCP_FASTOPEN),
}
OPTIONS = ("backlog", *_LISTENER, "nonblocking", *(f"accepted_{name}" for name in _BOTH))
"""The options read, in the order in which they are saved; `accepted_` marks those of a connection."""


class Unreadable(Exception):
    """Sockets of other processes cannot be read here; the text says why."""


class NotFound(Exception):
    """No process has the sockets looked for; the text says which."""


def read_sockets(port: int) -> dict[str, int]:
    """The value of each of `OPTIONS`, of the server on this port of 127.0.0.1, once it has accepted a connection."""
    give_up = time.monotonic() + _TIMEOUT_S
    with closing(_kept_connection(port)) as client:
        while True:
            options = _read(port, client.getsockname())
            if len(options) == len(OPTIONS):
                return {name: options[name] for name in OPTIONS}
            if time.monotonic() > give_up:
                missing = "an accepted connection" if options else f"a listener on port {port}"
                raise NotFound(f"no process has {missing}")
            time.sleep(0.05)


def _read(port: int, client: tuple[str, int]) -> dict[str, int]:
    """The options found so far: of the listener, and of the connection from this client."""
    options: dict[str, int] = {}
    for sock in _sockets():
        if sock.getsockname()[1] != port:
            continue
        if sock.getsockopt(_SOCKET, socket.SO_ACCEPTCONN):
            options |= _listener_options(sock)
        elif _peer(sock) == client:
            options |= {f"accepted_{name}": sock.getsockopt(*option) for name, option in _BOTH.items()}
    return options


def _listener_options(listener: socket.socket) -> dict[str, int]:
    info = listener.getsockopt(_TCP, socket.TCP_INFO, _TCP_INFO_BACKLOG_AT + 4)
    return {
        "backlog": int.from_bytes(info[_TCP_INFO_BACKLOG_AT:], sys.byteorder),
        **{name: listener.getsockopt(*option) for name, option in _LISTENER.items()},
        "nonblocking": int(bool(fcntl.fcntl(listener.fileno(), fcntl.F_GETFL) & os.O_NONBLOCK)),
    }


def _peer(sock: socket.socket) -> tuple[str, int] | None:
    with suppress(OSError):
        address, port = sock.getpeername()[:2]
        return address.removeprefix("::ffff:"), port
    return None


def _kept_connection(port: int) -> socket.socket:
    """A connection that the server holds open: after a response, or if it closes that, in the middle of a request."""
    request = b"GET /json HTTP/1.1\r\nHost: localhost\r\n"
    client = _connect(port)
    try:
        client.sendall(request + b"\r\n")
        received = client.recv(65536)
        client.settimeout(_KEPT_S)
        while received:
            received = client.recv(65536)
    except TimeoutError:
        return client
    except OSError:
        pass
    client.close()
    client = _connect(port)
    client.sendall(request)
    return client


def _connect(port: int) -> socket.socket:
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S)
    except OSError as error:
        raise NotFound(f"no connection to port {port}: {error}") from error


def _sockets() -> Iterator[socket.socket]:
    """A duplicate of each TCP socket of the processes here, closed after use; sockets that they share come once."""
    seen = set()
    for pid in sorted(int(path.name) for path in PROC.iterdir() if path.name.isdecimal()):
        if pid == os.getpid():
            continue
        with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid), "rb", buffering=0) as process:
            for number in range(_MOST_DESCRIPTORS):
                if (copy := _duplicate(process.fileno(), number)) is None:
                    continue
                with os.fdopen(copy, "rb", buffering=0) as file:
                    state = os.fstat(file.fileno())
                    if not stat.S_ISSOCK(state.st_mode) or state.st_ino in seen:
                        continue
                    seen.add(state.st_ino)
                    with socket.socket(fileno=os.dup(file.fileno())) as one:
                        if one.type == socket.SOCK_STREAM and one.family in (socket.AF_INET, socket.AF_INET6):
                            yield one


_LIBC = ctypes.CDLL(None, use_errno=True)


def _duplicate(process: int, number: int) -> int | None:
    """A duplicate of descriptor `number` of another process (a pidfd); None if it has no such descriptor."""
    copy: int = _LIBC.syscall(_PIDFD_GETFD, process, number, 0)
    if copy >= 0:
        return copy
    code = ctypes.get_errno()
    if code == errno.EBADF:
        return None
    if code == errno.ESRCH:
        raise ProcessLookupError
    raise Unreadable(f"sockets of other processes cannot be read here (pidfd_getfd: {os.strerror(code)})")
