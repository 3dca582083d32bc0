"""Extra behaviour of an app while events are measured (bench/plan/events), chosen by environment variables:

TELL_PID     each response names the process that sent it, in x-worker
WORK_MS      milliseconds of CPU that each request uses (common/work.py)
LARGE_MB     megabytes of the response at /large, sent in pieces like a streamed download
TAKE_BODIES  every body is read whole, however large, and answered with its size
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any

from common.work import work, work_s

PID = "x-worker"
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

tells = bool(os.environ.get("TELL_PID"))
large = int(os.environ.get("LARGE_MB") or 0) << 20
takes = bool(os.environ.get("TAKE_BODIES"))
asked = tells or takes or work_s > 0 or large > 0
LARGE, PIECE = "/large", 1 << 16
LARGE_HEADERS = [("content-type", "application/octet-stream"), ("content-length", str(large))]


def pid() -> tuple[str, str]:
    """The header that names this process."""
    return PID, str(os.getpid())


def is_large(path: str) -> bool:
    """Whether this path has the large response."""
    return large > 0 and path == LARGE


def pieces() -> Iterator[bytes]:
    """The large response."""
    return (bytes(PIECE) for _ in range(large // PIECE))


def wsgi(inner: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The WSGI app with the behaviour that the variables ask for."""

    def app(environ: Any, start_response: Any) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, [*headers, pid()], *more)

        begin = start if tells else start_response
        work()
        if is_large(environ["PATH_INFO"]):
            start_response("200 OK", [*LARGE_HEADERS])
            return pieces()
        if takes and (length := int(environ.get("CONTENT_LENGTH") or 0)):
            size = b"%d" % len(environ["wsgi.input"].read(length))
            begin("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(size)))])
            return [size]
        return inner(environ, begin)

    return app if asked else inner


async def _take(receive: Receive, send: Send) -> None:
    """Read a whole body, like an upload that is kept in memory, and answer with its size."""
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    text = b"%d" % len(b"".join(parts))
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def asgi(inner: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The ASGI app with the behaviour that the variables ask for."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), tuple(map(str.encode, pid()))]
            await send(message)

        if scope["type"] == "http":
            work()
            if is_large(scope["path"]):
                headers = [(name.encode(), value.encode()) for name, value in LARGE_HEADERS]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                for piece in pieces():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
                return
            if takes and scope["method"] == "POST":
                await _take(receive, tell if tells else send)
                return
        await inner(scope, receive, tell if tells else send)

    return app if asked else inner
