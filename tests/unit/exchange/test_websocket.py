"""One message outside of a load: what comes back, how long that takes, and what the handshake's response has."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from bench.core.exchange import Exchange
from bench.exchange import kind_of
from bench.exchange.kind import SILENT
from bench.load.answers import idle_response, is_good
from bench.tools.tool import Load

SENT = Exchange(kind="websocket", protocol="ws", path="/ws/echo", size=16)
TIMEOUT_S = 2.0
Handler = Callable[[ServerConnection], None]


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


@contextmanager
def served(handler: Handler = echo, status: HTTPStatus | None = None) -> Iterator[str]:
    def answer(connection: ServerConnection, request: Request) -> Response | None:
        return connection.respond(status, "no WebSocket here\n") if status else None

    server: Server = serve(handler, "127.0.0.1", 0, process_request=answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "{}:{}".format(*server.socket.getsockname())
    finally:
        server.shutdown()
        thread.join()


def load(at: str, exchange: Exchange = SENT) -> Load:
    return Load(exchange=exchange, at=at, timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("exchange", [SENT, Exchange(kind="websocket", protocol="ws", size=1024, deflate=True)])
def test_a_message_that_comes_back_has_its_time(exchange: Exchange) -> None:
    def late(connection: ServerConnection) -> None:
        for message in connection:
            time.sleep(0.1)
            connection.send(message)

    with served(late) as at:
        response = idle_response(load(at, exchange))
    assert response and response.status == "101" and 0.1 <= float(response.seconds) < TIMEOUT_S
    assert kind_of(exchange).rest_s(response) == 0


def lies(connection: ServerConnection) -> None:
    for _ in connection:
        connection.send("another text")


def as_bytes(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(str(message).encode())


WRONG: dict[str, Handler] = {
    "another text": lies,
    "bytes": as_bytes,
    "closes": lambda connection: connection.close(),
    "says nothing": lambda connection: time.sleep(2 * TIMEOUT_S),
}


@pytest.mark.parametrize("name", WRONG)
def test_anything_else_is_no_answer_and_says_what_came(name: str) -> None:
    with served(WRONG[name]) as at:
        response = kind_of(SENT).ask(load(at), 0.3)
    assert response.status == SILENT and response.error and not is_good(load(at), response)


@pytest.mark.parametrize("status", [HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE])
def test_a_refused_handshake_has_its_status(status: HTTPStatus) -> None:
    with served(status=status) as at:
        response = kind_of(SENT).ask(load(at), TIMEOUT_S)
        assert idle_response(load(at)) is None
    assert (response.status, response.body) == (str(status.value), "no WebSocket here\n")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = "{}:{}".format(*listener.getsockname())
    assert kind_of(SENT).ask(load(at), TIMEOUT_S).status == SILENT


def test_the_bytes_of_a_handshake_are_those_that_came() -> None:
    """They are taken off what a turn received, so that the rest are messages."""
    came = bytearray()

    def forward(source: socket.socket, target: socket.socket, kept: bytearray) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                kept += data
                target.sendall(data)

    with served() as at, socket.create_server(("127.0.0.1", 0)) as listener:

        def relay() -> None:
            host, port = at.split(":")
            with suppress(OSError):
                client, _ = listener.accept()
                with client, socket.create_connection((host, int(port))) as server:
                    threading.Thread(target=forward, args=(client, server, bytearray()), daemon=True).start()
                    forward(server, client, came)

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        response = kind_of(SENT).ask(load("{}:{}".format(*listener.getsockname())), TIMEOUT_S)
        thread.join(TIMEOUT_S)
    assert response.opening_bytes == came.index(b"\r\n\r\n") + 4
