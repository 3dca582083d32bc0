"""The contract as a FastAPI application.

Forms, from fastapi.tiangolo.com:
JSON        "Response Model - Return Type", "Custom Response"
templates   "Templates"
database    "SQL (Relational) Databases" (a session for each request; there synchronous)
lifespan    "Lifespan Events"
streams     "Server-Sent Events (SSE)"
websocket   "WebSockets"

Declared return types are the fast way: Pydantic validates and serializes them in compiled code, so FastAPI has
deprecated its own ORJSONResponse (fastapi.tiangolo.com, "Custom Response").
"""

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Optional

from common import contract
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced
from fastapi import APIRouter, FastAPI, Request, Response, WebSocket
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.convertors import Convertor, register_url_convertor

# Before Python 3.12, Pydantic accepts only this TypedDict, which it validates in half the time of a model.
from typing_extensions import TypedDict

try:
    from fastapi.sse import EventSourceResponse
except ImportError:  # before 0.135, as on Python 3.9
    EventSourceResponse = None  # type: ignore[assignment,misc]


class World(TypedDict):
    id: int
    randomNumber: int


class Greeting(TypedDict):
    message: str


class Waited(TypedDict):
    duration: int


class Created(TypedDict):
    created: int


class Event(TypedDict):
    n: int
    token: str


class SegmentConvertor(Convertor[str]):
    """A path segment that may be empty: the router's own `str` needs at least one character."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("segment", SegmentConvertor())


# With its own environment, so that the file is not checked on each request (auto_reload).
templates = Jinja2Templates(
    env=Environment(loader=FileSystemLoader("templates"), autoescape=select_autoescape(), auto_reload=False)
)


class State(TypedDict):
    backends: Backends


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[State]:
    async with open_backends() as backends:
        yield {"backends": backends}


app = FastAPI(
    lifespan=lifespan,
    # No OpenAPI schema or pages: their routes would be tried first.
    openapi_url=None,
    # A path with an extra slash is a different path (404), not a redirect.
    redirect_slashes=False,
    # Nothing collects telemetry here, but each request would check for a collector three times.
    telemetry={"tracing": False, "metrics": False, "logs": False},
)


# Routes are tried in the order of their definition, so the most requested come first.


@app.get("/plaintext")
async def plaintext() -> PlainTextResponse:
    return PlainTextResponse(contract.GREETING)


@app.get("/simple_json")
@app.get("/json")
async def greeting() -> Greeting:
    return {"message": contract.GREETING}


@app.get("/json_20kb")
async def page() -> dict[str, Any]:
    return contract.PAGE


def database_router(kind: str) -> APIRouter:
    """The database routes of one store: `raw` or `orm`."""
    router = APIRouter(prefix=f"/{kind}", redirect_slashes=False)

    def store(request: Request) -> Store:
        backends: Backends = request.state.backends
        return backends.store(kind)

    @router.get("/db")
    async def db(request: Request) -> World:
        return (await store(request).worlds(1))[0]

    @router.get("/queries/{count:segment}")
    async def queries(count: str, request: Request) -> list[World]:
        return await store(request).worlds(contract.clamp_count(count))

    @router.get("/updates/{count:segment}")
    async def updates(count: str, request: Request) -> list[World]:
        return await store(request).update_worlds(contract.clamp_count(count))

    @router.get("/fortunes", response_class=HTMLResponse)
    async def fortunes(request: Request) -> Response:
        context = {"fortunes": contract.all_fortunes(await store(request).fortunes())}
        return templates.TemplateResponse(request, "fortunes.html", context)

    return router


app.include_router(database_router("raw"))
app.include_router(database_router("orm"))


@app.get("/")
async def root(duration: Optional[str] = None) -> Waited:
    milliseconds = contract.clamp_duration(duration)
    if milliseconds:
        await asyncio.sleep(milliseconds / 1000)
    return {"duration": milliseconds}


@app.get("/http-route-example")
async def route_example() -> PlainTextResponse:
    return PlainTextResponse(contract.ROUTE_RESPONSE)


@app.get("/simple_request/{ms:segment}")
async def simple_request(ms: str, request: Request) -> JSONResponse:
    # Pass on any JSON: there is no type to validate it against.
    backends: Backends = request.state.backends
    return JSONResponse(await backends.upstream.delay(contract.clamp_duration(ms)))


@app.exception_handler(UpstreamError)
async def upstream_failed(request: Request, failure: UpstreamError) -> JSONResponse:
    return JSONResponse({"error": str(failure)}, 502)


@app.get("/create_data/{count:segment}")
async def create_data(count: str, request: Request) -> Created:
    backends: Backends = request.state.backends
    created = contract.clamp_count(count)
    await backends.raw.create_data(created)
    return {"created": created}


@app.get("/held/{ms:segment}")
def held(ms: str) -> Waited:
    """A plain function, so that it waits in a thread of the pool (docs/events.md, exhausted)."""
    milliseconds = contract.clamp_duration(ms)
    time.sleep(milliseconds / 1000)
    return {"duration": milliseconds}


@app.post("/echo")
async def echo(request: Request) -> JSONResponse:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > contract.ECHO_LIMIT:
            break
    # JSONResponse does not escape non-ASCII text, so a lone surrogate is also a ValueError.
    try:
        return JSONResponse(contract.echo(bytes(body)))
    except ValueError as refusal:
        return JSONResponse({"error": str(refusal)}, 400)


@app.websocket("/ws/echo")
async def websocket_echo(websocket: WebSocket) -> None:
    await websocket.accept()
    while (message := await websocket.receive())["type"] == "websocket.receive":
        text = message.get("text")
        if text is None:
            await websocket.send_bytes(message["bytes"])
        else:
            await websocket.send_text(text)


if EventSourceResponse:

    @app.get("/sse/{count:segment}/{gap:segment}", response_class=EventSourceResponse)
    async def sse(count: str, gap: str) -> AsyncIterable[Event]:
        async for number in paced(contract.clamp_events(count), contract.clamp_gap(gap)):
            yield {"n": number, "token": contract.TOKEN}
