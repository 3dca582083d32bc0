"""The contract as a bare RSGI application: one dictionary of routes, no framework.

Forms, from Granian's RSGI specification (docs/spec/RSGI.md), and for the rest what an author would choose:
JSON        orjson's README (dumps), sent by response_bytes()
templates   jinja.palletsprojects.com, "API" (Basics)
database    "RSGI" (__rsgi_init__: before the worker serves)
lifespan    the same (and __rsgi_del__)
streams     "HTTP protocol interface" (response_stream)
websocket   "Websocket protocol interface"
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any, NamedTuple, Optional
from urllib.parse import parse_qs

from common import contract, events, fast_json, jinja
from common.async_backends import Backends, UpstreamError, open_backends
from common.async_paced import paced

# The server's own objects: the request's head; and the protocol, from which a body is read and to which responses go.
Scope = Any
Protocol = Any


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    stream: Optional[AsyncIterator[bytes]] = None


# Takes the backends, the request and the last path segment.
Handler = Callable[[Backends, Scope, Protocol, str], Awaitable[Answer]]

TEXT = [("content-type", "text/plain; charset=utf-8")]
HTML = [("content-type", "text/html; charset=utf-8")]
JSON = [("content-type", "application/json")]
EVENTS = [("content-type", "text/event-stream"), ("cache-control", "no-store")]
# Kinds of a websocket's messages; 0 says that the client has closed it.
BYTES = 1

GREETING = contract.GREETING.encode()
ROUTE_RESPONSE = contract.ROUTE_RESPONSE.encode()


def json_answer(value: Any) -> Answer:
    return Answer(200, JSON, fast_json.dumps(value))


def foreign_json(value: Any) -> Answer:
    """For JSON from a client or the upstream, which may hold numbers and lone surrogates that orjson rejects."""
    return Answer(200, JSON, contract.to_json(value).encode())


def error(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, [*JSON, *headers], contract.to_json({"error": text}).encode())


async def read(protocol: Protocol) -> bytes:
    """The request's body, read at most until it exceeds the limit."""
    body = bytearray()
    async for chunk in protocol:
        body += chunk
        if len(body) > contract.ECHO_LIMIT:
            break
    return bytes(body)


async def plaintext(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    return Answer(200, TEXT, GREETING)


async def greeting(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    return json_answer({"message": contract.GREETING})


async def page(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    return json_answer(contract.PAGE)


async def route_example(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    return Answer(200, TEXT, ROUTE_RESPONSE)


async def root(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    query = scope.query_string
    asked = parse_qs(query).get("duration", [None])[0] if query else None
    duration = contract.clamp_duration(asked)
    if duration:
        await asyncio.sleep(duration / 1000)
    return json_answer({"duration": duration})


async def simple_request(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    try:
        return foreign_json(await backends.upstream.delay(contract.clamp_duration(last)))
    except UpstreamError as failure:
        return error(HTTPStatus.BAD_GATEWAY, str(failure))


async def create_data(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    count = contract.clamp_count(last)
    await backends.raw.create_data(count)
    return json_answer({"created": count})


async def echo(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    try:
        return foreign_json(contract.echo(await read(protocol)))
    except ValueError as refusal:
        return error(HTTPStatus.BAD_REQUEST, str(refusal))


async def sse(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
    count, _, gap = last.partition("/")
    numbers = paced(contract.clamp_events(count), contract.clamp_gap(gap))
    stream = (b"data: %b\n\n" % fast_json.dumps(contract.event(number)) async for number in numbers)
    return Answer(200, EVENTS, b"", stream)


def database_routes(kind: str) -> dict[str, tuple[str, Handler]]:
    """The database routes of one store: `raw` or `orm`."""

    async def db(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
        return json_answer((await backends.store(kind).worlds(1))[0])

    async def queries(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
        return json_answer(await backends.store(kind).worlds(contract.clamp_count(last)))

    async def updates(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
        return json_answer(await backends.store(kind).update_worlds(contract.clamp_count(last)))

    async def fortunes(backends: Backends, scope: Scope, protocol: Protocol, last: str) -> Answer:
        return Answer(200, HTML, jinja.fortunes_page(await backends.store(kind).fortunes()).encode())

    return {
        f"/{kind}/db": ("GET", db),
        f"/{kind}/queries/": ("GET", queries),
        f"/{kind}/updates/": ("GET", updates),
        f"/{kind}/fortunes": ("GET", fortunes),
    }


# A path that ends in a slash takes one more segment.
ROUTES: dict[str, tuple[str, Handler]] = {
    "/": ("GET", root),
    "/plaintext": ("GET", plaintext),
    "/json": ("GET", greeting),
    "/simple_json": ("GET", greeting),
    "/json_20kb": ("GET", page),
    "/http-route-example": ("GET", route_example),
    "/simple_request/": ("GET", simple_request),
    "/create_data/": ("GET", create_data),
    "/echo": ("POST", echo),
    **database_routes("raw"),
    **database_routes("orm"),
}


async def answer(backends: Backends, scope: Scope, protocol: Protocol) -> Answer:
    path = scope.path
    route = ROUTES.get(path)
    last = ""
    if route is None:
        parent, _, last = path.rpartition("/")
        # The parent of "/anything" is the root, which takes no segment.
        route = ROUTES.get(parent + "/") if parent else None
        if parent.rpartition("/")[0] == "/sse":
            route, last = ("GET", sse), path[len("/sse/") :]
    if route is None:
        await read(protocol)
        return error(HTTPStatus.NOT_FOUND, f"there is no {path}")
    method, handler = route
    asked = scope.method
    if asked != method and not (asked == "HEAD" and method == "GET"):
        # Granian closes a connection without notice if the response leaves before the body has arrived.
        await read(protocol)
        return error(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {method}", ("allow", method))
    return await handler(backends, scope, protocol, last)


async def send_all(stream: AsyncIterator[bytes], head: tuple[int, list[tuple[str, str]]], protocol: Protocol) -> None:
    transport = protocol.response_stream(*head)
    async for part in stream:
        await transport.send_bytes(part)


async def websocket(scope: Scope, protocol: Protocol) -> None:
    if scope.path != "/ws/echo":
        protocol.close(404)
        return
    transport = await protocol.accept()
    while (message := await transport.receive()).kind:
        await (transport.send_bytes if message.kind == BYTES else transport.send_str)(message.data)
    protocol.close()


class App:
    """The server's hooks: before serving, for each request, and after."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._backends = loop.run_until_complete(self._stack.enter_async_context(open_backends()))

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.run_until_complete(self._stack.aclose())

    async def __rsgi__(self, scope: Scope, protocol: Protocol) -> None:
        if scope.proto == "ws":
            await websocket(scope, protocol)
            return
        status, headers, body, stream = await answer(self._backends, scope, protocol)
        if stream is None:
            protocol.response_bytes(status, headers, body)
        elif scope.method == "HEAD":
            protocol.response_empty(status, headers)
        else:
            await send_all(stream, (status, headers), protocol)


class EventApp(App):
    """The app with the extra behaviour for events (common/events.py)."""

    async def __rsgi__(self, scope: Scope, protocol: Protocol) -> None:
        if scope.proto == "ws":
            await super().__rsgi__(scope, protocol)
            return
        events.work()
        if events.is_large(scope.path):
            transport = protocol.response_stream(200, events.LARGE_HEADERS)
            for piece in events.pieces():
                await transport.send_bytes(piece)
            return
        if events.takes and scope.method == "POST":
            text = b"%d" % len(await protocol())
            protocol.response_bytes(200, [("content-type", "text/plain"), events.pid()], text)
            return
        status, headers, body, stream = await answer(self._backends, scope, protocol)
        if stream is None:
            protocol.response_bytes(status, [*headers, events.pid()], body)
        else:
            await send_all(stream, (status, [*headers, events.pid()]), protocol)


app = EventApp() if events.asked else App()
