"""A server with known behaviour under the events of a bad day (bench/events), to test the reports about them.

One process listens and another one serves, so that the effect of a signal to either is exact. BAD_DAY says what it
does:

    drops=N      at SIGHUP the worker finishes its requests and ends, and the next one resets the first N requests
    back_s=S     seconds without a worker, at SIGHUP (plus BOOT_S) or after it was killed: requests wait
    exit_s=S     at SIGTERM the worker resets all requests in flight at once; the service ends S seconds later
    slow=K       the first time that K connections have sent no request for SILENT_S, ...
    stall_s=S    ... the worker does nothing for S seconds
    idle_s=S     a connection without a request for S seconds is closed
    leak=N       each response leaks N bytes of memory
    files=N      each SIGHUP leaks N open files
    uneven=S     there are four workers, and the first gets this share of all connections; SIGHUP does nothing
    places=N     at most N requests for `/held/MS` are served at once, in the order of their arrival, each for MS
    untold=N     at SIGTERM all open WebSockets and streams but N are told that they end

The last five are optional. Routes: `/?duration=MS`, which answers MS later, `/plaintext`, `/held/MS`,
`/simple_request/MS`, which asks the upstream on a new connection, `/ws/...`, a WebSocket without messages, and
`/sse/...`, a stream of one event that goes on. WORK_MS is the CPU time of each request. SIGHUP closes no connection:
the next response on each says that it is the last. When a worker ends, it prints its counts.
"""

import asyncio
import base64
import hashlib
import json
import mmap
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import BinaryIO, Optional
from urllib.parse import parse_qs, parse_qsl, urlsplit

# Removed from the environment, because with it `import app` would start this program again.
BAD_DAY = os.environ.pop("BAD_DAY", "")
from common import contract, events, settings  # noqa: E402

import app  # noqa: E402

SILENT_S = 0.2
LINGER_S = 0.1
"""Seconds before a worker without connections ends: one that it has just accepted may not be registered yet."""
PENDING = 1024
HELD = "/held"
LATER = (HELD, "/simple_request")
UPSTREAM_S = 2.0
"""Seconds that the upstream may take beyond the requested delay."""
WORKERS = 4
"""Workers if shares are uneven."""
ACCEPTS = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""What a key of a WebSocket is hashed with (RFC 6455)."""
SWITCHED = (
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: %b\r\n\r\n"
)
STREAMED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 0\n\n\r\n"
)
ENDS = {"ws": b"\x88\x02\x03\xf4", "sse": b"0\r\n\r\n"}
"""How a client is told: the code 1012 (service restart), or that the stream is complete."""
LEAKED = 1 << 30
LEFT: "list[BinaryIO]" = []
"""Files that the listening process leaks."""


class Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, worker: "Worker") -> None:
        self.worker, self.data, self.head = worker, b"", b""
        self.transport: Optional[asyncio.Transport] = None
        self.pushed = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.worker.connections.add(self)
        self.slow = self.worker.loop.call_later(SILENT_S, self.worker.waits_for, self)
        self.idle = self.worker.loop.call_later(self.worker.known["idle_s"], self.close_idle)

    def data_received(self, data: bytes) -> None:
        if self.pushed:
            return
        self.data += data
        self.head, end, rest = self.data.partition(b"\r\n\r\n")
        length = int((self.head.lower() + b"\r\n").partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
        if not end or len(rest) < length:
            self.head = b""
            return
        self.data = rest[length:]
        self.slow.cancel()
        self.idle.cancel()
        self.worker.silent.discard(self)
        self.worker.received += 1
        if self.worker.drops:
            self.worker.drops -= 1
            self.reset()
            return
        events.work()
        method, target = self.head.decode("latin-1").split(" ")[:2]
        url = urlsplit(target)
        if (kind := url.path.split("/")[1]) in ENDS:
            self.push(kind)
            return
        route, _, last = url.path.rpartition("/")
        later = route in LATER
        answer, _ = app.refused("/" if later else url.path, method)
        if later and not answer:
            self.worker.do(self.respond_later(route, contract.clamp_duration(last)))
            return
        duration = contract.clamp_duration(parse_qs(url.query).get("duration", [None])[0]) if url.path == "/" else 0
        plain = app.Answer(200, app.TEXT, app.GREETING)
        answer = answer or (app.json_answer({"duration": duration}) if url.path == "/" else plain)
        self.worker.loop.call_later(duration / 1000, self.respond, answer)

    def push(self, kind: str) -> None:
        """Open a WebSocket or a stream, which ends with the service."""
        assert self.transport
        key = self.head.lower().find(b"sec-websocket-key: ")
        found = self.head[key:].partition(b": ")[2].partition(b"\r\n")[0]
        accepts = base64.b64encode(hashlib.sha1(found + ACCEPTS).digest())
        self.transport.write(SWITCHED % accepts if kind == "ws" else STREAMED)
        self.head, self.pushed = b"", kind
        self.worker.pushed.append(self)

    async def respond_later(self, route: str, ms: int) -> None:
        if route == HELD:
            async with self.worker.places:
                await asyncio.sleep(ms / 1000)
            self.respond(app.Answer(200, app.TEXT, app.GREETING))
        else:
            self.respond(await from_upstream(ms))

    def respond(self, answer: app.Answer) -> None:
        assert self.transport
        last = self.worker.draining or b"\r\nconnection: close" in self.head.lower()
        self.head = b""
        if self.transport.is_closing():
            return
        status = HTTPStatus(answer.status)
        words = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), b"server: bad-day"]
        words += [b"date: " + formatdate(usegmt=True).encode(), b"x-worker: %d" % os.getpid()]
        words += [b"content-type: " + answer.content_type, b"content-length: %d" % len(answer.body)]
        words += [b"allow: GET"] * (status == HTTPStatus.METHOD_NOT_ALLOWED) + [b"connection: close"] * last
        self.transport.write(b"\r\n".join([*words, b"", answer.body]))
        self.worker.answered += 1
        self.worker.leak()
        if last:
            self.transport.close()
        else:
            self.idle = self.worker.loop.call_later(self.worker.known["idle_s"], self.close_idle)

    def close_idle(self) -> None:
        assert self.transport
        self.worker.idled += not self.transport.is_closing()
        self.transport.close()

    def reset(self) -> None:
        assert self.transport
        self.worker.resets += 1
        own = self.transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def connection_lost(self, error: Optional[Exception]) -> None:
        self.slow.cancel()
        self.idle.cancel()
        self.worker.silent.discard(self)
        self.worker.connections.discard(self)
        self.worker.may_end()


async def from_upstream(ms: int) -> app.Answer:
    """The upstream's response after `ms` milliseconds; 502 if it gives none."""
    where, answer = urlsplit(settings.upstream_url()), b""

    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(b"GET /delay/%d HTTP/1.0\r\n\r\n" % ms)
        answer = await reader.read()
        writer.close()
        return answer

    with suppress(OSError, asyncio.TimeoutError):
        answer = await asyncio.wait_for(ask(), ms / 1000 + UPSTREAM_S)
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " in head.partition(b"\r\n")[0]:
        return app.Answer(200, app.JSON, body)
    return app.error(HTTPStatus.BAD_GATEWAY, "the upstream gave no good answer")


class Worker:
    """The process that serves; `drops`: how many requests to reset first.

    `channels`, if shares are uneven: the first worker, which accepts all connections, has a channel to each of the
    others; each of the others has one, from the first.
    """

    def __init__(
        self,
        listener: Optional[socket.socket],
        known: Mapping[str, float],
        drops: int,
        channels: Sequence[socket.socket],
    ) -> None:
        self.listener, self.known, self.drops, self.channels = listener, known, drops, channels
        self.accepted = 0
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.leaked = mmap.mmap(-1, LEAKED, flags=flags) if known.get("leak") else None
        self.leaked_to = 0
        if self.leaked and hasattr(mmap, "MADV_NOHUGEPAGE"):
            self.leaked.madvise(mmap.MADV_NOHUGEPAGE)
        self.received = self.answered = self.resets = self.idled = 0
        self.connections: set[Connection] = set()
        self.silent: set[Connection] = set()
        self.pushed: list[Connection] = []
        self.draining = self.stalled = self.cutting = False
        self.tasks: set[asyncio.Task[object]] = set()
        self.places = asyncio.Semaphore(int(known.get("places") or 1))

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        self.loop.add_signal_handler(signal.SIGUSR1, self.drain)
        self.loop.add_signal_handler(signal.SIGTERM, self.cut)
        if not self.channels:
            self.server = await self.loop.create_server(lambda: Connection(self), sock=self.listener, backlog=PENDING)
        elif self.listener:
            self.listener.setblocking(False)
            self.loop.add_reader(self.listener.fileno(), self.share)
        else:
            self.loop.add_reader(self.channels[0].fileno(), self.take)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        await self.ended.wait()

    def share(self) -> None:
        """Accept a connection, and keep it or hand it to another worker."""
        assert self.listener
        with suppress(BlockingIOError):
            own, _ = self.listener.accept()
            number, share = self.accepted, self.known["uneven"]
            self.accepted += 1
            if int((number + 1) * share) > int(number * share):
                self.serve_on(own)
                return
            others = number - int(number * share)
            with own:
                socket.send_fds(self.channels[others % len(self.channels)], [b"x"], [own.fileno()])

    def take(self) -> None:
        _, descriptors, _, _ = socket.recv_fds(self.channels[0], 1, 1)
        for descriptor in descriptors:
            self.serve_on(socket.socket(fileno=descriptor))

    def serve_on(self, own: socket.socket) -> None:
        own.setblocking(False)
        self.do(self.loop.connect_accepted_socket(lambda: Connection(self), own))

    def do(self, work: Coroutine[object, object, object]) -> None:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def leak(self) -> None:
        size = int(self.known.get("leak", 0))
        if self.leaked and self.leaked_to + size <= LEAKED:
            self.leaked[self.leaked_to : self.leaked_to + size] = b"x" * size
            self.leaked_to += size

    def waits_for(self, connection: Connection) -> None:
        self.silent.add(connection)
        if len(self.silent) >= self.known["slow"] and not self.stalled:
            self.stalled = True
            time.sleep(self.known["stall_s"])

    def drain(self) -> None:
        """Serve no new connections; what is left to reset comes first, however busy the machine is."""
        assert self.listener
        if self.drops:
            self.loop.call_later(LINGER_S, self.drain)
            return
        self.draining = True
        self.loop.remove_reader(self.listener.fileno())
        self.may_end()

    def may_end(self) -> None:
        if self.draining and not self.connections:
            self.loop.call_later(LINGER_S, self.end)

    def end(self) -> None:
        if not self.connections:
            self.tell()
            self.ended.set()

    def cut(self) -> None:
        if self.cutting:
            return
        self.cutting = True
        for connection in [one for one in self.connections if one.head]:
            connection.reset()
        for connection in self.pushed[int(self.known.get("untold") or 0) :]:
            if connection.transport:
                connection.transport.write(ENDS[connection.pushed])
        self.tell()
        # abort() closes the connection in the next iteration of the loop.
        self.loop.call_soon(self.ended.set)

    def tell(self) -> None:
        counts = {name: getattr(self, name) for name in ("received", "answered", "resets", "idled")}
        # In one piece: without a buffer, print writes the line feed apart, and workers share the pipe.
        os.write(1, f"{json.dumps(counts | {'pid': os.getpid()})}\n".encode())


def started(
    listener: Optional[socket.socket],
    known: Mapping[str, float],
    drops: int = 0,
    channels: Sequence[socket.socket] = (),
) -> int:
    """Start a worker; returns its pid."""
    if pid := os.fork():
        return pid
    for file in LEFT:
        file.close()
    status = 1
    try:
        asyncio.run(Worker(listener, known, drops, channels).serve())
        status = 0
    finally:
        os._exit(status)


def serve_unevenly(listener: socket.socket, known: Mapping[str, float]) -> None:
    """Serve until SIGTERM with several workers, one of which accepts all connections."""
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(WORKERS - 1)]
    workers = [started(None, known, channels=[theirs]) for _, theirs in pairs]
    # The one that accepts starts last: once it answers, all are running.
    workers.append(started(listener, known, channels=[ours for ours, _ in pairs]))
    while signal.sigwait((signal.SIGHUP, signal.SIGTERM)) != signal.SIGTERM:
        pass
    listener.close()
    for worker in workers:
        os.kill(worker, signal.SIGTERM)
    time.sleep(known["exit_s"])


def serve(known: Mapping[str, float]) -> None:
    """Listen, and do what the signals ask for, until SIGTERM."""
    asked = (signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # SIGUSR1 too: it would end a worker that is not yet ready for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, (*asked, signal.SIGUSR1))
    listener = socket.create_server((os.environ.get("HOST", ""), int(os.environ["PORT"])), backlog=PENDING)
    if known.get("uneven"):
        serve_unevenly(listener, known)
        return
    worker = started(listener, known)
    while (what := signal.sigwait(asked)) != signal.SIGTERM:
        if what == signal.SIGHUP:
            os.kill(worker, signal.SIGUSR1)
            LEFT.extend(open(os.devnull, "rb") for _ in range(int(known.get("files", 0))))  # noqa: SIM115
            time.sleep(known["back_s"] + float(os.environ.get("BOOT_S") or 0))
            worker = started(listener, known, int(known["drops"]))
            continue
        ended = set()
        with suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                ended.add(pid)
        if worker in ended:
            time.sleep(known["back_s"])
            worker = started(listener, known)
    listener.close()
    os.kill(worker, signal.SIGTERM)
    time.sleep(known["exit_s"])


def known_of(text: str) -> dict[str, float]:
    """`drops=7&back_s=1.5` -> {"drops": 7.0, "back_s": 1.5}."""
    return {name: float(value) for name, value in parse_qsl(text, strict_parsing=True)}


if __name__ == "__main__":
    serve(known_of(BAD_DAY))
    sys.exit(0)
