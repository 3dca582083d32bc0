"""The contract as a Falcon application for ASGI.

Forms, from falcon.readthedocs.io:
JSON        "Media" (JSONHandler, which names orjson)
templates   none of its own: Jinja2
database    "FAQ" (How do I manage my database connections with ASGI: a pool that middleware opens)
lifespan    "Middleware" (process_startup, process_shutdown)
streams     "The Response Class" (ASGI: sse)
websocket   "WebSocket" (media handlers: other methods take either text or bytes)
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import falcon
import falcon.asgi
from common import contract, fast_json, jinja
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced
from falcon import WebSocketPayloadType
from falcon.asgi import Request, Response, SSEvent, WebSocket
from falcon.media import BinaryBaseHandlerWS, JSONHandler, TextBaseHandlerWS

HTML = "text/html; charset=utf-8"


class Backing:
    """Middleware that opens the backends at startup and closes them at shutdown."""

    backends: Backends

    def __init__(self) -> None:
        self._stack = AsyncExitStack()

    async def process_startup(self, scope: dict[str, Any], event: dict[str, Any]) -> None:
        self.backends = await self._stack.enter_async_context(open_backends())

    async def process_shutdown(self, scope: dict[str, Any], event: dict[str, Any]) -> None:
        await self._stack.aclose()


class Text:
    def __init__(self, text: str) -> None:
        self.text = text

    async def on_get(self, req: Request, resp: Response) -> None:
        resp.content_type = falcon.MEDIA_TEXT
        resp.text = self.text


class Greeting:
    async def on_get(self, req: Request, resp: Response) -> None:
        resp.media = {"message": contract.GREETING}


class Page:
    async def on_get(self, req: Request, resp: Response) -> None:
        resp.media = contract.PAGE


class Root:
    async def on_get(self, req: Request, resp: Response) -> None:
        duration = contract.clamp_duration(req.get_param("duration"))
        if duration:
            await asyncio.sleep(duration / 1000)
        resp.media = {"duration": duration}


class SimpleRequest:
    def __init__(self, backing: Backing) -> None:
        self.backing = backing

    async def on_get(self, req: Request, resp: Response, ms: str) -> None:
        resp.media = await self.backing.backends.upstream.delay(contract.clamp_duration(ms))


class CreateData:
    def __init__(self, backing: Backing) -> None:
        self.backing = backing

    async def on_get(self, req: Request, resp: Response, number: str) -> None:
        count = contract.clamp_count(number)
        await self.backing.backends.raw.create_data(count)
        resp.media = {"created": count}


class Echo:
    async def on_post(self, req: Request, resp: Response) -> None:
        body = await req.stream.read(contract.ECHO_LIMIT + 1)
        try:
            # Not as media: a client may send numbers and lone surrogates, which orjson rejects.
            resp.text = contract.to_json(contract.echo(body))
        except ValueError as refusal:
            raise falcon.HTTPBadRequest(description=str(refusal)) from None


class StoreResource:
    """Base of the resources that use a store."""

    def __init__(self, backing: Backing, kind: str) -> None:
        self.backing = backing
        self.kind = kind

    @property
    def store(self) -> Store:
        return self.backing.backends.store(self.kind)


class Db(StoreResource):
    async def on_get(self, req: Request, resp: Response) -> None:
        resp.media = (await self.store.worlds(1))[0]


class Queries(StoreResource):
    async def on_get(self, req: Request, resp: Response, number: str) -> None:
        resp.media = await self.store.worlds(contract.clamp_count(number))


class Updates(StoreResource):
    async def on_get(self, req: Request, resp: Response, number: str) -> None:
        resp.media = await self.store.update_worlds(contract.clamp_count(number))


class Fortunes(StoreResource):
    async def on_get(self, req: Request, resp: Response) -> None:
        resp.content_type = HTML
        resp.text = jinja.fortunes_page(await self.store.fortunes())


class Events:
    async def on_get(self, req: Request, resp: Response, count: str, gap: str) -> None:
        numbers = paced(contract.clamp_events(count), contract.clamp_gap(gap))
        resp.cache_control = ["no-store"]
        resp.sse = (SSEvent(json=contract.event(number)) async for number in numbers)


class SocketEcho:
    async def on_websocket(self, req: Request, ws: WebSocket) -> None:
        try:
            await ws.accept()
            while True:
                message = await ws.receive_media()
                await ws.send_media(message, KINDS[type(message)])
        except falcon.WebSocketDisconnected:
            pass


KINDS = {str: WebSocketPayloadType.TEXT, bytes: WebSocketPayloadType.BINARY}


class PlainText(TextBaseHandlerWS):
    """Text as it is: Falcon's own handlers are for JSON and MessagePack."""

    def serialize(self, media: Any) -> str:
        return media

    def deserialize(self, payload: str) -> Any:
        return payload


class PlainBytes(BinaryBaseHandlerWS):
    def serialize(self, media: Any) -> bytes:
        return media

    def deserialize(self, payload: bytes) -> Any:
        return payload


async def bad_gateway(req: Request, resp: Response, failure: Exception, params: dict[str, Any]) -> None:
    raise falcon.HTTPBadGateway(description=str(failure))


def refuse(req: Request, resp: Response, refusal: falcon.HTTPError) -> None:
    """Falcon's errors as JSON, whatever the client accepts: by default they may have no body."""
    resp.content_type = falcon.MEDIA_JSON
    resp.media = {"error": refusal.description or refusal.title}


def create_app() -> falcon.asgi.App:
    backing = Backing()
    app = falcon.asgi.App(middleware=[backing])
    handlers = {falcon.MEDIA_JSON: JSONHandler(dumps=fast_json.dumps, loads=fast_json.loads)}
    app.req_options.media_handlers.update(handlers)
    app.resp_options.media_handlers.update(handlers)
    app.ws_options.media_handlers.update(
        {WebSocketPayloadType.TEXT: PlainText(), WebSocketPayloadType.BINARY: PlainBytes()}
    )
    app.add_error_handler(UpstreamError, bad_gateway)
    app.set_error_serializer(refuse)

    app.add_route("/", Root())
    app.add_route("/plaintext", Text(contract.GREETING))
    app.add_route("/json", Greeting())
    app.add_route("/simple_json", Greeting())
    app.add_route("/json_20kb", Page())
    app.add_route("/http-route-example", Text(contract.ROUTE_RESPONSE))
    app.add_route("/simple_request/{ms}", SimpleRequest(backing))
    app.add_route("/create_data/{number}", CreateData(backing))
    app.add_route("/echo", Echo())
    app.add_route("/sse/{count}/{gap}", Events())
    app.add_route("/ws/echo", SocketEcho())
    for kind in ("raw", "orm"):
        app.add_route(f"/{kind}/db", Db(backing, kind))
        app.add_route(f"/{kind}/queries/{{number}}", Queries(backing, kind))
        app.add_route(f"/{kind}/updates/{{number}}", Updates(backing, kind))
        app.add_route(f"/{kind}/fortunes", Fortunes(backing, kind))
    return app


app = create_app()
