"""The contract as a Starlette application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

from common import contract
from common.async_backends import Backends, Store, UpstreamError, open_backends
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.routing import Route


class SegmentConvertor(Convertor[str]):
    """One segment of a path that may be empty: Starlette's own `str` wants a character."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("segment", SegmentConvertor())


class State(TypedDict):
    backends: Backends


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[State]:
    async with open_backends() as backends:
        yield {"backends": backends}


async def root(request: Request) -> JSONResponse:
    duration = contract.clamp_duration(request.query_params.get("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    return JSONResponse({"duration": duration})


async def plaintext(request: Request) -> PlainTextResponse:
    return PlainTextResponse(contract.GREETING)


async def greeting(request: Request) -> JSONResponse:
    return JSONResponse({"message": contract.GREETING})


async def route_example(request: Request) -> PlainTextResponse:
    return PlainTextResponse(contract.ROUTE_RESPONSE)


async def simple_request(request: Request) -> JSONResponse:
    upstream = request.state.backends.upstream
    return JSONResponse(await upstream.delay(contract.clamp_duration(request.path_params["ms"])))


async def upstream_failed(request: Request, failure: Exception) -> JSONResponse:
    return JSONResponse({"error": str(failure)}, 502)


async def create_data(request: Request) -> JSONResponse:
    count = contract.clamp_count(request.path_params["count"])
    await request.state.backends.raw.create_data(count)
    return JSONResponse({"created": count})


async def echo(request: Request) -> JSONResponse:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > contract.ECHO_LIMIT:
            break
    # JSONResponse writes the text itself, not escapes: a lone surrogate is a ValueError too.
    try:
        return JSONResponse(contract.echo(bytes(body)))
    except ValueError as refusal:
        return JSONResponse({"error": str(refusal)}, 400)


def database_routes(kind: str) -> list[Route]:
    """The routes of one way of asking the database: `raw` or `orm`."""

    def store(request: Request) -> Store:
        backends: Backends = request.state.backends
        return backends.store(kind)

    async def db(request: Request) -> JSONResponse:
        return JSONResponse((await store(request).worlds(1))[0])

    async def queries(request: Request) -> JSONResponse:
        count = contract.clamp_count(request.path_params["count"])
        return JSONResponse(await store(request).worlds(count))

    async def updates(request: Request) -> JSONResponse:
        count = contract.clamp_count(request.path_params["count"])
        return JSONResponse(await store(request).update_worlds(count))

    async def fortunes(request: Request) -> HTMLResponse:
        return HTMLResponse(contract.fortunes_page(await store(request).fortunes()))

    return [
        Route(f"/{kind}/db", db),
        Route(f"/{kind}/queries/{{count:segment}}", queries),
        Route(f"/{kind}/updates/{{count:segment}}", updates),
        Route(f"/{kind}/fortunes", fortunes),
    ]


app = Starlette(
    routes=[
        Route("/", root),
        Route("/plaintext", plaintext),
        Route("/json", greeting),
        Route("/simple_json", greeting),
        Route("/http-route-example", route_example),
        Route("/simple_request/{ms:segment}", simple_request),
        Route("/create_data/{count:segment}", create_data),
        Route("/echo", echo, methods=["POST"]),
        *database_routes("raw"),
        *database_routes("orm"),
    ],
    exception_handlers={UpstreamError: upstream_failed},
    lifespan=lifespan,
)
# A path with a slash too many is another path (404), not a redirection.
app.router.redirect_slashes = False
