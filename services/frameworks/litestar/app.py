"""The contract as a Litestar application.

Forms, from docs.litestar.dev:
JSON        "Responses" (returning responses); "Serialization" (encode_json)
templates   "Templating" (Template responses)
database    "Applications" (Lifespan context managers: an engine as the example; Using Application State)
lifespan    the same
streams     "Responses" (Server Sent Event Responses)
websocket   "WebSockets" (the low-level handler: a listener takes either text or bytes)
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Optional, Union

from common import contract
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced
from jinja2 import Environment, FileSystemLoader, select_autoescape
from litestar import Litestar, MediaType, Request, Response, Router, WebSocket, get, post, websocket
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.response import ServerSentEvent, Template
from litestar.serialization import encode_json
from litestar.template import TemplateConfig


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncIterator[None]:
    async with open_backends() as backends:
        app.state.backends = backends
        yield


def json_response(value: Any) -> Response[bytes]:
    """A response from Litestar's own encoder.

    For a handler annotated with a Response, Litestar prepares the response once; for other types, on each request.
    """
    return Response(encode_json(value), media_type=MediaType.JSON)


@get("/")
async def root(duration: Optional[str] = None) -> dict[str, int]:
    milliseconds = contract.clamp_duration(duration)
    if milliseconds:
        await asyncio.sleep(milliseconds / 1000)
    return {"duration": milliseconds}


@get("/plaintext", media_type=MediaType.TEXT)
async def plaintext() -> str:
    return contract.GREETING


@get(["/json", "/simple_json"])
async def greeting() -> Response[bytes]:
    return json_response({"message": contract.GREETING})


@get("/json_20kb")
async def page() -> Response[bytes]:
    return json_response(contract.PAGE)


@get("/http-route-example", media_type=MediaType.TEXT)
async def route_example() -> str:
    return contract.ROUTE_RESPONSE


# Litestar's router drops a trailing slash, so a path with an empty number has no such segment.
@get(["/simple_request", "/simple_request/{ms:str}"])
async def simple_request(request: Request, ms: str = "") -> Any:
    backends: Backends = request.app.state.backends
    return await backends.upstream.delay(contract.clamp_duration(ms))


def upstream_failed(request: Request, failure: UpstreamError) -> Response[dict[str, str]]:
    return Response({"error": str(failure)}, status_code=502)


@get(["/create_data", "/create_data/{count:str}"])
async def create_data(request: Request, count: str = "") -> dict[str, int]:
    backends: Backends = request.app.state.backends
    created = contract.clamp_count(count)
    await backends.raw.create_data(created)
    return {"created": created}


# Litestar itself answers a larger body with 413.
@post("/echo", status_code=200, request_max_body_size=contract.ECHO_LIMIT)
async def echo(body: bytes) -> Response[Union[bytes, dict[str, str]]]:
    # With escapes: msgspec cannot encode a lone surrogate.
    try:
        return Response(contract.to_json(contract.echo(body)).encode(), media_type=MediaType.JSON)
    except ValueError as refusal:
        return Response({"error": str(refusal)}, status_code=400)


@get("/sse/{count:str}/{gap:str}")
async def sse(count: str, gap: str) -> ServerSentEvent:
    numbers = paced(contract.clamp_events(count), contract.clamp_gap(gap))
    return ServerSentEvent(contract.event_data(number) async for number in numbers)


@websocket("/ws/echo")
async def websocket_echo(socket: WebSocket) -> None:
    await socket.accept()
    while (message := await socket.receive())["type"] == "websocket.receive":
        text = message.get("text")
        if text is None:
            await socket.send_bytes(message["bytes"])
        else:
            await socket.send_text(text)


def database_router(kind: str) -> Router:
    """The database routes of one store: `raw` or `orm`."""

    def store(request: Request) -> Store:
        backends: Backends = request.app.state.backends
        return backends.store(kind)

    @get("/db")
    async def db(request: Request) -> Response[bytes]:
        return json_response((await store(request).worlds(1))[0])

    @get(["/queries", "/queries/{count:str}"])
    async def queries(request: Request, count: str = "") -> Response[bytes]:
        return json_response(await store(request).worlds(contract.clamp_count(count)))

    @get(["/updates", "/updates/{count:str}"])
    async def updates(request: Request, count: str = "") -> Response[bytes]:
        return json_response(await store(request).update_worlds(contract.clamp_count(count)))

    @get("/fortunes", media_type=MediaType.HTML)
    async def fortunes(request: Request) -> Template:
        return Template("fortunes.html", context={"fortunes": contract.all_fortunes(await store(request).fortunes())})

    return Router(f"/{kind}", route_handlers=[db, queries, updates, fortunes])


# With its own environment ("Templating", Registering a Custom Template Engine), so that the file is not checked on each
# request.
environment = Environment(loader=FileSystemLoader("templates"), autoescape=select_autoescape(), auto_reload=False)

app = Litestar(
    [
        root,
        plaintext,
        greeting,
        page,
        route_example,
        simple_request,
        create_data,
        echo,
        sse,
        websocket_echo,
        database_router("raw"),
        database_router("orm"),
    ],
    lifespan=[lifespan],
    exception_handlers={UpstreamError: upstream_failed},
    template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(environment)),
    # No OpenAPI schema or pages.
    openapi_config=None,
)
