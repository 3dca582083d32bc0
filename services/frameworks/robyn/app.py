"""The contract as a Robyn application.

Forms, from robyn.tech:
JSON        "Getting Started" (Working with JSON: returning a dictionary)
templates   "Templating" (JinjaTemplate)
database    "Modeling Routes" (SQLAlchemy, a sessionmaker without autoflush)
lifespan    "Middlewares, Events and Websockets" (Handling Events)
streams     "Server-Sent Events"

Rust sends what a handler returns: dictionaries and lists through orjson, text unchanged.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from common import contract, work
from common.async_backends import Backends, UpstreamError, open_backends
from common.async_paced import paced
from robyn import Headers, HttpMethod, Request, Response, Robyn, SSEMessage, SSEResponse, jsonify
from robyn.templating import JinjaTemplate

JSON = Headers({"Content-Type": "application/json"})
METHODS = (HttpMethod.GET, HttpMethod.POST, HttpMethod.PUT, HttpMethod.DELETE, HttpMethod.PATCH, HttpMethod.OPTIONS)

app = Robyn(__file__)
templates = JinjaTemplate("templates")
# As for the other frameworks: the file is not checked on each request.
templates.env.auto_reload = False
stack = AsyncExitStack()
opened: list[Backends] = []


async def open_all() -> None:
    opened.append(await stack.enter_async_context(open_backends()))


async def close_all() -> None:
    await stack.aclose()


if work.asked:

    @app.before_request()
    def working(request: Request) -> Request:
        work.work()
        return request


app.startup_handler(open_all)
app.shutdown_handler(close_all)


def error(status: int, text: str) -> Response:
    return Response(status, JSON, jsonify({"error": text}))


@app.get("/")
async def root(request: Request) -> dict[str, int]:
    duration = contract.clamp_duration(request.query_params.get("duration", None))
    if duration:
        await asyncio.sleep(duration / 1000)
    return {"duration": duration}


@app.get("/plaintext")
async def plaintext() -> str:
    return contract.GREETING


async def greeting() -> dict[str, str]:
    return {"message": contract.GREETING}


async def page() -> dict[str, Any]:
    return contract.PAGE


app.get("/json")(greeting)
app.get("/simple_json")(greeting)
app.get("/json_20kb")(page)


@app.get("/http-route-example")
async def route_example() -> str:
    return contract.ROUTE_RESPONSE


async def simple_request(request: Request) -> Any:
    try:
        return await opened[0].upstream.delay(contract.clamp_duration(request.path_params.get("ms")))
    except UpstreamError as failure:
        return error(502, str(failure))


async def create_data(request: Request) -> dict[str, int]:
    count = contract.clamp_count(request.path_params.get("count"))
    await opened[0].raw.create_data(count)
    return {"created": count}


@app.post("/echo")
async def echo(request: Request) -> Response:
    body = request.body.encode() if isinstance(request.body, str) else request.body
    # Not by returning the value, because orjson cannot encode integers beyond 64 bits.
    try:
        return Response(200, JSON, contract.to_json(contract.echo(body)))
    except ValueError as refusal:
        return error(400, str(refusal))


@app.get("/sse/:count/:gap")
async def sse(request: Request) -> SSEResponse:
    asked = request.path_params
    numbers = paced(contract.clamp_events(asked.get("count")), contract.clamp_gap(asked.get("gap")))
    return SSEResponse(SSEMessage(contract.event_data(number)) async for number in numbers)


def segment(path: str, name: str, handler: Any) -> None:
    """Add a route whose last segment may be empty: Robyn does not treat a trailing slash as a segment."""
    app.get(path)(handler)
    app.get(f"{path}/:{name}")(handler)


segment("/simple_request", "ms", simple_request)
segment("/create_data", "count", create_data)


def database_routes(kind: str) -> None:
    """Add the database routes of one store: `raw` or `orm`."""

    @app.get(f"/{kind}/db")
    async def db() -> Any:
        return (await opened[0].store(kind).worlds(1))[0]

    async def queries(request: Request) -> Any:
        return await opened[0].store(kind).worlds(contract.clamp_count(request.path_params.get("count")))

    async def updates(request: Request) -> Any:
        return await opened[0].store(kind).update_worlds(contract.clamp_count(request.path_params.get("count")))

    @app.get(f"/{kind}/fortunes")
    async def fortunes() -> Response:
        stored = await opened[0].store(kind).fortunes()
        return templates.render_template("fortunes.html", fortunes=contract.all_fortunes(stored))

    segment(f"/{kind}/queries", "count", queries)
    segment(f"/{kind}/updates", "count", updates)


database_routes("raw")
database_routes("orm")


async def refuse(request: Request) -> Response:
    return error(405, "the path takes another method")


# By default Robyn answers 404, not 405, if a path has routes for other methods only.
for route in [*app.router.get_routes()]:
    for method in METHODS:
        if method != route.route_type:
            app.add_route(method, route.route, refuse)
