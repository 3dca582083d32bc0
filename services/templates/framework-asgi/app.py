"""The contract as a NAME application. Replace this: it is the basic routes as a bare ASGI app, without NAME."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from common import contract

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TEXT = b"text/plain; charset=utf-8"
JSON = b"application/json"


async def root(scope: Message) -> tuple[bytes, str]:
    query = parse_qs(scope["query_string"].decode("latin-1"))
    duration = contract.clamp_duration(query.get("duration", [None])[0])
    if duration:
        await asyncio.sleep(duration / 1000)
    return JSON, contract.to_json({"duration": duration})


async def plaintext(scope: Message) -> tuple[bytes, str]:
    return TEXT, contract.GREETING


async def greeting(scope: Message) -> tuple[bytes, str]:
    return JSON, contract.to_json({"message": contract.GREETING})


async def route_example(scope: Message) -> tuple[bytes, str]:
    return TEXT, contract.ROUTE_RESPONSE


ROUTES = {
    "/": root,
    "/plaintext": plaintext,
    "/json": greeting,
    "/simple_json": greeting,
    "/http-route-example": route_example,
}


async def app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        for event in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{event}.complete"})
        return
    route = ROUTES.get(scope["path"])
    if route is None:
        status, (content_type, text) = 404, (TEXT, "there is no such path")
    elif scope["method"] != "GET":
        status, (content_type, text) = 405, (TEXT, "this path takes GET")
    else:
        status, (content_type, text) = 200, await route(scope)
    body = text.encode()
    headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
