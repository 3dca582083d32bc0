"""The contract as a Litestar application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Optional, Union

from common import contract
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.models import WorldRow
from litestar import Litestar, MediaType, Request, Response, Router, get, post
from litestar.serialization import encode_json


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncIterator[None]:
    async with open_backends() as backends:
        app.state.backends = backends
        yield


@get("/")
async def root(duration: Optional[str] = None) -> dict[str, int]:
    milliseconds = contract.clamp_duration(duration)
    if milliseconds:
        await asyncio.sleep(milliseconds / 1000)
    return {"duration": milliseconds}


@get("/plaintext", media_type=MediaType.TEXT)
async def plaintext() -> str:
    return contract.GREETING


@get(["/json", "/simple_json"], media_type=MediaType.JSON)
async def greeting() -> bytes:
    # Litestar's own encoder, called directly to skip its lookup of type encoders.
    return encode_json({"message": contract.GREETING})


@get("/http-route-example", media_type=MediaType.TEXT)
async def route_example() -> str:
    return contract.ROUTE_RESPONSE


# Litestar's router drops a trailing slash: a path with an empty number is one without the segment.
@get(["/simple_request", "/simple_request/{ms:str}"])
async def simple_request(request: Request, ms: str = "") -> Any:
    backends: Backends = request.app.state.backends
    return await backends.upstream.delay(contract.clamp_duration(ms))


def upstream_failed(request: Request, failure: UpstreamError) -> Response[dict[str, str]]:
    return Response({"error": str(failure)}, status_code=502)


@get(["/create_data", "/create_data/{count:str}"])
async def create_data(request: Request, count: str = "") -> dict[str, int]:
    backends: Backends = request.app.state.backends
    created = contract.clamp_count(count)
    await backends.raw.create_data(created)
    return {"created": created}


# Litestar itself answers a larger body with 413.
@post("/echo", status_code=200, request_max_body_size=contract.ECHO_LIMIT)
async def echo(body: bytes) -> Response[Union[bytes, dict[str, str]]]:
    # With escapes: msgspec cannot encode a lone surrogate.
    try:
        return Response(contract.to_json(contract.echo(body)).encode(), media_type=MediaType.JSON)
    except ValueError as refusal:
        return Response({"error": str(refusal)}, status_code=400)


def database_router(kind: str) -> Router:
    """The database routes of one store: `raw` or `orm`."""

    def store(request: Request) -> Store:
        backends: Backends = request.app.state.backends
        return backends.store(kind)

    @get("/db")
    async def db(request: Request) -> WorldRow:
        return (await store(request).worlds(1))[0]

    @get(["/queries", "/queries/{count:str}"])
    async def queries(request: Request, count: str = "") -> list[WorldRow]:
        return await store(request).worlds(contract.clamp_count(count))

    @get(["/updates", "/updates/{count:str}"])
    async def updates(request: Request, count: str = "") -> list[WorldRow]:
        return await store(request).update_worlds(contract.clamp_count(count))

    @get("/fortunes", media_type=MediaType.HTML)
    async def fortunes(request: Request) -> str:
        return contract.fortunes_page(await store(request).fortunes())

    return Router(f"/{kind}", route_handlers=[db, queries, updates, fortunes])


app = Litestar(
    [
        root,
        plaintext,
        greeting,
        route_example,
        simple_request,
        create_data,
        echo,
        database_router("raw"),
        database_router("orm"),
    ],
    lifespan=[lifespan],
    exception_handlers={UpstreamError: upstream_failed},
    # No OpenAPI schema or pages.
    openapi_config=None,
)
