"""An HTTP client that hides nothing: raw headers, one connection or a fresh one, and an end to every wait."""

import http.client
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a body that are read at most: the contract's largest answer is a hundredth of it."""


class NoAnswer(Exception):
    """No complete HTTP answer came; the text says what came instead."""


class TimedOut(NoAnswer):
    """The answer was not complete when the time was up."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One complete answer; `seconds` run from before the connection was made to the body's last byte."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float

    def values(self, name: str) -> list[str]:
        """Every value that was sent under this header name, in their order."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask; a body goes out as JSON with its length."""

    path: str
    method: str = "GET"
    body: bytes | None = None


class Session:
    """One connection, kept for the next request unless the server announces that it closes it."""

    def __init__(self, address: str, port: int, timeout: float, name: str) -> None:
        self._connection = http.client.HTTPConnection(address, port, timeout=timeout)
        self._headers = {"Host": f"{name}:{port}"}
        self._timeout = timeout

    def ask(self, request: Request) -> Answer:
        """Send the request and read the whole answer, or raise `NoAnswer` within the time allowed."""
        begin = time.monotonic()
        watchdog = None
        try:
            if self._connection.sock is None:
                self._connection.connect()
            # A socket's own timeout starts anew with every byte; a server that drips would hold us for ever.
            watchdog = _Watchdog(self._connection.sock, self._timeout)
            self._send(request)
            answer = _read(self._connection.getresponse(), begin)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            if isinstance(error, TimeoutError) or (watchdog and watchdog.bit):
                raise TimedOut(f"no complete answer within {self._timeout:g} s") from error
            raise NoAnswer(_describe(error)) from error
        finally:
            if watchdog:
                watchdog.stop()
        return answer

    def _send(self, request: Request) -> None:
        headers = self._headers | ({} if request.body is None else {"Content-Type": "application/json"})
        try:
            # Headers and body leave together: a server that has answered before the body came may close the connection.
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            self._connection.request(request.method, request.path, body=request.body, headers=headers)
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        except (BrokenPipeError, ConnectionResetError):
            # A server may refuse a body before it has read it all: its answer counts, if one is there.
            if request.body is None:
                raise

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        self._connection.close()


@dataclass(slots=True)
class Client:
    """Asks one service; `base_url` is `http://HOST:PORT`, `timeout` the seconds that one answer may take."""

    base_url: str
    timeout: float = 10.0
    _host: str = field(init=False)
    _port: int = field(init=False)
    _address: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        try:
            port = parts.port or 80
        except ValueError:
            port = 0
        if parts.scheme != "http" or not parts.hostname or not port or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{self.base_url!r} is not of the form http://HOST:PORT")
        self._host, self._port = parts.hostname, port

    def address(self) -> str:
        """The service's IP address; its name where none is found, of which the first request tells more.

        Asked for once: hundreds of requests would keep the engine, which answers for names, busier than the service.
        """
        if self._address is None:
            try:
                self._address = socket.gethostbyname(self._host)
            except OSError:
                return self._host
        return self._address

    @contextmanager
    def session(self, timeout: float | None = None) -> Iterator[Session]:
        """A connection of its own for several requests."""
        session = Session(self.address(), self._port, timeout or self.timeout, self._host)
        try:
            yield session
        finally:
            session.close()

    def ask(self, request: Request, timeout: float | None = None) -> Answer:
        """One request on a fresh connection."""
        with self.session(timeout) as session:
            return session.ask(request)

    def get(self, path: str, timeout: float | None = None) -> Answer:
        """One GET on a fresh connection."""
        return self.ask(Request(path), timeout)

    def burst(self, request: Request, count: int) -> list[Answer]:
        """The same request `count` times at once, each on its own connection."""
        return self.at_once([request] * count)

    def at_once(self, requests: Sequence[Request]) -> list[Answer]:
        """All requests at the same moment, each on its own connection; answers in the requests' order."""
        start = threading.Barrier(len(requests))

        def one(request: Request) -> Answer:
            start.wait()
            return self.ask(request)

        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(one, requests))


class _Watchdog:
    """Ends a connection after some seconds, whatever trickles in meanwhile."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.bit = False
        self._connection = connection
        self._timer = threading.Timer(seconds, self._bite)
        self._timer.daemon = True
        self._timer.start()

    def _bite(self) -> None:
        self.bit = True
        with suppress(OSError):  # closed already: nobody waits any more
            self._connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._timer.cancel()


def _read(response: http.client.HTTPResponse, begin: float) -> Answer:
    body = bytearray()
    while chunk := response.read(65536):
        body += chunk
        if len(body) > MAX_BODY:
            raise http.client.HTTPException(f"a body of more than {MAX_BODY} bytes")
    if response.length:  # what Content-Length promised and did not come
        raise http.client.IncompleteRead(bytes(body), response.length)
    headers = tuple(response.getheaders())
    return Answer(response.status, headers, bytes(body), time.monotonic() - begin)


def _describe(error: Exception) -> str:
    match error:
        case http.client.IncompleteRead():
            return f"connection closed in mid-body after {len(error.partial)} bytes"
        case http.client.RemoteDisconnected():
            return "connection closed without an answer"
        case socket.gaierror():
            return f"no address for that name ({error.strerror}): its container is not running"
        case ConnectionError():
            return (error.strerror or "connection lost").lower()
        case http.client.BadStatusLine():
            return f"no HTTP answer but {str(error)[:60]!r}"
        case _:
            return f"{type(error).__name__}: {error}"[:200]
