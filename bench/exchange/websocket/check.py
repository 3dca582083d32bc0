"""The checks of the route of WebSockets, with a client of another project than the load tool's."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from bench.contract.answers import about, brief, expect
from bench.contract.checks import Target, check
from bench.contract.client import MAX_BODY, NoAnswer, TimedOut

ROUTE, PATH = "ws-echo", "/ws/echo"
BURST, CONNECTIONS = 50, 8
NORMAL = 1000
"""The code with which a connection is closed that has done its work."""
TEXTS = ("0000000000000001", "日本語 🎉 \u0000", "x" * 125, "x" * 126, "x" * 65_536)
BYTES = (b"\x00\x01\xfe\xff", b"\x80" * 126, b"x" * 65_536)
"""On both sides of each length that a frame states in another way. None is empty: Daphne sends no such message
(daphne/ws_protocol.py), and Quart takes empty bytes for a text (quart/asgi.py)."""


@check(ROUTE)
def texts(target: Target, route: str) -> None:
    """Text comes back as it is, of any length."""
    with _connection(target) as connection:
        _echoes(target, connection, TEXTS)


@check(ROUTE)
def binary(target: Target, route: str) -> None:
    """Bytes come back as they are, not as text."""
    with _connection(target) as connection:
        _echoes(target, connection, BYTES)


@check(ROUTE)
def in_order(target: Target, route: str) -> None:
    """Messages that are sent at once come back in their order."""
    numbers = [f"{number:016x}" for number in range(BURST)]
    with _connection(target) as connection:
        for number in numbers:
            connection.send(number)
        for number in numbers:
            answer = connection.recv(target.client.timeout)
            expect(answer == number, f"the message {number}", brief(answer))


@check(ROUTE)
def in_parts(target: Target, route: str) -> None:
    """A message in several frames is one message."""
    with _connection(target) as connection:
        connection.send(["one ", "message ", "in parts"])
        answer = connection.recv(target.client.timeout)
        expect(answer == "one message in parts", "'one message in parts'", brief(answer))


@check(ROUTE)
def compressed(target: Target, route: str) -> None:
    """The same for a client that offers compression."""
    with _connection(target, compression="deflate") as connection:
        _echoes(target, connection, (*TEXTS, *BYTES, *TEXTS))


@check(ROUTE)
def side_by_side(target: Target, route: str) -> None:
    """Each connection gets its own messages."""

    def talk(number: int) -> None:
        with _connection(target) as connection:
            _echoes(target, connection, [f"{number} {count}" for count in range(BURST)])

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(talk, range(CONNECTIONS)))


@check(ROUTE)
def closes(target: Target, route: str) -> None:
    """Closes with the client's code when that closes."""
    with _connection(target) as connection:
        _echoes(target, connection, ["the last one"])
        connection.close(NORMAL)
        answer = connection.protocol.close_rcvd
        expect(answer is not None and answer.code == NORMAL, f"the code {NORMAL}", answer and answer.code)


@contextmanager
def _connection(target: Target, compression: str | None = None) -> Iterator[ClientConnection]:
    """A connection to the route; what the client reports of it is raised as the contract's failures."""
    seconds = target.client.timeout
    try:
        with connect(
            target.client.base_url.replace("http", "ws", 1).rstrip("/") + PATH,
            compression=compression,
            open_timeout=seconds,
            close_timeout=seconds,
            ping_interval=None,
            max_size=MAX_BODY,
            proxy=None,
        ) as connection:
            yield connection
    except InvalidStatus as refused:
        expect(False, "status 101 for a WebSocket", f"status {refused.response.status_code}")
    except TimeoutError as error:
        raise TimedOut(f"no message within {seconds:g} s") from error
    except ConnectionClosed as closed:
        expect(False, "a connection that lasts", str(closed))
    except (OSError, WebSocketException) as error:
        raise NoAnswer(str(error)) from error


def _echoes(target: Target, connection: ClientConnection, messages: Sequence[str | bytes]) -> None:
    for message in messages:
        connection.send(message)
        answer = connection.recv(target.client.timeout)
        with about(f"a message of {len(message)}"):
            expect(answer == message, brief(message), brief(answer))
