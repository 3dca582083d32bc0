"""The contract as a bare ASGI callable: one dictionary of routes, no framework.

Forms, from asgi.readthedocs.io ("HTTP & WebSocket ASGI Message Format"), and for the rest what an author would choose:
JSON        orjson's README (dumps)
templates   jinja.palletsprojects.com, "API" (Basics)
database    "Lifespan Protocol" (Lifespan State)
lifespan    the same
streams     as the other HTTP messages (Response Body, more_body; Disconnect)
websocket   "WebSocket"
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any, NamedTuple, Optional
from urllib.parse import parse_qs

from common import contract, events, fast_json, jinja
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Answer(NamedTuple):
    status: int
    content_type: bytes
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    stream: Optional[AsyncIterator[bytes]] = None


# Takes the scope, `receive` and the last path segment.
Handler = Callable[[Message, Receive, str], Awaitable[Answer]]

TEXT = b"text/plain; charset=utf-8"
HTML = b"text/html; charset=utf-8"
JSON = b"application/json"
EVENTS = b"text/event-stream"
UNSTORED = ((b"cache-control", b"no-store"),)

GREETING = contract.GREETING.encode()
ROUTE_RESPONSE = contract.ROUTE_RESPONSE.encode()


def backends(scope: Message) -> Backends:
    opened: Backends = scope["state"]["backends"]
    return opened


def json_answer(value: Any) -> Answer:
    return Answer(200, JSON, fast_json.dumps(value))


def foreign_json(value: Any, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """For JSON from a client or the upstream, which may hold numbers and lone surrogates that orjson rejects."""
    return Answer(status, JSON, contract.to_json(value).encode(), headers)


def error(status: HTTPStatus, text: str, *headers: tuple[bytes, bytes]) -> Answer:
    return foreign_json({"error": text}, status, headers)


async def plaintext(scope: Message, receive: Receive, last: str) -> Answer:
    return Answer(200, TEXT, GREETING)


async def greeting(scope: Message, receive: Receive, last: str) -> Answer:
    return json_answer({"message": contract.GREETING})


async def page(scope: Message, receive: Receive, last: str) -> Answer:
    return json_answer(contract.PAGE)


async def route_example(scope: Message, receive: Receive, last: str) -> Answer:
    return Answer(200, TEXT, ROUTE_RESPONSE)


async def root(scope: Message, receive: Receive, last: str) -> Answer:
    query = scope["query_string"]
    asked = parse_qs(query.decode("latin-1")).get("duration", [None])[0] if query else None
    duration = contract.clamp_duration(asked)
    if duration:
        await asyncio.sleep(duration / 1000)
    return json_answer({"duration": duration})


async def simple_request(scope: Message, receive: Receive, last: str) -> Answer:
    try:
        return foreign_json(await backends(scope).upstream.delay(contract.clamp_duration(last)))
    except UpstreamError as failure:
        return error(HTTPStatus.BAD_GATEWAY, str(failure))


async def create_data(scope: Message, receive: Receive, last: str) -> Answer:
    count = contract.clamp_count(last)
    await backends(scope).raw.create_data(count)
    return json_answer({"created": count})


async def echo(scope: Message, receive: Receive, last: str) -> Answer:
    body = bytearray()
    more = True
    while more and len(body) <= contract.ECHO_LIMIT:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    try:
        return foreign_json(contract.echo(bytes(body)))
    except ValueError as refusal:
        return error(HTTPStatus.BAD_REQUEST, str(refusal))


async def sse(scope: Message, receive: Receive, last: str) -> Answer:
    count, _, gap = last.partition("/")
    numbers = paced(contract.clamp_events(count), contract.clamp_gap(gap))
    stream = (b"data: %b\n\n" % fast_json.dumps(contract.event(number)) async for number in numbers)
    return Answer(200, EVENTS, b"", UNSTORED, stream)


def database_routes(kind: str) -> dict[str, tuple[str, Handler]]:
    """The database routes of one store: `raw` or `orm`."""

    def store(scope: Message) -> Store:
        return backends(scope).store(kind)

    async def db(scope: Message, receive: Receive, last: str) -> Answer:
        return json_answer((await store(scope).worlds(1))[0])

    async def queries(scope: Message, receive: Receive, last: str) -> Answer:
        return json_answer(await store(scope).worlds(contract.clamp_count(last)))

    async def updates(scope: Message, receive: Receive, last: str) -> Answer:
        return json_answer(await store(scope).update_worlds(contract.clamp_count(last)))

    async def fortunes(scope: Message, receive: Receive, last: str) -> Answer:
        return Answer(200, HTML, jinja.fortunes_page(await store(scope).fortunes()).encode())

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


async def answer(scope: Message, receive: Receive) -> Answer:
    path = scope["path"]
    route = ROUTES.get(path)
    last = ""
    if route is None:
        parent, _, last = path.rpartition("/")
        # The parent of "/anything" is the root, which takes no segment.
        route = ROUTES.get(parent + "/") if parent else None
        if parent.rpartition("/")[0] == "/sse":
            route, last = ("GET", sse), path[len("/sse/") :]
    if route is None:
        return error(HTTPStatus.NOT_FOUND, f"there is no {path}")
    method, handler = route
    asked = scope["method"]
    if asked != method and not (asked == "HEAD" and method == "GET"):
        return error(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {method}", (b"allow", method.encode()))
    return await handler(scope, receive, last)


@events.asgi
async def app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        await (lifespan if scope["type"] == "lifespan" else websocket)(scope, receive, send)
        return
    status, content_type, body, more, stream = await answer(scope, receive)
    if stream is not None:
        headers = [(b"content-type", content_type), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if scope["method"] != "HEAD":
            await until_either(send_all(stream, send), disconnect(receive))
        await send({"type": "http.response.body", "body": b""})
        return
    headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_all(stream: AsyncIterator[bytes], send: Send) -> None:
    async for part in stream:
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def until_either(*works: Awaitable[None]) -> None:
    """Do both until one of them ends: nothing else tells that a client has left."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def websocket(scope: Message, receive: Receive, send: Send) -> None:
    await receive()
    if scope["path"] != "/ws/echo":
        await send({"type": "websocket.close"})
        return
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        text = message.get("text")
        kind, data = ("bytes", message["bytes"]) if text is None else ("text", text)
        await send({"type": "websocket.send", kind: data})


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    async with AsyncExitStack() as stack:
        await receive()
        scope["state"]["backends"] = await stack.enter_async_context(open_backends())
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
