"""The contract as a socketify application.

Forms, from docs.socketify.dev:
JSON        "Basics" (cork_send; Using ujson, orjson or any custom JSON serializer)
templates   "Templates" (Jinja2; not by res.render(), which sends no charset)
database    "Basics" (Lifespan / Lifecycle events: for pools of connections)
lifespan    the same (on_start, on_shutdown)
streams     "Basics" (write, end_without_body; Check if is aborted), "Corking"
websocket   "WebSockets and Backpressure"

A request is gone after a handler's first `await`, so handlers read it before that. socketify runs handlers in its own
tasks, not asyncio's, so calls that use timeouts, such as those to the backends, get an asyncio task.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from common import contract, fast_json, jinja, work
from common.async_backends import Backends, UpstreamError, open_backends
from common.async_paced import paced
from socketify import App, CompressOptions

# The server's own objects: the request and the response.
Request = Any
Response = Any

JSON = b"application/json"
HTML = b"text/html; charset=utf-8"

opened: list[Backends] = []


def send_json(response: Response, value: Any, status: int = 200) -> None:
    response.cork_send(fast_json.dumps(value), JSON, status)


def send_foreign_json(response: Response, value: Any) -> None:
    """For JSON from a client or the upstream, which may hold numbers and lone surrogates that orjson rejects."""
    response.cork_send(contract.to_json(value), JSON)


def plaintext(response: Response, request: Request) -> None:
    response.send(contract.GREETING)


def working(response: Response, request: Request) -> None:
    work.work()
    plaintext(response, request)


def greeting(response: Response, request: Request) -> None:
    send_json(response, {"message": contract.GREETING})


def page(response: Response, request: Request) -> None:
    send_json(response, contract.PAGE)


def route_example(response: Response, request: Request) -> None:
    response.send(contract.ROUTE_RESPONSE)


async def root(response: Response, request: Request) -> None:
    duration = contract.clamp_duration(request.get_query("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    send_json(response, {"duration": duration})


async def simple_request(response: Response, request: Request) -> None:
    delay = opened[0].upstream.delay(contract.clamp_duration(request.get_parameter(0)))
    try:
        send_foreign_json(response, await asyncio.create_task(delay))
    except UpstreamError as failure:
        send_json(response, {"error": str(failure)}, 502)


async def create_data(response: Response, request: Request) -> None:
    count = contract.clamp_count(request.get_parameter(0))
    await asyncio.create_task(opened[0].raw.create_data(count))
    send_json(response, {"created": count})


async def echo(response: Response, request: Request) -> None:
    body = await response.get_data()
    try:
        send_foreign_json(response, contract.echo(body.getvalue()))
    except ValueError as refusal:
        send_json(response, {"error": str(refusal)}, 400)


async def sse(response: Response, request: Request) -> None:
    count, gap = request.get_parameter(0), request.get_parameter(1)
    response.write_header("Content-Type", "text/event-stream")
    response.write_header("Cache-Control", "no-store")
    async for number in paced(contract.clamp_events(count), contract.clamp_gap(gap)):
        if response.aborted:
            return
        text = contract.event_text(number)
        response.cork(lambda response, text=text: response.write(text))
    response.cork(lambda response: response.end_without_body())


def websocket_echo(websocket: Any, message: Any, opcode: Any) -> None:
    websocket.send(message, opcode)


def not_found(response: Response, request: Request) -> None:
    send_json(response, {"error": f"there is no {request.get_url()}"}, 404)


def not_allowed(response: Response, request: Request) -> None:
    send_json(response, {"error": f"{request.get_url()} takes another method"}, 405)


def database_routes(kind: str) -> dict[str, Any]:
    """The database routes of one store: `raw` or `orm`."""

    async def db(response: Response, request: Request) -> None:
        rows = await asyncio.create_task(opened[0].store(kind).worlds(1))
        send_json(response, rows[0])

    async def queries(response: Response, request: Request) -> None:
        count = contract.clamp_count(request.get_parameter(0))
        send_json(response, await asyncio.create_task(opened[0].store(kind).worlds(count)))

    async def updates(response: Response, request: Request) -> None:
        count = contract.clamp_count(request.get_parameter(0))
        send_json(response, await asyncio.create_task(opened[0].store(kind).update_worlds(count)))

    async def fortunes(response: Response, request: Request) -> None:
        stored = await asyncio.create_task(opened[0].store(kind).fortunes())
        response.cork_send(jinja.fortunes_page(stored), HTML)

    return {
        f"/{kind}/db": db,
        f"/{kind}/queries/:count": queries,
        f"/{kind}/updates/:count": updates,
        f"/{kind}/fortunes": fortunes,
    }


GET = {
    "/": root,
    "/plaintext": working if work.asked else plaintext,
    "/json": greeting,
    "/simple_json": greeting,
    "/json_20kb": page,
    "/http-route-example": route_example,
    "/simple_request/:ms": simple_request,
    "/create_data/:count": create_data,
    **database_routes("raw"),
    **database_routes("orm"),
}


def create_app() -> App:
    app = App()
    # Otherwise socketify replaces all tasks of the loop with its own.
    app.loop.loop.set_task_factory(None)
    stack = AsyncExitStack()

    @app.on_start
    async def open_all() -> None:
        opened.append(await stack.enter_async_context(open_backends()))

    @app.on_shutdown
    async def close_all() -> None:
        await stack.aclose()

    for path, handler in GET.items():
        # The router does not match an empty segment.
        for form in {path, path.partition(":")[0]}:
            app.get(form, handler)
            app.any(form, not_allowed)
    app.get("/sse/:count/:gap", sse)
    app.any("/sse/:count/:gap", not_allowed)
    options = {"compression": CompressOptions.SHARED_COMPRESSOR, "max_payload_length": 16 << 20}
    app.ws("/ws/echo", {**options, "message": websocket_echo})
    app.post("/echo", echo)
    app.any("/echo", not_allowed)
    app.any("/*", not_found)
    return app
