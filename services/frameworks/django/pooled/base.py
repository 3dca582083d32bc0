"""A bounded pool beneath Django's PostgreSQL backend.

Django keeps one connection per thread, and thus one per client on a server with a thread or greenlet for each client.
Its own pool supports only psycopg 3. This pool does the same for psycopg2: a request takes a connection with its first
query, waits while none is free, and returns it at its end.
"""

import queue
from typing import Any

from common import settings
from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

# Last in, first out: that connection's caches are warm, and no more are opened than needed.
_free: queue.LifoQueue[Any] = queue.LifoQueue()
for _ in range(settings.pool_size()):
    _free.put(None)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own wrapper, but it connects by taking a connection from the pool, and closes by returning it."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = _free.get()
        if connection is not None:
            return connection
        try:
            # Read here, not in Django's settings: a service without a database needs no password.
            return super().get_new_connection(conn_params | {"password": settings.database_password()})
        except BaseException:
            _free.put(None)
            raise

    def _close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is None:
            return
        # A connection that broke or is still in a transaction is replaced when next needed.
        if connection.closed or connection.info.transaction_status != TRANSACTION_STATUS_IDLE:
            connection.close()
            connection = None
        _free.put(connection)
