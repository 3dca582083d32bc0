"""The contract as a CherryPy application.

Forms, from docs.cherrypy.dev:
JSON        "Basics" (Dealing with JSON: encoding the response)
templates   "Advanced" (HTML Templating support: none of its own, Jinja2 as an example)
database    "Advanced" (Database support: none of its own, SQLAlchemy as an example)
lifespan    "Extend" (the bus), which is not needed: common/sync_backends.py connects with the first request
streams     "Advanced" (Streaming the response body)
"""

import time
from collections.abc import Iterator
from typing import Any

import cherrypy
from cherrypy._cplogging import LogManager
from cherrypy.lib.cptools import allow
from common import contract, jinja, work
from common.sync_backends import Store, UpstreamError, backends


def json_handler(*args: Any, **kwargs: Any) -> bytes:
    """The handler of tools.json_out with one encoder for all requests; CherryPy's own yields many small strings."""
    return contract.to_json(cherrypy.serving.request._json_inner_handler(*args, **kwargs)).encode()


json_out = cherrypy.tools.json_out(handler=json_handler)
text_out = cherrypy.tools.response_headers(headers=[("Content-Type", "text/plain; charset=utf-8")])
html_out = cherrypy.tools.response_headers(headers=[("Content-Type", "text/html; charset=utf-8")])


class Database:
    """The database routes of one store; an empty last segment is passed as no argument."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cherrypy.expose
    @json_out
    def db(self) -> Any:
        return self.store.worlds(1)[0]

    @cherrypy.expose
    @json_out
    def queries(self, number: object = "") -> list[Any]:
        return self.store.worlds(contract.clamp_count(number))

    @cherrypy.expose
    @json_out
    def updates(self, number: object = "") -> list[Any]:
        return self.store.update_worlds(contract.clamp_count(number))

    @cherrypy.expose
    @html_out
    def fortunes(self) -> bytes:
        return jinja.fortunes_page(self.store.fortunes()).encode()


class Contract:
    """Each exposed method is a path: `/` is `index`, and a dash in a path is an underscore in the name."""

    raw = Database(backends.raw)
    orm = Database(backends.orm)

    @cherrypy.expose
    @text_out
    def plaintext(self) -> str:
        return contract.GREETING

    @cherrypy.expose("simple_json")
    @json_out
    def json(self) -> dict[str, str]:
        return {"message": contract.GREETING}

    @cherrypy.expose
    @json_out
    def json_20kb(self) -> dict[str, Any]:
        return contract.PAGE

    @cherrypy.expose("http-route-example")
    @text_out
    def http_route_example(self) -> str:
        return contract.ROUTE_RESPONSE

    @cherrypy.expose
    @json_out
    def index(self, duration: object = None, **_: object) -> dict[str, int]:
        milliseconds = contract.clamp_duration(duration)
        if milliseconds:
            time.sleep(milliseconds / 1000)
        return {"duration": milliseconds}

    @cherrypy.expose
    @json_out
    def simple_request(self, milliseconds: object = "") -> Any:
        try:
            return backends.upstream.delay(contract.clamp_duration(milliseconds))
        except UpstreamError as failure:
            raise cherrypy.HTTPError(502, str(failure)) from None

    @cherrypy.expose
    @json_out
    def create_data(self, number: object = "") -> dict[str, int]:
        count = contract.clamp_count(number)
        backends.raw.create_data(count)
        return {"created": count}

    @cherrypy.expose
    @cherrypy.config(**{"response.stream": True})
    def sse(self, count: object = "", gap: object = "") -> Iterator[bytes]:
        cherrypy.response.headers["Content-Type"] = "text/event-stream"
        cherrypy.response.headers["Cache-Control"] = "no-store"
        numbers = contract.paced(contract.clamp_events(count), contract.clamp_gap(gap))
        return (contract.event_text(number).encode() for number in numbers)

    # Take the raw body, which CherryPy would parse by its type. The method is checked here: CherryPy's tool runs before
    # the rest of the path is checked, and would answer 405 for paths that do not exist.
    @cherrypy.expose
    @cherrypy.config(**{"tools.allow.on": False, "request.process_request_body": False})
    @json_out
    def echo(self) -> dict[str, Any]:
        allow(["POST"])
        try:
            return contract.echo(cherrypy.request.rfile.read(contract.ECHO_LIMIT + 1))
        except ValueError as refusal:
            raise cherrypy.HTTPError(400, str(refusal)) from None


def refused(status: str, message: str, traceback: str, version: str) -> str:
    """CherryPy's own errors (404, 405) as JSON."""
    cherrypy.response.headers["Content-Type"] = "application/json"
    return contract.to_json({"error": message})


class NoAccessLog(LogManager):
    """CherryPy's log without access lines, which it would format even if they are not written."""

    def access(self) -> None:
        """No server of the matrix keeps an access log."""


config = {"tools.allow.on": True, "tools.allow.methods": ["GET", "HEAD"], "error_page.default": refused}
if work.asked:
    cherrypy.tools.working = cherrypy.Tool("before_handler", work.work)
    config["tools.working.on"] = True
app = cherrypy.Application(Contract(), "", {"/": config})
app.log = NoAccessLog(id(app), cherrypy.log.logger_root)
