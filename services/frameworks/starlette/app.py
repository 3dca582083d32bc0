"""The contract as a Starlette application.

Forms, from starlette.dev:
JSON        "Responses" (Custom JSON serialization)
templates   "Templates"
database    "Database" (none of its own: SQLAlchemy first among the popular)
lifespan    "Lifespan" (Lifespan State)
streams     "Responses" (Third party responses: EventSourceResponse of sse-starlette)
websocket   "WebSockets" (sending and receiving messages)
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypedDict

from common import contract, fast_json
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced
from jinja2 import Environment, FileSystemLoader, select_autoescape
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.templating import Jinja2Templates
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket


class SegmentConvertor(Convertor[str]):
    """A path segment that may be empty: Starlette's own `str` needs at least one character."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("segment", SegmentConvertor())


class OrjsonResponse(JSONResponse):
    """A response with orjson, as in Starlette's documentation ("Responses", custom JSON serialization)."""

    def render(self, content: Any) -> bytes:
        return fast_json.dumps(content)


class Answering:
    """An endpoint as an ASGI application ("Routing"), which saves creating a Request that it does not read."""

    def __init__(self, answer: Callable[[], Response]) -> None:
        self.answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.answer()(scope, receive, send)


# With its own environment ("Templates"), so that the file is not checked on each request (auto_reload).
templates = Jinja2Templates(
    env=Environment(loader=FileSystemLoader("templates"), autoescape=select_autoescape(), auto_reload=False)
)


class State(TypedDict):
    backends: Backends


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[State]:
    async with open_backends() as backends:
        yield {"backends": backends}


async def root(request: Request) -> JSONResponse:
    duration = contract.clamp_duration(request.query_params.get("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    return OrjsonResponse({"duration": duration})


def plaintext() -> PlainTextResponse:
    return PlainTextResponse(contract.GREETING)


def greeting() -> OrjsonResponse:
    return OrjsonResponse({"message": contract.GREETING})


def page() -> OrjsonResponse:
    return OrjsonResponse(contract.PAGE)


def route_example() -> PlainTextResponse:
    return PlainTextResponse(contract.ROUTE_RESPONSE)


async def simple_request(request: Request) -> JSONResponse:
    upstream = request.state.backends.upstream
    return JSONResponse(await upstream.delay(contract.clamp_duration(request.path_params["ms"])))


async def upstream_failed(request: Request, failure: Exception) -> JSONResponse:
    return JSONResponse({"error": str(failure)}, 502)


def held(request: Request) -> JSONResponse:
    """A plain function, so that it waits in a thread of the pool (docs/events.md, exhausted)."""
    duration = contract.clamp_duration(request.path_params["ms"])
    time.sleep(duration / 1000)
    return OrjsonResponse({"duration": duration})


async def create_data(request: Request) -> JSONResponse:
    count = contract.clamp_count(request.path_params["count"])
    await request.state.backends.raw.create_data(count)
    return OrjsonResponse({"created": count})


async def echo(request: Request) -> JSONResponse:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > contract.ECHO_LIMIT:
            break
    # Not orjson: a client may send numbers that it rejects. JSONResponse does not escape non-ASCII text, so a lone
    # surrogate is also a ValueError.
    try:
        return JSONResponse(contract.echo(bytes(body)))
    except ValueError as refusal:
        return JSONResponse({"error": str(refusal)}, 400)


async def sse(request: Request) -> EventSourceResponse:
    asked = request.path_params
    numbers = paced(contract.clamp_events(asked["count"]), contract.clamp_gap(asked["gap"]))
    return EventSourceResponse({"data": contract.event_data(number)} async for number in numbers)


async def websocket_echo(websocket: WebSocket) -> None:
    await websocket.accept()
    while (message := await websocket.receive())["type"] == "websocket.receive":
        text = message.get("text")
        if text is None:
            await websocket.send_bytes(message["bytes"])
        else:
            await websocket.send_text(text)


def database_routes(kind: str) -> list[Route]:
    """The database routes of one store: `raw` or `orm`."""

    def store(request: Request) -> Store:
        backends: Backends = request.state.backends
        return backends.store(kind)

    async def db(request: Request) -> JSONResponse:
        return OrjsonResponse((await store(request).worlds(1))[0])

    async def queries(request: Request) -> JSONResponse:
        count = contract.clamp_count(request.path_params["count"])
        return OrjsonResponse(await store(request).worlds(count))

    async def updates(request: Request) -> JSONResponse:
        count = contract.clamp_count(request.path_params["count"])
        return OrjsonResponse(await store(request).update_worlds(count))

    async def fortunes(request: Request) -> Response:
        context = {"fortunes": contract.all_fortunes(await store(request).fortunes())}
        return templates.TemplateResponse(request, "fortunes.html", context)

    return [
        Route(f"/{kind}/db", db),
        Route(f"/{kind}/queries/{{count:segment}}", queries),
        Route(f"/{kind}/updates/{{count:segment}}", updates),
        Route(f"/{kind}/fortunes", fortunes),
    ]


app = Starlette(
    routes=[
        # Routes are tried in this order, so the most requested come first.
        Route("/json", Answering(greeting), methods=["GET"]),
        Route("/plaintext", Answering(plaintext), methods=["GET"]),
        *database_routes("raw"),
        *database_routes("orm"),
        Route("/", root),
        Route("/simple_json", Answering(greeting), methods=["GET"]),
        Route("/json_20kb", Answering(page), methods=["GET"]),
        Route("/http-route-example", Answering(route_example), methods=["GET"]),
        Route("/simple_request/{ms:segment}", simple_request),
        Route("/create_data/{count:segment}", create_data),
        Route("/held/{ms:segment}", held),
        Route("/echo", echo, methods=["POST"]),
        Route("/sse/{count:segment}/{gap:segment}", sse),
        WebSocketRoute("/ws/echo", websocket_echo),
    ],
    exception_handlers={UpstreamError: upstream_failed},
    lifespan=lifespan,
)
# A path with an extra slash is a different path (404), not a redirect.
app.router.redirect_slashes = False
