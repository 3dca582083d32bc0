"""Calls an app in process, without a server: the CPU time of each of its routes, for scripts/profile.sh.

python3 - INTERFACE SECONDS PATH... <in_process.py, in a service's container, whose app is importable. Calls each path
for that long in each of five passes, and prints a JSON line for it, after one for an app that does nothing (`path` is
null): what calling costs by itself.

ASGI: 16 requests at a time on the loop that the server uses (uvloop where it is installed), each in a task of its own
with its lifespan state, as a server has it. WSGI: one after the other in one thread.
"""

import asyncio
import io
import json
import os
import sys
import time
from collections.abc import Awaitable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Callable, Optional

Message = MutableMapping[str, Any]
AsgiApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
WsgiApp = Callable[[dict[str, Any], Callable[..., object]], Iterable[bytes]]

CONCURRENT = 16
PASSES = 5
WARM_UP_S = 0.2


@dataclass
class Count:
    """What one path answered; `wrong` has no status 200, no body, or another length than its Content-Length."""

    requests: int = 0
    wrong: int = 0
    body_bytes: int = 0
    content_type: str = ""

    def add(self, status: int, headers: Iterable[tuple[str, str]], length: int) -> None:
        """One response."""
        self.requests += 1
        self.body_bytes += length
        declared = str(length)
        for name, value in headers:
            lower = name.lower()
            if lower == "content-length":
                declared = value
            elif lower == "content-type":
                self.content_type = value
        if status != 200 or not length or declared != str(length):
            self.wrong += 1


def line(path: Optional[str], cpu_ns: int, count: Count) -> None:
    """Print what was measured of one path."""
    print(json.dumps({"path": path, "cpu_ns": cpu_ns, **vars(count)}), file=output, flush=True)


def passes(paths: list[str]) -> Iterator[tuple[Optional[str], bool]]:
    """Each path, None before them, in all passes; and whether it is the first one."""
    for number in range(PASSES):
        for path in (None, *paths):
            yield path, number == 0


# Standard output is for these lines alone: what an app logs there goes to standard error.
output = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


# --- ASGI ----------------------------------------------------------------------------------------


class Exchange:
    """One request and its response."""

    def __init__(self, path: str, state: dict[str, Any]) -> None:
        self.scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": ("127.0.0.1", 8080),
            "client": ("127.0.0.1", 40000),
            "scheme": "http",
            "root_path": "",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"localhost:8080")],
            "state": state.copy(),
        }
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.length = 0
        self._asked = False
        self._answered = asyncio.Event()

    async def receive(self) -> Message:
        """The empty body, then the disconnect once the response is complete."""
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._answered.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Keep what the response says of itself."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", ()))
        else:
            self.length += len(message.get("body", b""))
            if not message.get("more_body", False):
                self._answered.set()


async def asgi_nothing(scope: Message, receive: Any, send: Any) -> None:
    """The app that does nothing."""
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"1"})


async def asgi_window(app: AsgiApp, path: str, state: dict[str, Any], seconds: float) -> Count:
    """Requests for that long, and until the last one is answered; at least one of each client."""
    count, end = Count(), time.monotonic() + seconds
    loop = asyncio.get_running_loop()

    async def client() -> None:
        while True:
            exchange = Exchange(path, state)
            await loop.create_task(serve(exchange))
            headers = ((name.decode(), value.decode()) for name, value in exchange.headers)
            count.add(exchange.status, headers, exchange.length)
            if time.monotonic() >= end:
                return

    async def serve(exchange: Exchange) -> None:
        await app(exchange.scope, exchange.receive, exchange.send)

    await asyncio.gather(*(client() for _ in range(CONCURRENT)))
    return count


async def start_lifespan(app: AsgiApp) -> tuple[dict[str, Any], "asyncio.Task[None]"]:
    """The state that the app's startup leaves, and the task in which its lifespan goes on."""
    state: dict[str, Any] = {}
    sent: asyncio.Queue[Message] = asyncio.Queue()
    received: asyncio.Queue[Message] = asyncio.Queue()
    received.put_nowait({"type": "lifespan.startup"})

    async def live() -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": state}
        await app(scope, received.get, sent.put)

    task = asyncio.get_running_loop().create_task(live())
    message = await sent.get()
    if message["type"] != "lifespan.startup.complete":
        sys.exit(f"the app did not start: {message}")
    return state, task


async def run_asgi(app: AsgiApp, seconds: float, paths: list[str]) -> None:
    """All passes."""
    state, lifespan = await start_lifespan(app)
    for path, first in passes(paths):
        called, wanted = (asgi_nothing, "/") if path is None else (app, path)
        if first:
            await asgi_window(called, wanted, state, WARM_UP_S)
        before = time.process_time_ns()
        count = await asgi_window(called, wanted, state, seconds)
        line(path, time.process_time_ns() - before, count)
    assert not lifespan.done(), "the app's lifespan ended"


# --- WSGI ----------------------------------------------------------------------------------------


def wsgi_nothing(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """The app that does nothing."""
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "1")])
    return [b"1"]


def wsgi_window(app: WsgiApp, path: str, seconds: float) -> Count:
    """Requests for that long; at least one."""
    count, end = Count(), time.monotonic() + seconds
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], error: Any = None) -> object:
        started[:] = status, headers
        return lambda data: None

    while True:
        environ = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "RAW_URI": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "8080",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_PORT": "40000",
            "HTTP_HOST": "localhost:8080",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        body = app(environ, start_response)
        length = sum(map(len, body))
        close = getattr(body, "close", None)
        if close is not None:
            close()
        count.add(int(started[0][:3]), started[1], length)
        if time.monotonic() >= end:
            return count


def run_wsgi(app: WsgiApp, seconds: float, paths: list[str]) -> None:
    """All passes."""
    for path, first in passes(paths):
        called, wanted = (wsgi_nothing, "/") if path is None else (app, path)
        if first:
            wsgi_window(called, wanted, WARM_UP_S)
        before = time.process_time_ns()
        count = wsgi_window(called, wanted, seconds)
        line(path, time.process_time_ns() - before, count)


def new_loop() -> asyncio.AbstractEventLoop:
    """Of uvloop, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def main(interface: str, seconds: float, paths: list[str]) -> None:
    """Call the app of this container, and end."""
    if interface == "asgi":
        # Before the app is imported: some look for a loop that early.
        loop = new_loop()
        asyncio.set_event_loop(loop)
        from app import app

        loop.run_until_complete(run_asgi(app, seconds, paths))
    else:
        from app import app

        run_wsgi(app, seconds, paths)
    sys.stdout.flush()
    # Nothing here needs a graceful end, and threads and connections are left.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
