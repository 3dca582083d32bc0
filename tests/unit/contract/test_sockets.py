"""Reading socket options. The tests' container may not inspect other processes, so the server is a thread here."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from captured import refused

from bench.contract import sockets
from bench.contract.sockets import OPTIONS, NotFound, Unreadable, read_sockets

BACKLOG = 7
DUPLICATE = sockets._duplicate


@contextmanager
def server(*, keeps: bool, nodelay: int = 1) -> Iterator[int]:
    """The port of a server that answers one request per connection, and then keeps it open or closes it."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        threading.Thread(target=answer, args=(listener, keeps), daemon=True).start()
        yield listener.getsockname()[1]
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def answer(listener: socket.socket, keeps: bool) -> None:
    kept = []
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            kept.append(connection)
            if b"\r\n\r\n" not in connection.recv(4096):
                continue
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if not keeps:
                kept.pop().close()


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Inspect only the test's own process."""
    (tmp_path / "4194304").mkdir()
    (tmp_path / "self").mkdir()
    monkeypatch.setattr(sockets, "PROC", tmp_path)
    monkeypatch.setattr(os, "pidfd_open", lambda pid: os.open(os.devnull, os.O_RDONLY))
    monkeypatch.setattr(sockets, "_duplicate", duplicate)


def duplicate(process: int, number: int) -> int | None:
    with suppress(OSError):
        return os.dup(number)
    return None


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.usefixtures("own_process")
def test_the_options_of_listener_and_connection(keeps: bool) -> None:
    with server(keeps=keeps) as port:
        options = read_sockets(port)
    assert tuple(options) == OPTIONS
    assert options["backlog"] == BACKLOG and options["reuseaddr"] == 1 and options["reuseport"] == 0
    assert options["nodelay"] == options["accepted_nodelay"] == 1 and options["nonblocking"] == 0


@pytest.mark.usefixtures("own_process")
def test_what_is_not_set_is_0() -> None:
    with server(keeps=True, nodelay=0) as port:
        options = read_sockets(port)
    assert options["nodelay"] == options["accepted_nodelay"] == 0


def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        assert "no connection to port" in str(refused(NotFound, read_sockets, one.getsockname()[1]))


@pytest.mark.parametrize("there", ["a listener on port", "an accepted connection"])
def test_a_server_that_cannot_be_found(
    there: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    request.getfixturevalue("own_process")
    monkeypatch.setattr(sockets, "_TIMEOUT_S", 0.1)
    if "listener" in there:
        (tmp_path / "4194304").rmdir()
    else:
        monkeypatch.setattr(sockets, "_peer", lambda one: None)
    with server(keeps=True) as port, pytest.raises(NotFound, match=f"no process has {there}"):
        read_sockets(port)


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS])
@pytest.mark.usefixtures("own_process")
def test_without_the_rights_or_the_call_it_says_so(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_duplicate", DUPLICATE)
    monkeypatch.setattr(sockets, "_LIBC", Mock(syscall=lambda *_: -1))
    monkeypatch.setattr(sockets.ctypes, "get_errno", lambda: code)
    with server(keeps=True) as port, pytest.raises(Unreadable, match="pidfd_getfd"):
        read_sockets(port)


def test_a_descriptor_that_is_not_there_and_a_process_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def syscall(number: int, process: int, wanted: int, flags: int) -> int:
        assert (number, flags) == (438, 0)
        return 5 if wanted == 3 else -1

    monkeypatch.setattr(sockets, "_LIBC", Mock(syscall=syscall))
    monkeypatch.setattr(sockets.ctypes, "get_errno", lambda: errno.EBADF)
    assert sockets._duplicate(9, 3) == 5 and sockets._duplicate(9, 4) is None
    monkeypatch.setattr(sockets.ctypes, "get_errno", lambda: errno.ESRCH)
    with pytest.raises(ProcessLookupError):
        sockets._duplicate(9, 4)
