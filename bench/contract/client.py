"""An HTTP client that shows raw headers, keeps its connection or opens a new one, and limits every wait."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit


class Clock:
    """The clock of the verifier. Tests replace it with a simulated one."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed point."""
        return time.monotonic_ns()

    def now(self) -> datetime:
        """The current date and time, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def call_later(self, seconds: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call `function` after some seconds, from another thread; returns a function that cancels that."""
        timer = threading.Timer(seconds, function)
        timer.daemon = True
        timer.start()
        return timer.cancel


UNVERIFIED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A server of one's own has a certificate of its own, and no load tool verifies it either."""
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE
MAX_BODY = 4 * 1024 * 1024
"""The longest body that is read, in bytes: a hundred times the contract's longest response."""


class NoAnswer(Exception):
    """There was no complete HTTP response; the text says what happened instead."""


class TimedOut(NoAnswer):
    """The response was not complete within the timeout."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response; `seconds` is the time from before connecting to the last byte of the body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float

    def values(self, name: str) -> list[str]:
        """All values of this header, in the order sent."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(frozen=True, slots=True)
class Request:
    """A request; a body is sent with its length, and as JSON unless `headers` has a Content-Type."""

    path: str
    method: str = "GET"
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()


class Session:
    """A connection, kept for the next request unless the server closes it; with TLS if `tls_name` is not empty."""

    def __init__(self, address: str, port: int, timeout: float, name: str, clock: Clock, *, tls_name: str = "") -> None:
        self._connection = http.client.HTTPConnection(address, port, timeout=timeout)
        self._headers = {"Host": f"{name}:{port}"}
        self._tls_name = tls_name
        self._timeout = timeout
        self._clock = clock

    def ask(self, request: Request) -> Answer:
        """Send the request and read the whole response; raises `NoAnswer`, at the latest after the timeout."""
        begin = self._clock.monotonic_ns()
        with self.response(request) as response:
            body = _read_body(response)
        seconds = (self._clock.monotonic_ns() - begin) / 1e9
        return Answer(response.status, tuple(response.getheaders()), body, seconds)

    @contextmanager
    def response(self, request: Request) -> Iterator[http.client.HTTPResponse]:
        """Send the request; the response's body is read in this context, and raises `NoAnswer` likewise."""
        deadline = None
        try:
            if self._connection.sock is None:
                self._connect()
            # A socket's own timeout restarts with every byte: a server that drips bytes would never time out.
            deadline = Deadline(self._connection.sock, self._timeout, self._clock)
            if isinstance(self._connection.sock, ssl.SSLSocket):
                self._connection.sock.do_handshake()
            self._send(request)
            yield self._connection.getresponse()
            if deadline.passed:  # our shutdown looks like the end of a body without a length
                raise TimeoutError
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            if isinstance(error, TimeoutError) or (deadline and deadline.passed):
                raise TimedOut(f"no complete answer within {self._timeout:g} s") from error
            raise NoAnswer(_describe(error)) from error
        finally:
            if deadline:
                deadline.cancel()

    def _connect(self) -> None:
        self._connection.connect()
        if self._tls_name:
            # The handshake comes later, so that its time is limited too.
            self._connection.sock = UNVERIFIED.wrap_socket(
                self._connection.sock, server_hostname=self._tls_name, do_handshake_on_connect=False
            )

    def _send(self, request: Request) -> None:
        headers = self._headers | ({} if request.body is None else {"Content-Type": "application/json"})
        if request.headers:
            given = {name.lower() for name, _ in request.headers}
            headers = {name: own for name, own in headers.items() if name.lower() not in given} | dict(request.headers)
        try:
            # Send headers and body together: a server may answer and close as soon as it has the headers.
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            self._connection.request(request.method, request.path, body=request.body, headers=headers)
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        except (BrokenPipeError, ConnectionResetError):
            # A server may refuse a body before reading all of it: its response counts, if there is one.
            if request.body is None:
                raise

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        self._connection.close()


@dataclass(slots=True)
class Client:
    """Sends requests to one service; `base_url` is `http://HOST:PORT`, `timeout` the seconds for each response.

    With https, no certificate is verified.
    """

    base_url: str
    timeout: float = 10.0
    clock: Clock = field(default_factory=Clock)
    _host: str = field(init=False)
    _port: int = field(init=False)
    _tls: bool = field(init=False)
    _address: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            port = 0
        known = parts.scheme in ("http", "https")
        if not known or not parts.hostname or not port or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{self.base_url!r} is not of the form http://HOST:PORT")
        self._host, self._port, self._tls = parts.hostname, port, parts.scheme == "https"

    def address(self) -> str:
        """The service's IP address; its name if that does not resolve, so that the first request says why.

        Resolved only once: with hundreds of requests, Docker's name server would be busier than the service.
        """
        if self._address is None:
            try:
                self._address = socket.gethostbyname(self._host)
            except OSError:
                return self._host
        return self._address

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One connection for several requests."""
        name = f"[{self._host}]" if ":" in self._host else self._host
        tls_name = self._host if self._tls else ""
        session = Session(self.address(), self._port, self.timeout, name, self.clock, tls_name=tls_name)
        try:
            yield session
        finally:
            session.close()

    def ask(self, request: Request) -> Answer:
        """One request on a new connection."""
        with self.session() as session:
            return session.ask(request)

    def get(self, path: str) -> Answer:
        """One GET on a new connection."""
        return self.ask(Request(path))

    def burst(self, request: Request, count: int) -> list[Answer]:
        """The same request `count` times at once, each on its own connection."""
        start = threading.Barrier(count)

        def one(_: int) -> Answer:
            start.wait()
            return self.ask(request)

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(one, range(count)))


class Deadline:
    """Ends a connection after some seconds, even while bytes still arrive."""

    def __init__(self, connection: socket.socket, seconds: float, clock: Clock) -> None:
        self.passed = False
        self._connection = connection
        self.cancel = clock.call_later(seconds, self._end)

    def _end(self) -> None:
        self.passed = True
        with suppress(OSError):  # already closed
            self._connection.shutdown(socket.SHUT_RDWR)


def _read_body(response: http.client.HTTPResponse) -> bytes:
    body = bytearray()
    while chunk := response.read(65536):
        body += chunk
        if len(body) > MAX_BODY:
            raise http.client.HTTPException(f"a body of more than {MAX_BODY} bytes")
    if response.length:  # bytes that Content-Length announced and that never came
        raise http.client.IncompleteRead(bytes(body), response.length)
    return bytes(body)


def _describe(error: Exception) -> str:
    match error:
        case http.client.IncompleteRead():
            return f"an incomplete body of {len(error.partial)} bytes"
        case http.client.RemoteDisconnected():
            return "connection closed without an answer"
        case socket.gaierror():
            return f"host name does not resolve ({error.strerror}): the container is not running"
        case ConnectionError() | ssl.SSLError():
            return (error.strerror or "connection lost").lower()
        case http.client.BadStatusLine():
            return f"not HTTP: {str(error)[:60]!r}"
        case _:
            return f"{type(error).__name__}: {error}"[:200]
