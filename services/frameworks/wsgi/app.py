"""The contract as a bare WSGI callable: one dictionary of routes, no framework.

Forms, from PEP 3333, and for the rest what an author would choose:
JSON        orjson's README (dumps)
templates   jinja.palletsprojects.com, "API" (Basics)
database    psycopg.org/docs and docs.sqlalchemy.org: common/sync_backends.py names the pages
lifespan    none in WSGI: common/sync_backends.py connects with the first request that needs it
streams     PEP 3333 (Buffering and Streaming)
"""

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, NamedTuple, Optional
from urllib.parse import parse_qs

from common import contract, events, fast_json, jinja
from common.sync_backends import Store, UpstreamError, backends

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]


class Answer(NamedTuple):
    status: str
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    stream: Optional[Iterable[bytes]] = None


# Takes the environment and the last path segment.
Handler = Callable[[Environ, str], Answer]

OK = "200 OK"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
EVENTS = "text/event-stream"
UNSTORED = (("Cache-Control", "no-store"),)

GREETING = contract.GREETING.encode()
ROUTE_RESPONSE = contract.ROUTE_RESPONSE.encode()


def json_answer(value: Any) -> Answer:
    return Answer(OK, JSON, fast_json.dumps(value))


def foreign_json(value: Any, status: str = OK, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """For JSON from a client or the upstream, which may hold numbers and lone surrogates that orjson rejects."""
    return Answer(status, JSON, contract.to_json(value).encode(), headers)


def error(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Answer:
    return foreign_json({"error": text}, f"{status} {status.phrase}", headers)


def plaintext(environ: Environ, last: str) -> Answer:
    return Answer(OK, TEXT, GREETING)


def greeting(environ: Environ, last: str) -> Answer:
    return json_answer({"message": contract.GREETING})


def page(environ: Environ, last: str) -> Answer:
    return json_answer(contract.PAGE)


def route_example(environ: Environ, last: str) -> Answer:
    return Answer(OK, TEXT, ROUTE_RESPONSE)


def root(environ: Environ, last: str) -> Answer:
    query = environ.get("QUERY_STRING")
    asked = parse_qs(query).get("duration", [None])[0] if query else None
    duration = contract.clamp_duration(asked)
    if duration:
        time.sleep(duration / 1000)
    return json_answer({"duration": duration})


def simple_request(environ: Environ, last: str) -> Answer:
    try:
        return foreign_json(backends.upstream.delay(contract.clamp_duration(last)))
    except UpstreamError as failure:
        return error(HTTPStatus.BAD_GATEWAY, str(failure))


def create_data(environ: Environ, last: str) -> Answer:
    count = contract.clamp_count(last)
    backends.raw.create_data(count)
    return json_answer({"created": count})


def echo(environ: Environ, last: str) -> Answer:
    try:
        # Without a length (a chunked request) the end of the body is known only if the server marks it.
        length = environ.get("CONTENT_LENGTH") or (
            contract.ECHO_LIMIT + 1 if environ.get("wsgi.input_terminated") else 0
        )
        body = environ["wsgi.input"].read(min(int(length), contract.ECHO_LIMIT + 1))
        return foreign_json(contract.echo(body))
    except ValueError as refusal:
        return error(HTTPStatus.BAD_REQUEST, str(refusal))


def sse(environ: Environ, last: str) -> Answer:
    count, _, gap = last.partition("/")
    numbers = contract.paced(contract.clamp_events(count), contract.clamp_gap(gap))
    return Answer(OK, EVENTS, b"", UNSTORED, (b"data: %b\n\n" % fast_json.dumps(contract.event(n)) for n in numbers))


def database_routes(kind: str) -> dict[str, tuple[str, Handler]]:
    """The database routes of one store: `raw` or `orm`."""
    store: Store = getattr(backends, kind)

    def db(environ: Environ, last: str) -> Answer:
        return json_answer(store.worlds(1)[0])

    def queries(environ: Environ, last: str) -> Answer:
        return json_answer(store.worlds(contract.clamp_count(last)))

    def updates(environ: Environ, last: str) -> Answer:
        return json_answer(store.update_worlds(contract.clamp_count(last)))

    def fortunes(environ: Environ, last: str) -> Answer:
        return Answer(OK, HTML, jinja.fortunes_page(store.fortunes()).encode())

    return {
        f"/{kind}/db": ("GET", db),
        f"/{kind}/queries/": ("GET", queries),
        f"/{kind}/updates/": ("GET", updates),
        f"/{kind}/fortunes": ("GET", fortunes),
    }


# A path that ends in a slash takes one more segment.
ROUTES: dict[str, tuple[str, Handler]] = {
    "/": ("GET", root),
    "/plaintext": ("GET", plaintext),
    "/json": ("GET", greeting),
    "/simple_json": ("GET", greeting),
    "/json_20kb": ("GET", page),
    "/http-route-example": ("GET", route_example),
    "/simple_request/": ("GET", simple_request),
    "/create_data/": ("GET", create_data),
    "/echo": ("POST", echo),
    **database_routes("raw"),
    **database_routes("orm"),
}


def answer(environ: Environ) -> Answer:
    path = environ["PATH_INFO"]
    route = ROUTES.get(path)
    last = ""
    if route is None:
        parent, _, last = path.rpartition("/")
        # The parent of "/anything" is the root, which takes no segment.
        route = ROUTES.get(parent + "/") if parent else None
        if parent.rpartition("/")[0] == "/sse":
            route, last = ("GET", sse), path[len("/sse/") :]
    if route is None:
        # WSGI passes the path's bytes decoded as latin-1.
        return error(HTTPStatus.NOT_FOUND, f"there is no {path.encode('latin-1').decode(errors='replace')}")
    method, handler = route
    asked = environ["REQUEST_METHOD"]
    if asked != method and not (asked == "HEAD" and method == "GET"):
        return error(HTTPStatus.METHOD_NOT_ALLOWED, f"this path takes {method}", ("Allow", method))
    return handler(environ, last)


@events.wsgi
def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    status, content_type, body, more, stream = answer(environ)
    if stream is not None:
        start_response(status, [("Content-Type", content_type), *more])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else stream
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body))), *more])
    # Some servers drop the body of a response to HEAD; others send whatever they are given.
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
