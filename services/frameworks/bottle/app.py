"""The contract as a Bottle application.

Forms, from bottlepy.org:
JSON        "User's Guide" (Generating content: dictionaries); with ujson, which Bottle prefers to the standard library
templates   "User's Guide" (Templates), "SimpleTemplate"
database    none of its own; a plugin's would be lent to a request, as here ("Writing Plugins")
lifespan    none in WSGI: common/sync_backends.py connects with the first request that needs it
streams     "User's Guide" (Generating content: iterables and generators)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from bottle import Bottle, HTTPError, json_dumps, request, response, template
from common import contract
from common.models import WorldRow
from common.sync_backends import Store, UpstreamError, backends

app = Bottle()

# The last path segment, any text or none: the contract clamps it, not the router.
NUMBER = "<number:re:[^/]*>"


def json_text(text: str) -> str:
    response.content_type = "application/json"
    return text


def json_array(value: list[Any]) -> str:
    """With Bottle's own encoder, which its JSON plugin uses for objects only ("User's Guide", output casting)."""
    return json_text(json_dumps(value))


def foreign_json(value: Any) -> str:
    """For JSON from a client or the upstream, which may be of any type, with numbers that ujson changes."""
    return json_text(contract.to_json(value))


def refuse(status: int, text: str) -> dict[str, str]:
    response.status = status
    return {"error": text}


@app.get("/plaintext")
def plaintext() -> str:
    response.content_type = "text/plain; charset=utf-8"
    return contract.GREETING


@app.get("/json")
@app.get("/simple_json")
def greeting() -> dict[str, str]:
    return {"message": contract.GREETING}


@app.get("/json_20kb")
def page() -> dict[str, Any]:
    return contract.PAGE


@app.get("/http-route-example")
def route_example() -> str:
    response.content_type = "text/plain; charset=utf-8"
    return contract.ROUTE_RESPONSE


@app.get("/")
def root() -> dict[str, int]:
    duration = contract.clamp_duration(request.query.get("duration"))
    if duration:
        time.sleep(duration / 1000)
    return {"duration": duration}


@app.get(f"/simple_request/{NUMBER}")
def simple_request(number: str) -> Any:
    try:
        return foreign_json(backends.upstream.delay(contract.clamp_duration(number)))
    except UpstreamError as failure:
        return refuse(502, str(failure))


@app.get(f"/create_data/{NUMBER}")
def create_data(number: str) -> dict[str, int]:
    count = contract.clamp_count(number)
    backends.raw.create_data(count)
    return {"created": count}


@app.post("/echo")
def echo() -> Any:
    # Checked before Bottle reads the body into a file.
    if request.content_length > contract.ECHO_LIMIT:
        return refuse(413, f"the body is larger than {contract.ECHO_LIMIT} bytes")
    # Bottle decodes a chunked body itself, even if the server has already done so.
    if request.chunked and request.environ.get("wsgi.input_terminated"):
        body = request.environ["wsgi.input"].read(contract.ECHO_LIMIT + 1)
    else:
        body = request.body.read()
    try:
        return foreign_json(contract.echo(body))
    except ValueError as refusal:
        return refuse(400, str(refusal))


@app.get("/sse/<count:re:[^/]*>/<gap:re:[^/]*>")
def sse(count: str, gap: str) -> Iterator[str]:
    response.content_type = "text/event-stream"
    response.set_header("Cache-Control", "no-store")
    for number in contract.paced(contract.clamp_events(count), contract.clamp_gap(gap)):
        yield contract.event_text(number)


def database_routes(kind: str) -> None:
    """Add the database routes of one store: `raw` or `orm`."""
    store: Store = getattr(backends, kind)

    @app.get(f"/{kind}/db")
    def db() -> WorldRow:
        return store.worlds(1)[0]

    @app.get(f"/{kind}/queries/{NUMBER}")
    def queries(number: str) -> str:
        return json_array(store.worlds(contract.clamp_count(number)))

    @app.get(f"/{kind}/updates/{NUMBER}")
    def updates(number: str) -> str:
        return json_array(store.update_worlds(contract.clamp_count(number)))

    @app.get(f"/{kind}/fortunes")
    def fortunes() -> str:
        return template("fortunes", fortunes=contract.all_fortunes(store.fortunes()))


database_routes("raw")
database_routes("orm")


@app.error(400)
@app.error(404)
@app.error(405)
def refused(refusal: HTTPError) -> str:
    """Bottle's own errors as JSON, with their headers (Allow)."""
    return json_text(json_dumps({"error": refusal.body}))
