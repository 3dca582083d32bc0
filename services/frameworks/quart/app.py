"""The contract as a Quart application.

Forms, from quart.palletsprojects.com:
JSON        "Response Return Values" (dict); its encoder: "JSON Encoding" (JSONProvider)
templates   "Templates"
database    "Startup and Shutdown" (a pool on the app)
lifespan    the same (while_serving)
streams     "Server Sent Events"
websocket   "Using websockets"
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from common import contract
from common.async_backends import Backends, UpstreamError, open_backends
from common.async_paced import paced
from quart import Quart, Response, make_response, render_template, request, websocket
from quart.json.provider import JSONProvider
from quart.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter


class CompactProvider(JSONProvider):
    """One encoder for all requests (Quart's documentation: "JSON Encoding"): the default makes one for each."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return contract.to_json(obj)

    def loads(self, s: Any, **kwargs: Any) -> Any:
        return json.loads(s, **kwargs)


app = Quart(__name__)
app.json = CompactProvider(app)
app.config["MAX_CONTENT_LENGTH"] = contract.ECHO_LIMIT
BACKENDS = "backends"


class NumberConverter(BaseConverter):
    """The last path segment, any text or none: the contract clamps it, not the router."""

    regex = "[^/]*"


app.url_map.converters["number"] = NumberConverter


@app.while_serving
async def lifespan() -> AsyncGenerator[None, None]:
    async with open_backends() as backends:
        app.extensions[BACKENDS] = backends
        yield


def backends() -> Backends:
    opened: Backends = app.extensions[BACKENDS]
    return opened


@app.get("/plaintext")
async def plaintext() -> ResponseReturnValue:
    return Response(contract.GREETING, mimetype="text/plain")


@app.get("/json")
@app.get("/simple_json")
async def greeting() -> ResponseReturnValue:
    return {"message": contract.GREETING}


@app.get("/json_20kb")
async def page() -> ResponseReturnValue:
    return contract.PAGE


@app.get("/http-route-example")
async def route_example() -> ResponseReturnValue:
    return Response(contract.ROUTE_RESPONSE, mimetype="text/plain")


@app.get("/")
async def root() -> ResponseReturnValue:
    duration = contract.clamp_duration(request.args.get("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    return {"duration": duration}


@app.get("/simple_request/<number:milliseconds>")
async def simple_request(milliseconds: str) -> ResponseReturnValue:
    # Pass on any JSON, including what Quart does not accept as a view's return value.
    return app.json.response(await backends().upstream.delay(contract.clamp_duration(milliseconds)))


@app.get("/create_data/<number:n>")
async def create_data(n: str) -> ResponseReturnValue:
    count = contract.clamp_count(n)
    await backends().raw.create_data(count)
    return {"created": count}


@app.get("/<any(raw, orm):kind>/db")
async def db(kind: str) -> ResponseReturnValue:
    return dict((await backends().store(kind).worlds(1))[0])


@app.get("/<any(raw, orm):kind>/queries/<number:n>")
async def queries(kind: str, n: str) -> ResponseReturnValue:
    return list(await backends().store(kind).worlds(contract.clamp_count(n)))


@app.get("/<any(raw, orm):kind>/updates/<number:n>")
async def updates(kind: str, n: str) -> ResponseReturnValue:
    return list(await backends().store(kind).update_worlds(contract.clamp_count(n)))


@app.get("/<any(raw, orm):kind>/fortunes")
async def fortunes(kind: str) -> ResponseReturnValue:
    stored = await backends().store(kind).fortunes()
    return await render_template("fortunes.html", fortunes=contract.all_fortunes(stored))


@app.post("/echo")
async def echo() -> ResponseReturnValue:
    try:
        return contract.echo(await request.get_data(cache=False))
    except ValueError as refusal:
        return {"error": str(refusal)}, 400


@app.get("/sse/<number:count>/<number:gap>")
async def sse(count: str, gap: str) -> ResponseReturnValue:
    numbers = paced(contract.clamp_events(count), contract.clamp_gap(gap))
    events = (contract.event_text(number).encode() async for number in numbers)
    response = await make_response(events, {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    response.timeout = None
    return response


@app.websocket("/ws/echo")
async def websocket_echo() -> None:
    while True:
        await websocket.send(await websocket.receive())


@app.errorhandler(UpstreamError)
async def bad_gateway(failure: UpstreamError) -> ResponseReturnValue:
    return {"error": str(failure)}, 502


@app.errorhandler(HTTPException)
async def refused(refusal: HTTPException) -> Any:
    """Quart's own errors (404, 405, 413) as JSON, with their headers (Allow)."""
    response = refusal.get_response()
    response.data = app.json.dumps({"error": refusal.description})
    response.content_type = "application/json"
    return response
