"""The time for one response: a service that never ends one counts as not answering after the timeout."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse

import pytest
from loop_runs import block

from bench.load.answers import MOST_QUIET_S, SLOW_BODY_S, OneAnswer, one_answer, rest_s
from bench.plan.measurement import Measurement, planned_of

HEAD = b"HTTP/1.1 200 OK\r\n"
TIMEOUT_S, PATIENT_S = 0.2, 60.0
Behaviour = Callable[[socket.socket], object]


def says(*parts: bytes, then_waits: float = 0.0) -> Behaviour:
    def behave(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
        time.sleep(then_waits)

    return behave


def drips(head: bytes, byte: bytes) -> Behaviour:
    def behave(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(byte)
            time.sleep(0.02)

    return behave


def pours(head: bytes) -> Behaviour:
    """A server that sends 10 GB, or as much as the client reads."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(head)
        for _ in range(10 << 10):
            connection.sendall(bytes(1 << 20))

    return behave


HOSTILE: dict[str, Behaviour] = {
    "never answers": says(then_waits=600),
    "half a status line": says(b"HTTP/1.1 20", then_waits=600),
    "endless headers": drips(HEAD, b"X: y\r\n"),
    "an endless header": drips(HEAD + b"X: ", b"y"),
    "an endless body": drips(HEAD + b"\r\n", b"y"),
    "half a body, and waits": says(HEAD + b"Content-Length: 9\r\n\r\n{", then_waits=600),
    "half a body, and closes": says(HEAD + b"Content-Length: 9\r\n\r\n{"),
    "10 GB": pours(HEAD + b"Content-Length: 10737418240\r\n\r\n"),
    "10 GB without a length": pours(HEAD + b"\r\n"),
    "garbage": says(b"\x00\xff\r\n\r\n"),
    "chunks that are none": says(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
}


@contextmanager
def port(behave: Behaviour) -> Iterator[tuple[str, int]]:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                behave(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()
    finally:
        listener.close()


def asked(timeout_s: float = PATIENT_S) -> Measurement:
    return replace(planned_of(block(1, ("aiohttp",), ("json",))[0]), timeout_s=timeout_s)


@pytest.mark.parametrize("behaviour", HOSTILE)
def test_a_service_that_never_ends_an_answer_gives_none_in_time(behaviour: str) -> None:
    # Without a limit it would never end.
    with port(HOSTILE[behaviour]) as peer:
        assert one_answer(asked(TIMEOUT_S), peer) is None


def test_a_whole_answer_has_its_time() -> None:
    def late(connection: socket.socket) -> None:
        time.sleep(0.1)
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    with port(late) as peer:
        began = time.monotonic()
        found = one_answer(asked(), peer)
        took_s = time.monotonic() - began
    assert found is not None
    assert 0.1 <= found.all_s <= took_s
    assert found.body_s <= found.all_s - 0.1


def test_an_error_says_nothing_about_the_time_of_a_good_response() -> None:
    with port(says(b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}")) as peer:
        assert one_answer(asked(), peer) is None


def test_a_body_that_comes_after_its_headers_is_waited_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    headed, response = threading.Event(), HTTPConnection.getresponse

    def getresponse(connection: HTTPConnection) -> HTTPResponse:
        found = response(connection)
        headed.set()
        return found

    def late(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n")
        headed.wait()
        time.sleep(0.1)
        connection.sendall(b"{}")

    monkeypatch.setattr(HTTPConnection, "getresponse", getresponse)
    with port(late) as peer:
        found = one_answer(asked(), peer)
    assert found is not None and SLOW_BODY_S < found.body_s <= found.all_s and found.all_s >= 0.1
    assert rest_s(found) == pytest.approx(min(MOST_QUIET_S, 1.5 * found.body_s))


def test_a_redirect_is_timed_only_where_it_is_expected() -> None:
    for redirects, timed in (((), False), ((302,), True), ((303,), False)):
        with port(says(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")) as peer:
            assert (one_answer(replace(asked(), redirects=redirects), peer) is not None) == timed


def test_whole_responses_need_no_such_wait() -> None:
    assert rest_s(None) == rest_s(OneAnswer(1.0, SLOW_BODY_S / 2)) == 0.0
    assert rest_s(OneAnswer(9.0, 9.0)) == 0.5
