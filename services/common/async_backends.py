"""Backends of the asyncio apps: PostgreSQL through asyncpg and through SQLAlchemy's ORM, and the upstream.

`open_backends()` does not connect: each backend connects on the first request that needs it, on the serving event loop.
A load without a database opens no connection, and a load that uses one store has this worker's whole share of them.

Forms:
driver      magicstack.github.io/asyncpg, "asyncpg Usage" (Connection Pools), "API Reference" (fetchmany, executemany)
ORM         docs.sqlalchemy.org, "Asynchronous I/O (asyncio)" (async_sessionmaker; a session for each task)
statements  docs.sqlalchemy.org, "Performance" (the cache of compiled statements, which is on by default)
reads       docs.sqlalchemy.org, "Session Basics" (Flushing: autoflush; Get by Primary Key: the identity map)
autocommit  docs.sqlalchemy.org, "Working with Engines and Connections" (Multiple Isolation Levels for a Single Engine)
upstream    docs.aiohttp.org, "Client Reference"
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import asyncpg
from sqlalchemy import URL, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from common import contract, settings
from common.models import Fortune, World, WorldRow


class Store(Protocol):
    """One way to query the database; `raw` and `orm` return the same results."""

    async def worlds(self, count: int) -> list[WorldRow]:
        """`count` random rows, one query each."""
        ...

    async def update_worlds(self, count: int) -> list[WorldRow]:
        """`count` random rows with new numbers, committed before they are returned."""
        ...

    async def fortunes(self) -> list[tuple[int, str]]:
        """The stored fortunes as (id, message)."""
        ...


# --- asyncpg -------------------------------------------------------------------------------------


class _PooledConnection(asyncpg.Connection):
    """A connection that returns to its pool without a query.

    By default asyncpg then resets the session's settings, cursors and locks, which costs a round trip per request. No
    app here changes any of them.
    """

    __slots__ = ()

    def get_reset_query(self) -> str:
        return ""


@dataclass(frozen=True)
class RawStore:
    """The driver alone."""

    pool: asyncpg.Pool

    async def worlds(self, count: int) -> list[WorldRow]:
        async with self.pool.acquire() as connection:
            return await self._read(connection, count)

    async def update_worlds(self, count: int) -> list[WorldRow]:
        async with self.pool.acquire() as connection:
            rows = await self._read(connection, count)
            for row in rows:
                row["randomNumber"] = contract.other_number(row["randomNumber"])
            # executemany() is atomic without a transaction ("API Reference"), and a transaction that includes the
            # reads would hold no lock. In id order, so that requests for the same rows may wait for each other but
            # cannot deadlock; in a single UPDATE of all rows they could, because the planner chooses the order.
            await connection.executemany(
                "UPDATE world SET randomnumber = $2 WHERE id = $1",
                sorted((row["id"], row["randomNumber"]) for row in rows),
            )
        return rows

    async def fortunes(self) -> list[tuple[int, str]]:
        fortunes: list[tuple[int, str]] = await self.pool.fetch("SELECT id, message FROM fortune")
        return fortunes

    async def create_data(self, count: int) -> None:
        """Insert `count` rows in one transaction."""
        async with self.pool.acquire() as connection, connection.transaction():
            await connection.executemany(
                "INSERT INTO data (value) VALUES ($1)", [(value,) for value in contract.data_values(count)]
            )

    @staticmethod
    async def _read(connection: Any, count: int) -> list[WorldRow]:
        query = "SELECT randomnumber FROM world WHERE id = $1"
        ids = contract.world_ids(count)
        if count == 1:
            return [{"id": ids[0], "randomNumber": await connection.fetchval(query, ids[0])}]
        # A query for each row, all sent before the first result is read ("API Reference", fetchmany()).
        rows = await connection.fetchmany(query, [(world_id,) for world_id in ids])
        return [{"id": world_id, "randomNumber": row[0]} for world_id, row in zip(ids, rows)]


# --- SQLAlchemy's ORM ----------------------------------------------------------------------------


class OrmStore:
    """SQLAlchemy's ORM over the same driver."""

    def __init__(self, engine: AsyncEngine) -> None:
        # Both use one pool. Reads have nothing to flush and need no transaction, which saves two round trips.
        self._reads = async_sessionmaker(engine, autoflush=False)
        writes = engine.execution_options(isolation_level="READ COMMITTED")
        self._writes = async_sessionmaker(writes, expire_on_commit=False)

    async def worlds(self, count: int) -> list[WorldRow]:
        async with self._reads() as session:
            return [world.row() for world in await self._read(session, count)]

    async def update_worlds(self, count: int) -> list[WorldRow]:
        # The unit of work sends updates in primary-key order.
        async with self._writes.begin() as session:
            worlds = await self._read(session, count)
            for world in worlds:
                world.random_number = contract.other_number(world.random_number)
        return [world.row() for world in worlds]

    async def fortunes(self) -> list[tuple[int, str]]:
        async with self._reads() as session:
            return [(fortune.id, fortune.message) for fortune in await session.scalars(select(Fortune))]

    @staticmethod
    async def _read(session: AsyncSession, count: int) -> list[World]:
        # By primary key: the statement is compiled once, and a row that the session already has is not read again.
        return [await session.get_one(World, world_id) for world_id in contract.world_ids(count)]


# --- the upstream --------------------------------------------------------------------------------


class UpstreamError(Exception):
    """The upstream sent no JSON in time; the message says what happened instead."""


@dataclass(frozen=True)
class Upstream:
    """The external service, over kept connections, as many as there are requests in flight."""

    session: aiohttp.ClientSession
    url: str

    async def delay(self, milliseconds: int) -> Any:
        """The upstream's response after `milliseconds` (0: its default); raises UpstreamError."""
        timeout = aiohttp.ClientTimeout(total=milliseconds / 1000 + 2)
        try:
            async with self.session.get(f"{self.url}/delay/{milliseconds}", timeout=timeout) as response:
                if response.status != 200:
                    raise UpstreamError(f"upstream answered {response.status}")
                return json.loads(await response.read())
        except asyncio.TimeoutError:
            raise UpstreamError("upstream did not answer in time") from None
        except aiohttp.ClientError as error:
            raise UpstreamError(f"upstream failed: {type(error).__name__}") from error
        except ValueError:
            raise UpstreamError("upstream answered no JSON") from None


@dataclass(frozen=True)
class Backends:
    """The database and the upstream, as an app uses them."""

    raw: RawStore
    orm: OrmStore
    upstream: Upstream

    def store(self, kind: str) -> Store:
        """The store that a path names: `raw` or `orm`."""
        return self.raw if kind == "raw" else self.orm


@asynccontextmanager
async def open_backends() -> AsyncIterator[Backends]:
    """This worker's backends while it serves; enter it on the serving event loop."""
    database = settings.Database.from_environment()
    size = settings.pool_size()
    pool = asyncpg.create_pool(
        host=database.host,
        port=database.port,
        database=database.name,
        user=database.user,
        password=settings.database_password,
        min_size=0,
        max_size=size,
        max_inactive_connection_lifetime=0,
        connection_class=_PooledConnection,
    )
    engine = create_async_engine(
        URL.create(
            "postgresql+asyncpg",
            username=database.user,
            host=database.host,
            port=database.port,
            database=database.name,
        ),
        connect_args={"password": settings.database_password},
        isolation_level="AUTOCOMMIT",
        pool_size=size,
        max_overflow=0,
        # Wait for a free connection without a timeout, as asyncpg's own pool does.
        pool_timeout=None,
    )
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())
    try:
        # Does not connect, because min_size is 0.
        await pool
        yield Backends(RawStore(pool), OrmStore(engine), Upstream(session, settings.upstream_url()))
    finally:
        # The server's grace period is over: cut off the remaining requests.
        pool.terminate()
        await engine.dispose()
        await session.close()
