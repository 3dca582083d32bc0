"""What the asyncio apps ask: PostgreSQL by asyncpg and by SQLAlchemy's ORM, and the upstream.

`open_backends()` makes all three without a connection: each is connected by the first request that
needs it, on the loop that serves, so that a load without a database opens none and a load of one
kind leaves the pool's whole share to it.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import asyncpg
from sqlalchemy import URL, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from common import contract, settings
from common.models import Fortune, World, WorldRow


class Store(Protocol):
    """One way of asking the database; `raw` and `orm` answer alike."""

    async def worlds(self, count: int) -> list[WorldRow]:
        """`count` random rows, each by a query of its own."""
        ...

    async def update_worlds(self, count: int) -> list[WorldRow]:
        """`count` random rows with new numbers, committed before they are returned."""
        ...

    async def fortunes(self) -> list[tuple[int, str]]:
        """The stored fortunes as (id, message)."""
        ...


# --- asyncpg -------------------------------------------------------------------------------------


class _PooledConnection(asyncpg.Connection):
    """A connection that goes back to its pool without a query.

    The default resets settings, cursors and locks of the session, one more round trip for each
    request; no app here changes any of them.
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
        async with self.pool.acquire() as connection, connection.transaction():
            rows = await self._read(connection, count)
            for row in rows:
                row["randomNumber"] = contract.other_number(row["randomNumber"])
            # In the order of the ids: two requests that share rows wait for each other, never in a circle.
            await connection.executemany(
                "UPDATE world SET randomnumber = $2 WHERE id = $1",
                sorted((row["id"], row["randomNumber"]) for row in rows),
            )
        return rows

    async def fortunes(self) -> list[tuple[int, str]]:
        fortunes: list[tuple[int, str]] = await self.pool.fetch("SELECT id, message FROM fortune")
        return fortunes

    async def create_data(self, count: int) -> None:
        """Inserts `count` rows in one transaction."""
        async with self.pool.acquire() as connection, connection.transaction():
            await connection.executemany(
                "INSERT INTO data (value) VALUES ($1)", [(value,) for value in contract.data_values(count)]
            )

    @staticmethod
    async def _read(connection: Any, count: int) -> list[WorldRow]:
        return [
            {
                "id": world_id,
                "randomNumber": await connection.fetchval("SELECT randomnumber FROM world WHERE id = $1", world_id),
            }
            for world_id in contract.world_ids(count)
        ]


# --- SQLAlchemy's ORM ----------------------------------------------------------------------------


class OrmStore:
    """SQLAlchemy's ORM over the same driver."""

    def __init__(self, engine: AsyncEngine) -> None:
        # One pool for both. Reads need no transaction, and save its two round trips.
        self._reads = engine
        self._writes = engine.execution_options(isolation_level="READ COMMITTED")

    async def worlds(self, count: int) -> list[WorldRow]:
        async with AsyncSession(self._reads) as session:
            return [world.row() for world in await self._read(session, count)]

    async def update_worlds(self, count: int) -> list[WorldRow]:
        # The unit of work sends its updates in the order of the primary key.
        async with AsyncSession(self._writes, expire_on_commit=False) as session, session.begin():
            worlds = await self._read(session, count)
            for world in worlds:
                world.random_number = contract.other_number(world.random_number)
        return [world.row() for world in worlds]

    async def fortunes(self) -> list[tuple[int, str]]:
        async with AsyncSession(self._reads) as session:
            return [(fortune.id, fortune.message) for fortune in await session.scalars(select(Fortune))]

    @staticmethod
    async def _read(session: AsyncSession, count: int) -> list[World]:
        return [await session.get_one(World, world_id) for world_id in contract.world_ids(count)]


# --- the upstream --------------------------------------------------------------------------------


class UpstreamError(Exception):
    """The upstream gave no JSON in time; the text says what it did instead."""


@dataclass(frozen=True)
class Upstream:
    """The external service, asked over kept connections, as many as there are requests under way."""

    session: aiohttp.ClientSession
    url: str

    async def delay(self, milliseconds: int) -> Any:
        """What the upstream answers after `milliseconds` (0: its own default); raises UpstreamError."""
        timeout = aiohttp.ClientTimeout(total=milliseconds / 1000 + 2)
        try:
            async with self.session.get(f"{self.url}/delay/{milliseconds}", timeout=timeout) as response:
                if response.status != 200:
                    raise UpstreamError(f"upstream answered {response.status}")
                return json.loads(await response.read())
        except TimeoutError:
            raise UpstreamError("upstream did not answer in time") from None
        except aiohttp.ClientError as error:
            raise UpstreamError(f"upstream failed: {type(error).__name__}") from error
        except ValueError:
            raise UpstreamError("upstream answered no JSON") from None


@dataclass(frozen=True)
class Backends:
    """All that an app asks."""

    raw: RawStore
    orm: OrmStore
    upstream: Upstream

    def store(self, kind: str) -> Store:
        """The way of asking the database that a path names: `raw` or `orm`."""
        return self.raw if kind == "raw" else self.orm


@asynccontextmanager
async def open_backends() -> AsyncIterator[Backends]:
    """The backends of this worker, for as long as it serves; to be entered on the loop that serves."""
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
        # A request waits for a connection as long as it takes, as with asyncpg's own pool.
        pool_timeout=None,
    )
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())
    try:
        # This makes no connection: the least that the pool keeps is none.
        await pool
        yield Backends(RawStore(pool), OrmStore(engine), Upstream(session, settings.upstream_url()))
    finally:
        # The server has waited for its requests as long as it means to: what is left of them is cut.
        pool.terminate()
        await engine.dispose()
        await session.close()
