"""The routes of the HTTP contract: their paths, the requests for them, and what each depends on."""

from typing import Literal

from bench.contract.client import Request

ROUTES = {
    "root": "/",
    "delay": "/?duration={n}",
    "plaintext": "/plaintext",
    "json": "/json",
    "simple-json": "/simple_json",
    "http-route-example": "/http-route-example",
    "simple-request": "/simple_request/{n}",
    "create-data": "/create_data/{n}",
    "db-raw": "/raw/db",
    "db-orm": "/orm/db",
    "queries-raw": "/raw/queries/{n}",
    "queries-orm": "/orm/queries/{n}",
    "updates-raw": "/raw/updates/{n}",
    "updates-orm": "/orm/updates/{n}",
    "fortunes-raw": "/raw/fortunes",
    "fortunes-orm": "/orm/fortunes",
    "echo": "/echo",
}
"""Path by route id; `{n}` stands for a number in the request."""

SAMPLE = {"delay": 20, "simple-request": 20, "create-data": 3, "queries-raw": 3, "queries-orm": 3}
SAMPLE |= {"updates-raw": 3, "updates-orm": 3}
"""n of each route that has one, for checks that need no particular number."""

ECHO_SAMPLE = b'{"name":"echo","nested":{"list":[1,2.5,null,true]},"text":"\xe3\x82\xa8\xe3\x82\xb3\xe3\x83\xbc"}'

Dependency = Literal["database", "upstream"]


def path_of(route: str, n: int | str | None = None) -> str:
    """The path of a route with n filled in (None: the sample), which may be no number at all."""
    return ROUTES[route].replace("{n}", str(SAMPLE.get(route, "") if n is None else n))


def request_of(route: str, n: int | None = None, body: bytes = ECHO_SAMPLE) -> Request:
    """The request for a route; only echo has a body."""
    if route == "echo":
        return Request(path_of(route), "POST", body)
    return Request(path_of(route, n))


def needs(route: str) -> Dependency | None:
    """What a route depends on."""
    if route == "simple-request":
        return "upstream"
    return "database" if route == "create-data" or route.endswith(("-raw", "-orm")) else None
