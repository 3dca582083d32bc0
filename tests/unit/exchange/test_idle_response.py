"""The time for one response by HTTP: a service that never ends one counts as not answering after the timeout."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from bench.core.exchange import Exchange
from bench.exchange.http.response import MOST_QUIET_S, SLOW_BODY_S, rest_s
from bench.exchange.kind import Response
from bench.load.answers import idle_response
from bench.tools.tool import Load

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


HOSTILE: dict[str, Behaviour] = {
    "never answers": says(then_waits=600),
    "an endless body": drips(HEAD + b"\r\n", b"y"),
    "half a body, and waits": says(HEAD + b"Content-Length: 9\r\n\r\n{", then_waits=600),
    "half a body, and closes": says(HEAD + b"Content-Length: 9\r\n\r\n{"),
}


@contextmanager
def port(behave: Behaviour) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                behave(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield "{}:{}".format(*listener.getsockname())
    finally:
        listener.close()


def asked(at: str, timeout_s: float = PATIENT_S, **sent: Any) -> Response | None:
    return idle_response(Load(exchange=Exchange(**sent), at=at, timeout_s=timeout_s))


@pytest.mark.parametrize("behaviour", HOSTILE)
def test_a_service_that_never_ends_an_answer_gives_none_in_time(behaviour: str) -> None:
    # Without a limit it would never end.
    with port(HOSTILE[behaviour]) as at:
        assert asked(at, TIMEOUT_S) is None


def test_a_whole_answer_has_its_time() -> None:
    def late(connection: socket.socket) -> None:
        time.sleep(0.1)
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    with port(late) as at:
        began = time.monotonic()
        found = asked(at)
        took_s = time.monotonic() - began
    assert found is not None
    assert 0.1 <= float(found.seconds) <= took_s
    assert found.body_s <= float(found.seconds) - 0.1 and found.body == "{}"


def test_an_error_says_nothing_about_the_time_of_a_good_response() -> None:
    with port(says(b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}")) as at:
        assert asked(at) is None


def test_a_body_that_comes_after_its_headers_is_waited_for_longer() -> None:
    def late(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n")
        time.sleep(0.5)
        connection.sendall(b"{}")

    with port(late) as at:
        found = asked(at)
    assert found is not None and SLOW_BODY_S < found.body_s <= float(found.seconds) and float(found.seconds) >= 0.5
    assert rest_s(found) == pytest.approx(min(MOST_QUIET_S, 1.5 * found.body_s))


def test_a_redirect_is_timed_only_where_it_is_expected() -> None:
    for redirects, timed in (((), False), ((302,), True), ((303,), False)):
        with port(says(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")) as at:
            assert (asked(at, redirects=redirects) is not None) == timed


def test_whole_responses_need_no_such_wait() -> None:
    assert rest_s(None) == rest_s(Response("200", "1", "", SLOW_BODY_S / 2)) == 0.0
    assert rest_s(Response("200", "9", "", 9.0)) == 0.5
