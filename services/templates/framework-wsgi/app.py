"""The contract as a NAME application. Replace this: it is the basic routes as a bare WSGI app, without NAME."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from common import contract

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def root(environ: dict[str, Any]) -> tuple[str, str]:
    query = parse_qs(environ["QUERY_STRING"])
    duration = contract.clamp_duration(query.get("duration", [None])[0])
    if duration:
        time.sleep(duration / 1000)
    return JSON, contract.to_json({"duration": duration})


def plaintext(environ: dict[str, Any]) -> tuple[str, str]:
    return TEXT, contract.GREETING


def greeting(environ: dict[str, Any]) -> tuple[str, str]:
    return JSON, contract.to_json({"message": contract.GREETING})


def route_example(environ: dict[str, Any]) -> tuple[str, str]:
    return TEXT, contract.ROUTE_RESPONSE


ROUTES = {
    "/": root,
    "/plaintext": plaintext,
    "/json": greeting,
    "/simple_json": greeting,
    "/http-route-example": route_example,
}


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    route = ROUTES.get(environ["PATH_INFO"])
    if route is None:
        status, (content_type, text) = "404 Not Found", (TEXT, "there is no such path")
    elif environ["REQUEST_METHOD"] != "GET":
        status, (content_type, text) = "405 Method Not Allowed", (TEXT, "this path takes GET")
    else:
        status, (content_type, text) = "200 OK", route(environ)
    body = text.encode()
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body)))])
    return [body]
