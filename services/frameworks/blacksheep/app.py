"""The contract as a BlackSheep application.

Forms, from neoteroi.dev/blacksheep:
JSON        "Settings" (using orjson: a response of its own, the fastest form)
templates   "Server Side Rendering" (Jinja2)
database    "The Application class" (lifespan: for pools of connections), "Dependency injection"
lifespan    the same
streams     "Server-Sent Events"
websocket   "WebSocket"
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from blacksheep import Application, Content, Request, Response, WebSocket, WebSocketDisconnectError, get, post
from blacksheep.server.rendering.jinja2 import JinjaRenderer
from blacksheep.server.responses import text, view
from blacksheep.server.routing import Route
from blacksheep.server.sse import ServerSentEvent
from blacksheep.settings.html import html_settings
from common import contract, fast_json
from common.async_backends import Backends, UpstreamError, open_backends
from common.async_paced import paced
from jinja2 import FileSystemLoader

html_settings.use(JinjaRenderer(FileSystemLoader("templates")))
# A path segment that may be empty: BlackSheep's own `string` needs at least one character.
Route.value_patterns["segment"] = r"[^\/]*"

app = Application()


def json(value: Any, status: int = 200) -> Response:
    """A response from bytes: the framework's own json() takes text, which it would encode again."""
    return Response(status, None, Content(b"application/json", fast_json.dumps(value)))


def foreign_json(value: Any) -> Response:
    """For JSON from a client or the upstream, which may hold numbers and lone surrogates that orjson rejects."""
    return Response(200, None, Content(b"application/json", contract.to_json(value).encode()))


@app.lifespan
async def backends(app: Application) -> AsyncIterator[None]:
    async with open_backends() as opened:
        app.services.register(Backends, instance=opened)
        yield


@get("/")
async def root(request: Request) -> Response:
    asked = request.query.get("duration")
    duration = contract.clamp_duration(asked[0] if asked else None)
    if duration:
        await asyncio.sleep(duration / 1000)
    return json({"duration": duration})


@get("/plaintext")
async def plaintext() -> Response:
    return text(contract.GREETING)


@get("/json")
@get("/simple_json")
async def greeting() -> Response:
    return json({"message": contract.GREETING})


@get("/json_20kb")
async def page() -> Response:
    return json(contract.PAGE)


@get("/http-route-example")
async def route_example() -> Response:
    return text(contract.ROUTE_RESPONSE)


@get("/simple_request/{segment:ms}")
async def simple_request(ms: str, backends: Backends) -> Response:
    try:
        return foreign_json(await backends.upstream.delay(contract.clamp_duration(ms)))
    except UpstreamError as failure:
        return json({"error": str(failure)}, 502)


@get("/create_data/{segment:text}")
async def create_data(text: str, backends: Backends) -> Response:
    count = contract.clamp_count(text)
    await backends.raw.create_data(count)
    return json({"created": count})


@post("/echo")
async def echo(request: Request) -> Response:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > contract.ECHO_LIMIT:
            break
    try:
        return foreign_json(contract.echo(bytes(body)))
    except ValueError as refusal:
        return json({"error": str(refusal)}, 400)


@get("/sse/{segment:count}/{segment:gap}")
async def sse(count: str, gap: str) -> AsyncIterable[ServerSentEvent]:
    async for number in paced(contract.clamp_events(count), contract.clamp_gap(gap)):
        yield ServerSentEvent(contract.event(number))


@app.router.ws("/ws/echo")
async def websocket_echo(websocket: WebSocket) -> None:
    await websocket.accept()
    try:
        while True:
            message = await websocket.receive()
            text = message.get("text")
            if text is None:
                await websocket.send_bytes(message["bytes"])
            else:
                await websocket.send_text(text)
    except WebSocketDisconnectError:
        pass


def database_routes(kind: str) -> None:
    """Add the database routes of one store: `raw` or `orm`."""

    @get(f"/{kind}/db")
    async def db(backends: Backends) -> Response:
        return json((await backends.store(kind).worlds(1))[0])

    @get(f"/{kind}/queries/{{segment:text}}")
    async def queries(text: str, backends: Backends) -> Response:
        return json(await backends.store(kind).worlds(contract.clamp_count(text)))

    @get(f"/{kind}/updates/{{segment:text}}")
    async def updates(text: str, backends: Backends) -> Response:
        return json(await backends.store(kind).update_worlds(contract.clamp_count(text)))

    @get(f"/{kind}/fortunes")
    async def fortunes(backends: Backends) -> Response:
        return view("fortunes", {"fortunes": contract.all_fortunes(await backends.store(kind).fortunes())})


database_routes("raw")
database_routes("orm")


async def fallback(request: Request) -> Response:
    """Tell a wrong method (405) from a wrong path (404): BlackSheep's router answers both with 404."""
    path = request.url.path
    for method in ("GET", "POST"):
        if app.router.get_matching_route(method, path):
            response = json({"error": f"this path takes {method}"}, 405)
            response.add_header(b"Allow", method.encode())
            return response
    return json({"error": "there is no such path"}, 404)


app.router.fallback = fallback
