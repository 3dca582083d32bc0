"""The checks of WebSockets and of server-sent events pass what is right, and each lie fails the one meant for it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from bench.contract.checks import Check, Target
from bench.contract.client import Client
from bench.contract.verify import Result, verify
from bench.exchange import checks
from bench.exchange.sse import check as event_checks
from bench.exchange.websocket import check as socket_checks

TIMEOUT_S = 1.0


def verified(at: tuple[str, int], *routes: str) -> Result:
    return verify(
        Target(Client("http://{}:{}".format(*at), TIMEOUT_S), concurrent=True), routes, checks(), lambda _: None
    )


def failed(result: Result) -> set[str]:
    return {outcome.check for outcome in result.failures}


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


def as_text(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message if isinstance(message, str) else message.decode("latin-1"))


def short(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message[:1000])


def swapped(connection: ServerConnection) -> None:
    for message in connection:
        with suppress(TimeoutError):
            connection.send(connection.recv(0.01))
        connection.send(message)


def each_part(connection: ServerConnection) -> None:
    while True:
        for part in connection.recv_streaming():
            connection.send(part)


LAST: list[str | bytes] = [""]


def of_anyone(connection: ServerConnection) -> None:
    for message in connection:
        LAST[0] = message
        time.sleep(0.005)
        connection.send(LAST[0])


def once(connection: ServerConnection) -> None:
    connection.send(connection.recv())
    connection.close()


def hangs_up(connection: ServerConnection) -> None:
    for message in connection:
        if message == "the last one":
            connection.close(4000)
        connection.send(message)


LIES: dict[str, tuple[Callable[[ServerConnection], None], Check]] = {
    "text for bytes": (as_text, socket_checks.binary),
    "cuts": (short, socket_checks.texts),
    "two in another order": (swapped, socket_checks.in_order),
    "a message for each frame": (each_part, socket_checks.in_parts),
    "the message of another connection": (of_anyone, socket_checks.side_by_side),
    "one message only": (once, socket_checks.texts),
    "hangs up": (hangs_up, socket_checks.closes),
}


@contextmanager
def sockets(handler: Callable[[ServerConnection], None], **options: Any) -> Iterator[tuple[str, int]]:
    def handled(connection: ServerConnection) -> None:
        with suppress(Exception):
            handler(connection)

    server = serve(handled, "127.0.0.1", 0, **options)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.socket.getsockname()
    finally:
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("compression", ["deflate", None])
def test_an_echo_passes_with_and_without_compression(compression: str | None) -> None:
    with sockets(echo, compression=compression) as at:
        result = verified(at, "ws-echo")
    assert result.counts() == {"passed": 7, "failed": 0}


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_of_a_socket_fails_its_check(lie: str) -> None:
    handler, check = LIES[lie]
    with sockets(handler) as at:
        assert check.name in failed(verified(at, "ws-echo"))


def test_no_websocket_is_a_wrong_answer_and_no_server_is_none() -> None:
    def refuse(connection: ServerConnection, request: object) -> Any:
        return connection.respond(HTTPStatus.NOT_FOUND, "none\n")

    with sockets(echo, process_request=refuse) as at:
        result = verified(at, "ws-echo")
    assert result.wrong and {outcome.got for outcome in result.failures} == {"status 404"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = listener.getsockname()
    assert not verified(at, "ws-echo").wrong and len(verified(at, "ws-echo").failures) == 7


class Events(BaseHTTPRequestHandler):
    """Keeps the contract, except for one lie."""

    protocol_version = "HTTP/1.1"

    def __init__(self, lie: str, *arguments: Any) -> None:
        self.lie = lie
        super().__init__(*arguments)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        count, gap_ms = (int(text) if text.isdigit() else None for text in self.path.split("/")[2:])
        count, gap_s = min(max(1 if count is None else count, 1), 100_000), (gap_ms or 0) / 1000
        if self.lie == "no clamp" and self.path.split("/")[2] == "0":
            count = 0
        self.send_response(201 if self.lie == "status 201" else 200)
        self.send_header("Content-Type", "text/plain" if self.lie == "plain text" else "text/event-stream")
        if self.lie != "may be cached":
            self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        count -= self.lie == "one too few" and count > 1
        gap_s = {"twice as fast": gap_s / 2, "twice as slow": 2 * gap_s}.get(self.lie, gap_s)
        with suppress(OSError):
            self._send(count, gap_s)

    def _send(self, count: int, gap_s: float) -> None:
        began, held = time.monotonic(), b""
        for number in range(count):
            time.sleep(max(0.0, began + number * gap_s - time.monotonic()))
            shown = 0 if self.lie == "always the first" else number
            ends = "\r\n" if self.lie == "line ends of Windows" else "\n"
            event = f'id: {number}{ends}data: {{"n": {shown}, "token": " benchmark"}}{ends}{ends}'.encode()
            if self.lie == "all at the end":
                held += event
            else:
                self.wfile.write(event)
        self.wfile.write(held)


@contextmanager
def events(lie: str) -> Iterator[tuple[str, int]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Events, lie))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[0], server.server_address[1]  # type: ignore[misc]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("form", ["", "line ends of Windows"])
def test_events_in_any_form_of_the_standard_pass(form: str) -> None:
    with events(form) as at:
        result = verified(at, "sse")
    assert result.counts() == {"passed": 5, "failed": 0}, failed(result)


EVENT_LIES = {
    "status 201": event_checks.headers,
    "plain text": event_checks.headers,
    "may be cached": event_checks.headers,
    "one too few": event_checks.events,
    "always the first": event_checks.events,
    "no clamp": event_checks.numbers,
    "twice as fast": event_checks.paced,
    "twice as slow": event_checks.paced,
    "all at the end": event_checks.paced,
}


@pytest.mark.parametrize("lie", EVENT_LIES)
def test_each_lie_of_a_stream_fails_its_check(lie: str) -> None:
    with events(lie) as at:
        assert EVENT_LIES[lie].name in failed(verified(at, "sse"))
