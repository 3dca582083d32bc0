"""The contract's basic routes as a web server plugin of proxy.py.

Forms, from the README of proxy.py:
JSON        none of its own; the plugin: "HTTP Web Server Plugins" (Web Server Route)
templates   none of its own
database    none: its plugins cannot wait
lifespan    none: its plugins are made for each connection
"""

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs

from common import contract, work
from proxy.common.constants import PROXY_AGENT_HEADER_VALUE
from proxy.common.utils import build_http_response
from proxy.http.exception import HttpProtocolException
from proxy.http.parser import HttpParser
from proxy.http.server import HttpWebServerBasePlugin, httpProtocolTypes

TEXT = b"text/plain; charset=utf-8"
JSON = b"application/json"


class Answer(NamedTuple):
    status: HTTPStatus
    content_type: bytes
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


def json_answer(value: object) -> Answer:
    return Answer(HTTPStatus.OK, JSON, contract.to_json(value))


def plaintext(query: bytes) -> Answer:
    return Answer(HTTPStatus.OK, TEXT, contract.GREETING)


def greeting(query: bytes) -> Answer:
    return json_answer({"message": contract.GREETING})


def page(query: bytes) -> Answer:
    return json_answer(contract.PAGE)


def route_example(query: bytes) -> Answer:
    return Answer(HTTPStatus.OK, TEXT, contract.ROUTE_RESPONSE)


def root(query: bytes) -> Answer:
    asked = parse_qs(query.decode("latin-1")).get("duration", [None])[0] if query else None
    duration = contract.clamp_duration(asked)
    # Plugins run in the worker's event loop and respond synchronously, so waiting blocks it.
    time.sleep(duration / 1000)
    return json_answer({"duration": duration})


ROUTES = {
    b"/": root,
    b"/plaintext": plaintext,
    b"/json": greeting,
    b"/simple_json": greeting,
    b"/json_20kb": page,
    b"/http-route-example": route_example,
}


if work.asked:

    def working(query: bytes) -> Answer:
        work.work()
        return plaintext(query)

    ROUTES[b"/plaintext"] = working


def answer(method: bytes, target: bytes) -> Answer:
    path, _, query = target.partition(b"?")
    route = ROUTES.get(path)
    if route is None:
        return Answer(HTTPStatus.NOT_FOUND, JSON, '{"error":"there is no such path"}')
    if method not in (b"GET", b"HEAD"):
        refusal = '{"error":"this path takes GET"}'
        return Answer(HTTPStatus.METHOD_NOT_ALLOWED, JSON, refusal, ((b"Allow", b"GET"),))
    return route(query)


@lru_cache(maxsize=1)
def http_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


class ContractPlugin(HttpWebServerBasePlugin):
    """Serves all paths: proxy.py picks a plugin at a connection's first request and keeps it for the rest."""

    def routes(self) -> list[tuple[int, str]]:
        return [(httpProtocolTypes.HTTP, ".*")]

    def handle_request(self, request: HttpParser) -> None:
        status, content_type, text, headers = answer(request.method or b"", request.path or b"/")
        body = text.encode()
        keep_alive = request.is_http_1_1_keep_alive
        packet = build_http_response(
            status.value,
            reason=status.phrase.encode(),
            headers={
                b"Server": PROXY_AGENT_HEADER_VALUE,
                b"Date": http_date(int(time.time())),
                b"Content-Type": content_type,
                b"Content-Length": b"%d" % len(body),
                **dict(headers),
            },
            body=None if request.method == b"HEAD" else body,
            conn_close=not keep_alive,
            no_cl=True,
        )
        self.client.queue(memoryview(packet))
        if not keep_alive:
            # This is how a plugin closes the connection once its queue is sent.
            raise HttpProtocolException("the client wants no other answer")
