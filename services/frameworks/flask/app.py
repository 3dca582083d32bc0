"""The contract as a Flask application.

Forms, from flask.palletsprojects.com:
JSON        "Quickstart" (APIs with JSON); its encoder: "API" (JSON Support, JSONProvider)
templates   "Quickstart" (Rendering Templates), "Templates"
database    "SQLAlchemy in Flask" (a sessionmaker without autoflush; a session ends with its request)
lifespan    none in WSGI: common/sync_backends.py connects with the first request that needs it
streams     "Streaming Contents"
"""

import json
import time
from typing import Any

from common import contract
from common.sync_backends import Store, UpstreamError, backends
from flask import Flask, Response, render_template, request
from flask.json.provider import JSONProvider
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter


class CompactProvider(JSONProvider):
    """One encoder for all requests (Flask's documentation: "API", JSONProvider): the default makes one for each."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return contract.to_json(obj)

    def loads(self, s: Any, **kwargs: Any) -> Any:
        return json.loads(s, **kwargs)


app = Flask(__name__)
app.json = CompactProvider(app)
app.config["MAX_CONTENT_LENGTH"] = contract.ECHO_LIMIT


class NumberConverter(BaseConverter):
    """The last path segment, any text or none: the contract clamps it, not the router."""

    regex = "[^/]*"


app.url_map.converters["number"] = NumberConverter


@app.get("/plaintext")
def plaintext() -> ResponseReturnValue:
    return Response(contract.GREETING, mimetype="text/plain")


@app.get("/json")
@app.get("/simple_json")
def greeting() -> ResponseReturnValue:
    return {"message": contract.GREETING}


@app.get("/json_20kb")
def page() -> ResponseReturnValue:
    return contract.PAGE


@app.get("/http-route-example")
def route_example() -> ResponseReturnValue:
    return Response(contract.ROUTE_RESPONSE, mimetype="text/plain")


@app.get("/")
def root() -> ResponseReturnValue:
    duration = contract.clamp_duration(request.args.get("duration"))
    if duration:
        time.sleep(duration / 1000)
    return {"duration": duration}


@app.get("/simple_request/<number:milliseconds>")
def simple_request(milliseconds: str) -> ResponseReturnValue:
    # Pass on any JSON, including what Flask does not accept as a view's return value.
    return app.json.response(backends.upstream.delay(contract.clamp_duration(milliseconds)))


@app.get("/create_data/<number:n>")
def create_data(n: str) -> ResponseReturnValue:
    count = contract.clamp_count(n)
    backends.raw.create_data(count)
    return {"created": count}


def store(kind: str) -> Store:
    return backends.raw if kind == "raw" else backends.orm


@app.get("/<any(raw, orm):kind>/db")
def db(kind: str) -> ResponseReturnValue:
    return dict(store(kind).worlds(1)[0])


@app.get("/<any(raw, orm):kind>/queries/<number:n>")
def queries(kind: str, n: str) -> ResponseReturnValue:
    return list(store(kind).worlds(contract.clamp_count(n)))


@app.get("/<any(raw, orm):kind>/updates/<number:n>")
def updates(kind: str, n: str) -> ResponseReturnValue:
    return list(store(kind).update_worlds(contract.clamp_count(n)))


@app.get("/<any(raw, orm):kind>/fortunes")
def fortunes(kind: str) -> ResponseReturnValue:
    return render_template("fortunes.html", fortunes=contract.all_fortunes(store(kind).fortunes()))


@app.post("/echo")
def echo() -> ResponseReturnValue:
    try:
        return contract.echo(request.get_data(cache=False))
    except ValueError as refusal:
        return {"error": str(refusal)}, 400


@app.get("/sse/<number:count>/<number:gap>")
def sse(count: str, gap: str) -> ResponseReturnValue:
    numbers = contract.paced(contract.clamp_events(count), contract.clamp_gap(gap))
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
    return (contract.event_text(number) for number in numbers), headers


@app.errorhandler(UpstreamError)
def bad_gateway(failure: UpstreamError) -> ResponseReturnValue:
    return {"error": str(failure)}, 502


@app.errorhandler(HTTPException)
def refused(refusal: HTTPException) -> Any:
    """Flask's own errors (404, 405, 413) as JSON, with their headers (Allow)."""
    response = refusal.get_response()
    response.data = app.json.dumps({"error": refusal.description})
    response.content_type = "application/json"
    return response
