"""Backends of the synchronous apps: PostgreSQL through psycopg2 and through SQLAlchemy's ORM, and the upstream.

Importing this module does not connect: each backend connects on the first request that needs it, and thus after the
server has forked. A load that uses one store has this worker's whole share of connections. Under gevent the same code
waits cooperatively, because the server first patches the standard library and psycopg2.

Forms:
driver      psycopg.org/docs, "Basic module usage", "psycopg2.extras" (Fast execution helpers)
ORM         docs.sqlalchemy.org, "Session Basics" (Using a sessionmaker; a session for each request)
statements  docs.sqlalchemy.org, "Performance" (the cache of compiled statements, which is on by default)
reads       docs.sqlalchemy.org, "Session Basics" (Flushing: autoflush; Get by Primary Key: the identity map)
writes      docs.sqlalchemy.org, "PostgreSQL" (Psycopg2 Fast Execution Helpers)
autocommit  docs.sqlalchemy.org, "Working with Engines and Connections" (Multiple Isolation Levels for a Single Engine)
upstream    urllib3.readthedocs.io, "Advanced Usage" (Customizing Pool Behavior: maxsize)
"""

import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import urllib3
from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import Session, sessionmaker

from common import contract, settings
from common.models import Fortune, World, WorldRow

Connection = psycopg2.extensions.connection


class Store(Protocol):
    """One way to query the database; `raw` and `orm` return the same results."""

    def worlds(self, count: int) -> list[WorldRow]:
        """`count` random rows, one query each."""
        ...

    def update_worlds(self, count: int) -> list[WorldRow]:
        """`count` random rows with new numbers, committed before they are returned."""
        ...

    def fortunes(self) -> list[tuple[int, str]]:
        """The stored fortunes as (id, message)."""
        ...


# --- psycopg2 ------------------------------------------------------------------------------------


def connect() -> Connection:
    """A new connection in autocommit mode: each statement is its own transaction unless a block opens one."""
    database = settings.Database.from_environment()
    connection = psycopg2.connect(
        host=database.host,
        port=database.port,
        dbname=database.name,
        user=database.user,
        password=settings.database_password(),
    )
    connection.autocommit = True
    return connection


class Pool:
    """At most `size` connections; a caller waits while none is free.

    psycopg2's own pools raise an error instead.
    """

    def __init__(self, size: int) -> None:
        # Last in, first out: that connection's caches are warm, and no more are opened than needed.
        self._free: queue.LifoQueue[Connection | None] = queue.LifoQueue()
        for _ in range(size):
            self._free.put(None)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection; after any error it is closed, and replaced when next needed."""
        connection = self._free.get()
        try:
            if connection is None:
                connection = connect()
            yield connection
        except BaseException:
            if connection is not None:
                connection.close()
                connection = None
            raise
        finally:
            self._free.put(connection)


class RawStore:
    """The driver alone."""

    def __init__(self, size: int) -> None:
        self._pool = Pool(size)

    def worlds(self, count: int) -> list[WorldRow]:
        with self._pool.connection() as connection, connection.cursor() as cursor:
            return [self._world(cursor, world_id) for world_id in contract.world_ids(count)]

    def update_worlds(self, count: int) -> list[WorldRow]:
        with self._pool.connection() as connection, connection.cursor() as cursor:
            rows = [self._world(cursor, world_id) for world_id in contract.world_ids(count)]
            for row in rows:
                row["randomNumber"] = contract.other_number(row["randomNumber"])
            # One message, for which PostgreSQL opens a transaction by itself; a transaction that includes the reads
            # would hold no lock. In id order, so that requests for the same rows may wait for each other but cannot
            # deadlock.
            psycopg2.extras.execute_batch(
                cursor,
                "UPDATE world SET randomnumber = %s WHERE id = %s",
                [(row["randomNumber"], row["id"]) for row in sorted(rows, key=lambda row: row["id"])],
                page_size=count,
            )
        return rows

    def fortunes(self) -> list[tuple[int, str]]:
        with self._pool.connection() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, message FROM fortune")
            return cursor.fetchall()

    def create_data(self, count: int) -> None:
        """Insert `count` rows in one transaction."""
        # `with connection` is one transaction, even in autocommit mode.
        with self._pool.connection() as connection, connection, connection.cursor() as cursor:
            psycopg2.extras.execute_values(
                cursor,
                "INSERT INTO data (value) VALUES %s",
                [(value,) for value in contract.data_values(count)],
                page_size=count,
            )

    @staticmethod
    def _world(cursor: Any, world_id: int) -> WorldRow:
        cursor.execute("SELECT randomnumber FROM world WHERE id = %s", (world_id,))
        return {"id": world_id, "randomNumber": cursor.fetchone()[0]}


# --- SQLAlchemy's ORM ----------------------------------------------------------------------------


class OrmStore:
    """SQLAlchemy's ORM over the same driver."""

    def __init__(self, engine: Engine) -> None:
        # Both use one pool. Reads have nothing to flush and need no transaction, which saves two round trips.
        self._reads = sessionmaker(engine, autoflush=False)
        writes = engine.execution_options(isolation_level="READ COMMITTED")
        self._writes = sessionmaker(writes, expire_on_commit=False)

    def worlds(self, count: int) -> list[WorldRow]:
        with self._reads() as session:
            return [world.row() for world in self._read(session, count)]

    def update_worlds(self, count: int) -> list[WorldRow]:
        # The unit of work sends updates in primary-key order.
        with self._writes.begin() as session:
            worlds = self._read(session, count)
            for world in worlds:
                world.random_number = contract.other_number(world.random_number)
        return [world.row() for world in worlds]

    def fortunes(self) -> list[tuple[int, str]]:
        with self._reads() as session:
            return [(fortune.id, fortune.message) for fortune in session.scalars(select(Fortune))]

    @staticmethod
    def _read(session: Session, count: int) -> list[World]:
        # By primary key: the statement is compiled once, and a row that the session already has is not read again.
        return [session.get_one(World, world_id) for world_id in contract.world_ids(count)]


# --- the upstream --------------------------------------------------------------------------------


class UpstreamError(Exception):
    """The upstream sent no JSON in time; the message says what happened instead."""


class Upstream:
    """The external service, over kept connections, as many as there are requests in flight."""

    def __init__(self, url: str) -> None:
        # maxsize limits kept connections, not open ones; failed requests are not retried.
        self._pool = urllib3.connection_from_url(url, maxsize=1024, retries=False)

    def delay(self, milliseconds: int) -> Any:
        """The upstream's response after `milliseconds` (0: its default); raises UpstreamError."""
        try:
            response = self._pool.request("GET", f"/delay/{milliseconds}", timeout=milliseconds / 1000 + 2)
        except urllib3.exceptions.HTTPError as error:
            raise UpstreamError(f"upstream failed: {type(error).__name__}") from error
        if response.status != 200:
            raise UpstreamError(f"upstream answered {response.status}")
        try:
            return json.loads(response.data)
        except ValueError:
            raise UpstreamError("upstream answered no JSON") from None


@dataclass(frozen=True)
class Backends:
    """The database and the upstream, as an app uses them."""

    raw: RawStore
    orm: OrmStore
    upstream: Upstream


def _backends() -> Backends:
    size = settings.pool_size()
    engine = create_engine(
        "postgresql+psycopg2://",
        creator=connect,
        isolation_level="AUTOCOMMIT",
        # Sends a batch of updates as one message, like execute_batch() for the driver alone.
        executemany_mode="values_plus_batch",
        pool_size=size,
        max_overflow=0,
        # Wait for a free connection without a timeout, like the pool above.
        pool_timeout=None,
    )
    return Backends(RawStore(size), OrmStore(engine), Upstream(settings.upstream_url()))


# Created at import, because at the first requests two threads could each create one.
backends = _backends()
