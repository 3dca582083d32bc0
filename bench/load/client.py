"""A small open-loop client on raw sockets that logs the outcome of each request and of each slow connection.

It runs in one thread with asyncio. Requests start when they are due, regardless of earlier ones. Keep-alive connections
are used in the order in which they became free. A connection is chosen `look_s` before its request is sent and not
checked again, as in a proxy, to see whether the server closes it in between.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from bench.records.event import KEPT, OPEN, Fate

SPARE_S = 0.2
"""Delay before the first request, and polling interval for the end of the load, in seconds."""
CALM_S = 2.0
"""How far back requests must have been answered well for the service to count as calm, in seconds."""
READ_BYTES, READ_BUFFER = 1024, 4096
"""Bytes that a slow reader reads per second, and its receive buffer: the rest of the response stays at the server."""
LONGEST_HEAD, MOST_BODY = 1 << 16, 16 << 20
"""In bytes; a longer line, head or body is a wrong response."""
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?$")
"""The line before a chunk: its size, and what may follow it."""
PID = re.compile(rb"[0-9]{1,9}")
AS_EXPECTED = frozenset({"", OPEN, KEPT})
"""The kinds of requests that get the expected body."""
OWN_FAULTS = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS)
"""Connection errors that are the client's fault: it is out of files, ports or memory."""


@dataclass(slots=True)
class Request:
    """One request; times are in ns of the monotonic clock, 0 if it did not happen.

    `kind` is empty, `long`, `body`, `open`, or NEEDS, followed by the size of the burst if it is part of one.
    """

    due_ns: int
    kind: str = ""
    begun_ns: int = 0
    sent_ns: int = 0
    first_ns: int = 0
    end_ns: int = 0
    connection: int = 0
    nth: int = 0
    """Number of the request on its connection, from 1."""
    fate: Fate | None = None
    status: int = 0
    worker: int = 0
    """The worker's pid, as given in the response."""
    told_close: bool = False
    body: bytes | None = None
    """Only if the client keeps bodies."""


WEBSOCKET, STREAM = "websocket", "stream"
"""Kinds of slow connections that a service keeps open: what it sends says how they end."""
CLOSE, PING, PONG = 0x88, b"\x89", b"\x8a"
"""How whole frames of a WebSocket begin that close it or ask for a sign of life, and the answer."""
LAST_FRAME = 127
"""Bytes of the longest of them."""


@dataclass(slots=True)
class Other:
    """A connection that is slow on purpose. `how` says how it ended: `held` (to the end), `eof`, `reset`, `refused`.

    `told`: how the service said that it ends a WebSocket or stream; see `told_end`.
    """

    k: int
    """The number of slow connections in its step, including this one."""
    opened_ns: int = 0
    closed_ns: int = 0
    how: str = "held"
    status: int = 0
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to send, to which server, and the timeout. `expected`: body of a good response; None accepts any body.

    `redirects`: statuses of a good response besides 2xx.
    """

    host: str
    port: int
    head: bytes
    expected: bytes | None
    timeout_s: float
    pool: int
    look_s: float
    new_every: int = 0
    """One of so many requests opens a new connection; 0: none does if one is free."""
    long_head: bytes = b""
    slow_head: bytes = b""
    """The request that slow connections send, with its body; empty: the same as all others."""
    needs_head: bytes = b""
    redirects: tuple[int, ...] = ()


@dataclass(slots=True)
class _Answer:
    """A response that is being read."""

    data: bytearray = field(default_factory=bytearray)
    status: int = 0
    start: int = 0
    """The offset of the body; 0 until the head is complete."""
    length: int | None = None
    chunked: bool = False
    close: bool = False
    worker: int = 0
    body: bytearray = field(default_factory=bytearray)
    at: int = 0
    """The offset of the next chunk; those before it are in `body`."""

    def feed(self, data: bytes) -> bytes | None:
        """Add data; return the body once complete, or None if more is needed (or only EOF ends the body).

        ValueError if it is no HTTP, or has more than MOST_BODY.
        """
        self.data += data
        while not self.start:
            end = self.data.find(b"\r\n\r\n")
            if end < 0:
                return None
            self._read_head(bytes(self.data[:end]))
            if 100 <= self.status < 200:
                del self.data[: end + 4]
            else:
                self.start = end + 4
        if len(self.data) - self.start > MOST_BODY or (self.length or 0) > MOST_BODY:
            raise ValueError("a body that is too long")
        if self.chunked:
            return self._unchunked()
        if self.length is None or len(self.data) - self.start < self.length:
            return None
        return bytes(self.data[self.start : self.start + self.length])

    def at_eof(self) -> bytes | None:
        """The body if it is delimited by the end of the connection, else None."""
        ends = self.start and not self.chunked and self.length is None
        return bytes(self.data[self.start :]) if ends else None

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        self.status = int(rest[:3]) if rest[:3].isdigit() else 0
        self.close = version != b"HTTP/1.1"
        for line in lines:
            name, _, value = line.partition(b":")
            name, value = name.strip().lower(), value.strip()
            if name == b"content-length" and value.isdigit():
                self.length = int(value)
            elif name == b"transfer-encoding":
                self.chunked = value.lower() == b"chunked"
            elif name == b"connection":
                self.close = value.lower() == b"close" or (self.close and value.lower() != b"keep-alive")
            elif name == b"x-worker" and PID.fullmatch(value):
                self.worker = int(value)
        if self.status in (204, 304):
            self.length = 0

    def _unchunked(self) -> bytes | None:
        """Read the chunks that are complete; the body after the last one, or None."""
        self.at = max(self.at, self.start)
        while (end := self.data.find(b"\r\n", self.at, self.at + LONGEST_HEAD)) >= 0:
            size = CHUNK.match(self.data, self.at, end)
            if size is None:
                raise ValueError("a chunk without a size")
            last = end + 2 + int(size[1], 16)
            if last == end + 2:
                # Trailers may follow.
                if self.data.find(b"\r\n\r\n", end, end + LONGEST_HEAD) >= 0:
                    return bytes(self.body)
                break
            if len(self.data) < last + 2:
                return None
            if self.data[last : last + 2] != b"\r\n":
                raise ValueError("a chunk that does not end")
            self.body += self.data[end + 2 : last]
            self.at = last + 2
        if len(self.data) - self.at > LONGEST_HEAD:
            raise ValueError("a chunk without a size, or trailers that are too long")
        return None


class Connection(asyncio.Protocol):
    """One connection, with at most one request in flight."""

    def __init__(self, client: Client, number: int) -> None:
        self.client, self.number, self.count = client, number, 0
        self.transport: asyncio.Transport | None = None
        self.request: Request | None = None
        self.answer = _Answer()
        self.ended_ns = 0
        self.worker = 0
        """The worker's pid, as given in the last response."""

    @property
    def ended(self) -> bool:
        """Whether either side has closed the connection."""
        return bool(self.ended_ns)

    def _end(self) -> None:
        self.ended_ns = self.ended_ns or time.monotonic_ns()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, request: Request, head: bytes) -> None:
        """Send a request on this connection."""
        self.request, self.answer, self.count = request, _Answer(), self.count + 1
        request.connection, request.nth = self.number, self.count
        request.begun_ns = request.begun_ns or time.monotonic_ns()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(head)
        request.sent_ns = time.monotonic_ns()
        if self.ended:
            # The server has closed it since it was chosen, and would answer with a reset.
            self.finish(Fate.RESET)

    def data_received(self, data: bytes) -> None:
        """Read a part of a response; drop the connection if the data is unsolicited."""
        if (request := self.request) is None:
            self.drop()
            return
        request.first_ns = request.first_ns or time.monotonic_ns()
        try:
            body = self.answer.feed(data)
        except ValueError:
            self.finish(Fate.WRONG)
            return
        if body is not None:
            self.whole(body)
        elif len(self.answer.data) > LONGEST_HEAD and not self.answer.start:
            self.finish(Fate.WRONG)

    def eof_received(self) -> None:
        """The server has closed its side."""
        self.connection_lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        """The connection was closed or reset."""
        self._end()
        if self.request is not None:
            body = None if error else self.answer.at_eof()
            if body is None:
                self.finish(Fate.CUT_SHORT if self.request.first_ns else Fate.RESET)
            else:
                self.whole(body)

    def whole(self, body: bytes) -> None:
        """Judge a complete response."""
        assert self.request is not None
        if self.client.keep_bodies:
            self.request.body = body
        status, expected = self.answer.status, self.client.asked.expected
        if self.answer.status == 503:
            fate = Fate.STATUS_503
        elif status // 100 != 2 and status not in self.client.asked.redirects:
            fate = Fate.OTHER_STATUS
        elif expected is not None and body != expected and self.request.kind in AS_EXPECTED:
            fate = Fate.WRONG
        else:
            fate = Fate.ANSWERED
        self.finish(fate, reusable=not (self.answer.close or self.ended or self.request.kind not in ("", OPEN)))

    def finish(self, fate: Fate, *, reusable: bool = False) -> None:
        """Record the fate of the request; keep the connection, or close it."""
        request, self.request = self.request, None
        assert request is not None
        request.status, request.worker = self.answer.status, self.answer.worker
        self.worker = self.answer.worker
        request.told_close = bool(self.answer.start) and self.answer.close
        self.client.finish(request, fate)
        if reusable and self.client.keeps(self):
            return
        self.drop()

    def drop(self) -> None:
        """Close the connection."""
        self._end()
        if self.transport is not None:
            self.transport.abort()


class Client:
    """The load of one window, and its log."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.log: list[Request] = []
        self.others: list[Other] = []
        self.faults: Counter[str] = Counter()
        """Connection errors that were the client's fault, by message."""
        self.keep_bodies = False
        self._idle: deque[Connection] = deque()
        self._connections = 0
        self._open = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def keeps(self, connection: Connection) -> bool:
        """Return the connection to the pool; False if the pool is full."""
        if len(self._idle) >= self.asked.pool:
            return False
        self._idle.append(connection)
        return True

    def finish(self, request: Request, fate: Fate) -> None:
        """Record the fate of a request, unless it already has one."""
        if request.fate is None:
            request.fate, request.end_ns = fate, time.monotonic_ns()
            self._open -= 1

    async def load(self, due_s: Sequence[float], t0_ns: int, over: Callable[[], bool]) -> None:
        """Send a request at each of these times, until all are sent or `over()`; then wait for requests in flight."""
        look_ns, checked = round(self.asked.look_s * 1e9), 0
        loop = asyncio.get_running_loop()
        for number, due in enumerate(due_s):
            due_ns = t0_ns + round(due * 1e9)
            await sleep_until(due_ns - look_ns)
            now = time.monotonic_ns()
            if now - checked > SPARE_S * 1e9:
                checked = now
                if over():
                    break
            request = self._logged(Request(due_ns))
            comes_anew = self.asked.new_every and number % self.asked.new_every == 0
            connection = None if comes_anew else self._choose()
            loop.call_at(loop.time() + max(0, due_ns - now) / 1e9, self._begin, request, connection)
        await self.drained()

    def is_calm(self, within_s: float = float("inf")) -> bool:
        """Whether all recent requests were answered well within `within_s`, so that the event is over for clients too.

        Recent requests are those due in the last `CALM_S`; in the later half of it, they need not be answered yet.
        """
        now = time.monotonic_ns()
        for request in reversed(self.log):
            if request.due_ns < now - CALM_S * 1e9:
                return request.fate is not None
            decided = request.fate is not None or request.due_ns > now - CALM_S / 2 * 1e9
            if not decided or request.fate not in (None, Fate.ANSWERED):
                return False
            if request.end_ns - request.due_ns > within_s * 1e9:
                return False
        return True

    def answered_by_others(self, workers: Set[int]) -> bool:
        """Whether a worker that is none of these has answered a request well."""
        return any(one.worker and one.worker not in workers and one.fate is Fate.ANSWERED for one in self.log)

    async def drained(self) -> None:
        """Wait until no request is in flight, which the timeouts of the requests limit."""
        while self._open:
            await asyncio.sleep(0.01)

    async def opened(self, due_ns: int) -> tuple[Connection | None, Request]:
        """Send one request on a new connection, and return both; the connection is None without a good response."""
        self._connections += 1
        connection, request = Connection(self, self._connections), Request(due_ns)
        await self.again(connection, request)
        return (None if request.fate is not Fate.ANSWERED else connection), request

    async def again(self, connection: Connection, request: Request) -> None:
        """Send and log one more request on this connection."""
        request.begun_ns = time.monotonic_ns()
        await self._ask(self._logged(request), connection, self.asked.head, self.asked.timeout_s)
        await _decided(request)

    def ask_once(self, head: bytes, kind: str, timeout_s: float | None = None) -> None:
        """Send one more request, now, on a new connection."""
        self._begin(self._logged(Request(time.monotonic_ns(), kind)), None, head, timeout_s)

    def _logged(self, request: Request) -> Request:
        """A request that is about to be sent, in the log."""
        self.log.append(request)
        self._open += 1
        return request

    def close(self) -> None:
        """Drop all connections."""
        while self._idle:
            self._idle.popleft().drop()

    def _choose(self) -> Connection | None:
        while self._idle:
            connection = self._idle.popleft()
            if not connection.ended:
                return connection
            connection.drop()
        return None

    def _begin(
        self, request: Request, connection: Connection | None, head: bytes = b"", timeout_s: float | None = None
    ) -> None:
        request.begun_ns = time.monotonic_ns()
        self._start(self._ask(request, connection, head or self.asked.head, timeout_s or self.asked.timeout_s))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        # The event loop itself keeps only weak references to tasks.
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, request: Request, connection: Connection | None, head: bytes, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        left_s = (request.begun_ns - time.monotonic_ns()) / 1e9 + timeout_s
        if connection is None:
            self._connections += 1
            connection = Connection(self, self._connections)
        if connection.transport is None:
            made = connection
            request.connection = connection.number
            try:
                async with asyncio.timeout(left_s):
                    await loop.create_connection(lambda: made, self.asked.host, self.asked.port)
            except OSError as error:
                late = isinstance(error, TimeoutError)
                self.finish(request, Fate.TIMED_OUT if late else self._not_connected(error))
                connection.drop()
                return
        connection.send(request, head)
        if request.fate is None:
            # Connecting took its part of the timeout.
            left_s = (request.begun_ns - time.monotonic_ns()) / 1e9 + timeout_s
            loop.call_at(loop.time() + max(0.0, left_s), self._expire, request, connection)

    def _expire(self, request: Request, connection: Connection) -> None:
        if request.fate is None and connection.request is request:
            connection.finish(Fate.TIMED_OUT)

    def _not_connected(self, error: OSError) -> Fate:
        if error.errno in OWN_FAULTS:
            self.faults[str(error.strerror)] += 1
        return Fate.RESET if error.errno in (errno.ECONNRESET, errno.EPIPE) else Fate.REFUSED

    async def slow(self, kind: str, k: int, until: asyncio.Event) -> None:
        """Open slow connections of this kind until there are `k`; each is held until the event is set."""
        while len(self.others) < k:
            other = Other(k)
            self.others.append(other)
            self._start(self._hold(kind, other, until))
            # Slowly enough not to overflow the server's backlog.
            await asyncio.sleep(0.002)

    async def _hold(self, kind: str, other: Other, until: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        other.opened_ns = time.monotonic_ns()
        with socket.socket() as sock:
            sock.setblocking(False)
            if kind == "read":
                # Must be set before connecting, because the window is announced to the server then.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BUFFER)
            try:
                await loop.sock_connect(sock, (self.asked.host, self.asked.port))
            except OSError as error:
                other.how, other.closed_ns = self._not_connected(error).value, time.monotonic_ns()
                return
            head = self.asked.slow_head or self.asked.head
            tasks = [loop.create_task(_send_slowly(kind, sock, head)), loop.create_task(_read(kind, sock, other))]
            waiter = loop.create_task(until.wait())
            await asyncio.wait((tasks[1], waiter), return_when=asyncio.FIRST_COMPLETED)
            for task in (*tasks, waiter):
                task.cancel()
            # Let the tasks remove the socket from the event loop before it is closed.
            await asyncio.gather(*tasks, waiter, return_exceptions=True)


async def _decided(request: Request) -> None:
    """Wait until the fate of the request is known, which its timeout limits."""
    while request.fate is None:
        await asyncio.sleep(0.002)


async def _read(kind: str, sock: socket.socket, other: Other) -> None:
    """Read until the server ends the connection, and record the first status."""
    loop = asyncio.get_running_loop()
    most, end = READ_BYTES if kind == "read" else 1 << 16, b""
    try:
        while data := await loop.sock_recv(sock, most):
            end = (end + data)[-LAST_FRAME:]
            if data[:5] == b"HTTP/" and data[9:12].isdigit() and not other.status:
                other.status = int(data[9:12])
            if other.status and not other.told:
                other.told = told_end(kind, end)
                if answer := _answer(kind, data, other.told):
                    await loop.sock_sendall(sock, answer)
            if kind == "read":
                await asyncio.sleep(1)
                # A reset discards data that has not been read yet, so look for it explicitly.
                if reset := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    raise ConnectionResetError(reset)
        other.how = "eof"
    except OSError:
        other.how = "reset"
    other.closed_ns = time.monotonic_ns()


def told_end(kind: str, end: bytes) -> str:
    """By the end of what it has sent, how a service says that it ends: a WebSocket's code, or `complete`.

    Empty if it has not said so.
    """
    if kind == STREAM:
        return "complete" if end.endswith(b"\r\n0\r\n\r\n") else ""
    for length in range(2, 126) if kind == WEBSOCKET else ():
        frame = end[-length - 2 :]
        if len(frame) == length + 2 and frame[:2] == bytes((CLOSE, length)):
            return str(int.from_bytes(frame[2:4], "big"))
    return ""


def _answer(kind: str, data: bytes, end: str) -> bytes:
    """What a client of WebSockets answers, for which a service waits: the same code, or a pong; masked with zeros."""
    if kind != WEBSOCKET:
        return b""
    if end:
        return bytes((CLOSE, 0x82, 0, 0, 0, 0)) + int(end).to_bytes(2, "big")
    if data[:1] == PING:
        return PONG + bytes((0x80 | data[1] & 0x7F, 0, 0, 0, 0)) + data[2 : 2 + (data[1] & 0x7F)]
    return b""


async def _send_slowly(kind: str, sock: socket.socket, head: bytes) -> None:
    loop = asyncio.get_running_loop()
    with suppress(OSError):
        if kind in ("idle", "read", WEBSOCKET, STREAM):
            await loop.sock_sendall(sock, head)
        elif kind in ("header", "body"):
            end = head.index(b"\r\n\r\n") + (4 if kind == "body" else 2)
            await loop.sock_sendall(sock, head[:end] if kind == "body" else head[:end] + b"X-Slow: ")
            for byte in head[end:] if kind == "body" else repeat(ord("a")):
                await loop.sock_sendall(sock, bytes((byte,)))
                await asyncio.sleep(1)


async def sleep_until(at_ns: int) -> None:
    """Sleep until this time (monotonic clock)."""
    left_s = (at_ns - time.monotonic_ns()) / 1e9
    # Sleep even when late, so that the event loop reads what has arrived before the next request is sent.
    await asyncio.sleep(max(0.0, left_s))
