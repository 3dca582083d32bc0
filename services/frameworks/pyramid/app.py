"""The contract as a Pyramid application.

Forms, from docs.pylonsproject.org/projects/pyramid:
JSON        "Renderers" (JSON Renderer, and its serializer)
templates   "Templates" (Available Add-On Template System Bindings: pyramid_jinja2)
database    "Quick Tour" (Databases: SQLAlchemy)
lifespan    none in WSGI: common/sync_backends.py connects with the first request that needs it
streams     "Request and Response Objects" (Response: app_iter)
"""

import time
from pathlib import Path
from typing import Any

from common import contract
from common.sync_backends import Store, UpstreamError, backends
from pyramid.config import Configurator
from pyramid.renderers import JSON
from pyramid.request import Request
from pyramid.response import Response


def plaintext(request: Request) -> str:
    return contract.GREETING


def greeting(request: Request) -> dict[str, str]:
    return {"message": contract.GREETING}


def page(request: Request) -> dict[str, Any]:
    return contract.PAGE


def route_example(request: Request) -> str:
    return contract.ROUTE_RESPONSE


def root(request: Request) -> dict[str, int]:
    duration = contract.clamp_duration(request.GET.get("duration"))
    if duration:
        time.sleep(duration / 1000)
    return {"duration": duration}


def simple_request(request: Request) -> Any:
    return backends.upstream.delay(contract.clamp_duration(request.matchdict["number"]))


def create_data(request: Request) -> dict[str, int]:
    count = contract.clamp_count(request.matchdict["number"])
    backends.raw.create_data(count)
    return {"created": count}


def echo(request: Request) -> dict[str, Any]:
    # Without a length the end of the body is known only if the server marks it, which WebOb handles.
    body = request.body_file.read(contract.ECHO_LIMIT + 1)
    try:
        return contract.echo(body)
    except ValueError as refusal:
        return refuse(request, 400, str(refusal))


def sse(request: Request) -> Response:
    asked = request.matchdict
    numbers = contract.paced(contract.clamp_events(asked["count"]), contract.clamp_gap(asked["gap"]))
    response = Response(content_type="text/event-stream", cache_control="no-store")
    response.app_iter = (contract.event_text(number).encode() for number in numbers)
    return response


def refuse(request: Request, status: int, text: str) -> dict[str, str]:
    request.response.status_int = status
    return {"error": text}


def upstream_failed(failure: UpstreamError, request: Request) -> dict[str, str]:
    return refuse(request, 502, str(failure))


def not_text(failure: UnicodeDecodeError, request: Request) -> dict[str, str]:
    """For a path or query that is not UTF-8: Pyramid and WebOb raise on decoding it."""
    return refuse(request, 400, "the address is not UTF-8")


def not_found(request: Request) -> dict[str, str]:
    """Tell a wrong method (405) from a wrong path (404): Pyramid answers both with 404."""
    if request.matched_route is None:
        return refuse(request, 404, "there is no such path")
    request.response.allow = ["POST"] if request.matched_route.name == "/echo" else ["GET", "HEAD"]
    return refuse(request, 405, f"this path takes {request.response.allow[0]}")


def database_views(store: Store) -> dict[str, tuple[Any, str]]:
    """Views and renderers of one store, by path."""

    def db(request: Request) -> dict[str, int]:
        return dict(store.worlds(1)[0])

    def queries(request: Request) -> list[Any]:
        return store.worlds(contract.clamp_count(request.matchdict["number"]))

    def updates(request: Request) -> list[Any]:
        return store.update_worlds(contract.clamp_count(request.matchdict["number"]))

    def fortunes(request: Request) -> dict[str, Any]:
        return {"fortunes": contract.all_fortunes(store.fortunes())}

    return {
        "db": (db, "json"),
        "queries/": (queries, "json"),
        "updates/": (updates, "json"),
        "fortunes": (fortunes, "fortunes.jinja2"),
    }


def create_app() -> Any:
    views = {
        "/": (root, "json"),
        "/plaintext": (plaintext, "string"),
        "/json": (greeting, "json"),
        "/simple_json": (greeting, "json"),
        "/json_20kb": (page, "json"),
        "/http-route-example": (route_example, "string"),
        "/simple_request/": (simple_request, "json"),
        "/create_data/": (create_data, "json"),
        "/echo": (echo, "json"),
        **{f"/raw/{path}": view for path, view in database_views(backends.raw).items()},
        **{f"/orm/{path}": view for path, view in database_views(backends.orm).items()},
    }
    config = Configurator()
    config.include("pyramid_jinja2")
    config.add_jinja2_search_path(str(Path(__file__).parent / "templates"))
    # `default` is for custom types, which the contract does not have.
    config.add_renderer("json", JSON(serializer=lambda value, default: contract.to_json(value)))
    for path, (view, renderer) in views.items():
        # A path that ends in a slash takes one more segment, any text or none: the contract clamps it, not the router.
        takes_number = path != "/" and path.endswith("/")
        config.add_route(path, f"{path}{{number:[^/]*}}" if takes_number else path)
        # GET includes HEAD.
        method = "POST" if view is echo else "GET"
        config.add_view(view, route_name=path, renderer=renderer, request_method=method)
    config.add_route("/sse/", "/sse/{count:[^/]*}/{gap:[^/]*}")
    config.add_view(sse, route_name="/sse/", request_method="GET")
    config.add_notfound_view(not_found, renderer="json")
    config.add_exception_view(upstream_failed, context=UpstreamError, renderer="json")
    config.add_exception_view(not_text, context=UnicodeDecodeError, renderer="json")
    return config.make_wsgi_app()


app = create_app()
