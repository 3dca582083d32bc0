"""The verifier's access to the database and upstream: tables, statement counters, upstream's control port."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import psycopg

from bench.contract.client import Client, NoAnswer, Request
from bench.core.errors import UserError

Mode = Literal["ok", "close", "hang", "error"]

# An arbitrary number that all verifiers share.
_LOCK_KEY = 0x62656E63
_LOCK_TIMEOUT = "300s"


@dataclass(frozen=True, slots=True)
class Statements:
    """Counters of statements on World: SELECTs, rows that they returned, rows that other statements changed."""

    selects: int
    selected: int
    changed: int

    def __sub__(self, other: "Statements") -> "Statements":
        return Statements(self.selects - other.selects, self.selected - other.selected, self.changed - other.changed)


class Database:
    """The tables as the verifier reads them, over a connection of its own; database errors become `UserError`."""

    def __init__(self, host: str, port: int, password: str) -> None:
        self._where, user = f"{host}:{port}", "bench"
        with self._user_errors():
            self._connection = psycopg.connect(
                host=host, port=port, dbname=user, user=user, password=password, connect_timeout=10, autocommit=True
            )
            self._connection.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT}'")

    def close(self) -> None:
        """Close the connection, which releases its locks."""
        self._connection.close()

    def world(self) -> dict[int, int]:
        """`randomNumber` by id."""
        return dict(self._rows("SELECT id, randomnumber FROM world"))

    def fortunes(self) -> list[tuple[int, str]]:
        """The stored (id, message) rows."""
        return self._rows("SELECT id, message FROM fortune")

    def data_rows(self) -> int:
        """Number of rows in `data`, to which `/create_data` adds."""
        return self._one("SELECT count(*) FROM data")

    def newest_data(self, count: int) -> int:
        """How many transactions wrote the newest `count` rows of `data`."""
        newest = "SELECT xmin FROM data ORDER BY id DESC LIMIT %s"
        return self._one(f"SELECT count(DISTINCT xmin::text) FROM ({newest}) AS newest", count)

    def statements(self) -> Statements:
        """The counters for World in `pg_stat_statements`, including this connection's own queries."""
        [row] = self._rows(
            r"""
            SELECT coalesce(sum(calls) FILTER (WHERE query ~* '^\s*select'), 0)::bigint,
                   coalesce(sum(rows) FILTER (WHERE query ~* '^\s*select'), 0)::bigint,
                   coalesce(sum(rows) FILTER (WHERE query !~* '^\s*select'), 0)::bigint
            FROM pg_stat_statements
            WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND query ~* '\yworld\y'
            """
        )
        return Statements(*row)

    @contextmanager
    def lock(self, exclusive: bool) -> Iterator[None]:
        """Keep other verifiers from changing the tables (shared) or from using them at all (exclusive)."""
        suffix = "" if exclusive else "_shared"
        self._one(f"SELECT count(pg_advisory_lock{suffix}(%s))", _LOCK_KEY)
        try:
            yield
        finally:
            if not self._connection.closed:
                self._one(f"SELECT pg_advisory_unlock{suffix}(%s)::int", _LOCK_KEY)

    def _one(self, query: str, *values: int) -> int:
        [[number]] = self._rows(query, *values)
        return int(number)

    def _rows(self, query: str, *values: int) -> list[tuple]:  # type: ignore[type-arg]
        with self._user_errors():
            return self._connection.execute(query, values or None).fetchall()

    @contextmanager
    def _user_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            locked = f"another verifier has locked the database for {_LOCK_TIMEOUT}"
            raise UserError(f"{locked}; stop it and try again") from error
        except psycopg.Error as error:
            cause = f"database {self._where}: {' '.join(str(error).split())}"
            raise UserError(f"{cause}; is PostgreSQL running, and is the password right?") from error


class Upstream:
    """Upstream's control port; counts and modes are those for the service with this IP address."""

    def __init__(self, control_url: str, address: str) -> None:
        self._client = Client(control_url, timeout=5)
        self._url = control_url
        self._address = address

    def count(self) -> int:
        """Number of requests that the service has sent so far."""
        body = self._ask(f"/count?of={self._address}")
        try:
            return int(json.loads(body)["requests"])
        except (ValueError, KeyError, TypeError) as error:
            strange = f"{self._url}/count does not answer like upstream: {body[:60]!r}"
            raise UserError(f"{strange}; fix --upstream-control") from error

    def set_mode(self, mode: Mode) -> None:
        """Set how upstream answers the service from now on."""
        self._ask(f"/mode/{mode}?of={self._address}", "PUT")

    def _ask(self, path: str, method: str = "GET") -> bytes:
        authorization = ("Authorization", f"Bearer {os.environ.get('UPSTREAM_TOKEN', '')}")
        request = Request(path, method, headers=(authorization,))
        try:
            answer = self._client.ask(request)
        except NoAnswer as error:
            raise UserError(f"{self._url}{request.path}: {error}; is upstream running?") from error
        if answer.status != 200:
            raise UserError(f"{self._url}{request.path}: status {answer.status}; fix --upstream-control")
        return answer.body


@contextmanager
def upstream_mode(upstream: Upstream, mode: Mode) -> Iterator[None]:
    """Put upstream into another mode; at the end it is restored, whatever happens."""
    try:
        upstream.set_mode(mode)
        yield
    finally:
        upstream.set_mode("ok")
