"""The contract as an aiohttp.web application.

Forms, from docs.aiohttp.org:
JSON        "Server Reference" (json_bytes_response)
templates   "Web Server Advanced" (Template Rendering: aiohttp_jinja2)
database    "Web Server Advanced" (Cleanup Context: an engine for as long as the application)
lifespan    the same (Application.cleanup_ctx)
streams     "Third-Party libraries" (aiohttp-sse, officially supported), whose README has the form
websocket   "Web Server Quickstart" (WebSockets)
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp_jinja2
from aiohttp import WSMsgType, web
from aiohttp_sse import sse_response
from common import contract, fast_json, work
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced
from jinja2 import FileSystemLoader

BACKENDS = web.AppKey("backends", Backends)
routes = web.RouteTableDef()


def json_response(value: object) -> web.Response:
    """Like web.json_bytes_response(), which aiohttp before 3.14 lacks."""
    return web.Response(body=fast_json.dumps(value), content_type="application/json")


def foreign_json(value: object, status: int = 200) -> web.Response:
    """For JSON from a client or the upstream, which may hold numbers and lone surrogates that orjson rejects."""
    return web.json_response(value, status=status, dumps=contract.to_json)


def text_response(text: str) -> web.Response:
    # As bytes: for a `text`, aiohttp would first determine type and charset.
    return web.Response(body=text.encode(), content_type="text/plain")


@routes.get("/")
async def root(request: web.Request) -> web.Response:
    duration = contract.clamp_duration(request.query.get("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    return json_response({"duration": duration})


@routes.get("/plaintext")
async def plaintext(request: web.Request) -> web.Response:
    return text_response(contract.GREETING)


@routes.get("/json")
@routes.get("/simple_json")
async def greeting(request: web.Request) -> web.Response:
    return json_response({"message": contract.GREETING})


@routes.get("/json_20kb")
async def page(request: web.Request) -> web.Response:
    return json_response(contract.PAGE)


@routes.get("/http-route-example")
async def route_example(request: web.Request) -> web.Response:
    return text_response(contract.ROUTE_RESPONSE)


@routes.get("/simple_request/{ms:[^/]*}")
async def simple_request(request: web.Request) -> web.Response:
    milliseconds = contract.clamp_duration(request.match_info["ms"])
    try:
        return foreign_json(await request.app[BACKENDS].upstream.delay(milliseconds))
    except UpstreamError as failure:
        return foreign_json({"error": str(failure)}, 502)


@routes.get("/create_data/{count:[^/]*}")
async def create_data(request: web.Request) -> web.Response:
    count = contract.clamp_count(request.match_info["count"])
    await request.app[BACKENDS].raw.create_data(count)
    return json_response({"created": count})


@routes.post("/echo")
async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    try:
        return foreign_json(contract.echo(body))
    except ValueError as refusal:
        return foreign_json({"error": str(refusal)}, 400)


@routes.get("/sse/{count:[^/]*}/{gap:[^/]*}")
async def sse(request: web.Request) -> web.StreamResponse:
    asked = request.match_info
    numbers = paced(contract.clamp_events(asked["count"]), contract.clamp_gap(asked["gap"]))
    async with sse_response(request) as response:
        async for number in numbers:
            await response.send(contract.event_data(number))
    return response


@routes.get("/ws/echo")
async def websocket_echo(request: web.Request) -> web.WebSocketResponse:
    websocket = web.WebSocketResponse()
    await websocket.prepare(request)
    async for message in websocket:
        if message.type == WSMsgType.TEXT:
            await websocket.send_str(message.data)
        elif message.type == WSMsgType.BINARY:
            await websocket.send_bytes(message.data)
    return websocket


def database_routes(kind: str) -> list[web.RouteDef]:
    """The database routes of one store: `raw` or `orm`."""

    def store(request: web.Request) -> Store:
        return request.app[BACKENDS].store(kind)

    async def db(request: web.Request) -> web.Response:
        return json_response((await store(request).worlds(1))[0])

    async def queries(request: web.Request) -> web.Response:
        count = contract.clamp_count(request.match_info["count"])
        return json_response(await store(request).worlds(count))

    async def updates(request: web.Request) -> web.Response:
        count = contract.clamp_count(request.match_info["count"])
        return json_response(await store(request).update_worlds(count))

    async def fortunes(request: web.Request) -> web.Response:
        context = {"fortunes": contract.all_fortunes(await store(request).fortunes())}
        page = aiohttp_jinja2.render_string("fortunes.html", request, context)
        # As bytes, for the same reason as in text_response(): render_template() sets the response's `text`.
        return web.Response(body=page.encode(), content_type="text/html", charset="utf-8")

    return [
        web.get(f"/{kind}/db", db),
        web.get(f"/{kind}/queries/{{count:[^/]*}}", queries),
        web.get(f"/{kind}/updates/{{count:[^/]*}}", updates),
        web.get(f"/{kind}/fortunes", fortunes),
    ]


async def backends(app: web.Application) -> AsyncIterator[None]:
    async with open_backends() as opened:
        app[BACKENDS] = opened
        yield


@web.middleware
async def working(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    work.work()
    return await handler(request)


async def create_app() -> web.Application:
    """The application factory for aiohttp's own runner and gunicorn's worker."""
    # aiohttp answers larger bodies with 413, and before 3.14 also bodies of exactly this size, hence the extra byte.
    app = web.Application(client_max_size=contract.ECHO_LIMIT + 1, middlewares=[working] if work.asked else ())
    app.add_routes([*routes, *database_routes("raw"), *database_routes("orm")])
    app.cleanup_ctx.append(backends)
    # Without auto_reload, the file is not checked on each request.
    aiohttp_jinja2.setup(app, loader=FileSystemLoader("templates"), auto_reload=False)
    return app
