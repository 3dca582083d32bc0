"""A bounded pool beneath Django's PostgreSQL backend.

Django keeps one connection per thread, and so one per client on a server that gives each client its
own thread or greenlet; its own pool supports only psycopg 3. This one does the same for psycopg2: a
request takes a connection with its first query, waits while none is free, and returns it at its end.
"""

import queue
from typing import Any

from common import settings
from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

# Last in, first out: its caches are warm, and no more connections are opened than needed.
_free: queue.LifoQueue[Any] = queue.LifoQueue()
for _ in range(settings.pool_size()):
    _free.put(None)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but it connects by taking from the pool and closes by returning to it."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = _free.get()
        if connection is not None:
            return connection
        try:
            # Read here, not in Django's settings: a service that uses no database needs no password.
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
