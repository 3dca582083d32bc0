"""The contract as a Sanic application.

Forms, from sanic.dev:
JSON        "Response" (JSON)
templates   "Sanic Extensions", Templating (Option 1: the decorator, which it calls the fastest)
database    "Sanic Application" (Application context), "ORM" (SQLAlchemy: a session for each request)
lifespan    "Listeners"
streams     "Streaming" (Response streaming)
websocket   "Websockets"
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from common import contract, work
from common.async_backends import Backends, UpstreamError, open_backends
from common.async_paced import paced
from sanic import HTTPResponse, Request, Sanic, Websocket, json, text
from sanic_ext import Extend
from sanic_ext.extensions.templating.extension import TemplatingExtension

app = Sanic("contract", strict_slashes=True)
app.config.FALLBACK_ERROR_FORMAT = "json"
# Only the extension for templates: others add routes, and work to each request.
app.config.AUTO_EXTEND = False
Extend(app, extensions=[TemplatingExtension], built_in_extensions=False)
# Sanic itself answers a larger body with 413.
app.config.REQUEST_MAX_SIZE = contract.ECHO_LIMIT


if work.asked:

    @app.on_request
    async def working(request: Request) -> None:
        work.work()


@app.before_server_start
async def open_all(app: Sanic) -> None:
    app.ctx.stack = AsyncExitStack()
    app.ctx.backends = await app.ctx.stack.enter_async_context(open_backends())


@app.after_server_stop
async def close_all(app: Sanic) -> None:
    await app.ctx.stack.aclose()


def backends(request: Request) -> Backends:
    opened: Backends = request.app.ctx.backends
    return opened


@app.get("/")
async def root(request: Request) -> HTTPResponse:
    duration = contract.clamp_duration(request.args.get("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    return json({"duration": duration})


@app.get("/plaintext")
async def plaintext(request: Request) -> HTTPResponse:
    return text(contract.GREETING)


@app.get("/json", name="json")
@app.get("/simple_json", name="simple_json")
async def greeting(request: Request) -> HTTPResponse:
    return json({"message": contract.GREETING})


@app.get("/json_20kb")
async def page(request: Request) -> HTTPResponse:
    return json(contract.PAGE)


@app.get("/http-route-example")
async def route_example(request: Request) -> HTTPResponse:
    return text(contract.ROUTE_RESPONSE)


@app.get("/simple_request/<ms:strorempty>")
async def simple_request(request: Request, ms: str) -> HTTPResponse:
    return json(await backends(request).upstream.delay(contract.clamp_duration(ms)))


@app.exception(UpstreamError)
async def upstream_failed(request: Request, failure: UpstreamError) -> HTTPResponse:
    return json({"error": str(failure)}, 502)


@app.get("/create_data/<n:strorempty>")
async def create_data(request: Request, n: str) -> HTTPResponse:
    count = contract.clamp_count(n)
    await backends(request).raw.create_data(count)
    return json({"created": count})


@app.post("/echo")
async def echo(request: Request) -> HTTPResponse:
    # Sanic's encoder does not escape non-ASCII text, so a lone surrogate is also a ValueError.
    try:
        return json(contract.echo(request.body))
    except ValueError as refusal:
        return json({"error": str(refusal)}, 400)


@app.get("/sse/<count>/<gap>")
async def sse(request: Request, count: str, gap: str) -> None:
    response = await request.respond(content_type="text/event-stream", headers={"Cache-Control": "no-store"})
    async for number in paced(contract.clamp_events(count), contract.clamp_gap(gap)):
        await response.send(contract.event_text(number))
    await response.eof()


@app.websocket("/ws/echo")
async def websocket_echo(request: Request, websocket: Websocket) -> None:
    # Under ASGI, Sanic's object cannot be iterated over, and has None for the end.
    while (message := await websocket.recv()) is not None:
        await websocket.send(message)


def database_routes(kind: str) -> None:
    """Add the database routes of one store: `raw` or `orm`."""

    @app.get(f"/{kind}/db", name=f"{kind}_db")
    async def db(request: Request) -> HTTPResponse:
        return json((await backends(request).store(kind).worlds(1))[0])

    @app.get(f"/{kind}/queries/<n:strorempty>", name=f"{kind}_queries")
    async def queries(request: Request, n: str) -> HTTPResponse:
        return json(await backends(request).store(kind).worlds(contract.clamp_count(n)))

    @app.get(f"/{kind}/updates/<n:strorempty>", name=f"{kind}_updates")
    async def updates(request: Request, n: str) -> HTTPResponse:
        return json(await backends(request).store(kind).update_worlds(contract.clamp_count(n)))

    @app.get(f"/{kind}/fortunes", name=f"{kind}_fortunes")
    @app.ext.template("fortunes.html")
    async def fortunes(request: Request) -> dict[str, Any]:
        return {"fortunes": contract.all_fortunes(await backends(request).store(kind).fortunes())}


database_routes("raw")
database_routes("orm")
