"""A bounded pool beneath Django's PostgreSQL backend.

Django keeps a connection for each thread, and so one for each client of a server that gives its
clients threads or greenlets of their own; the pool that it offers is for psycopg 3 only. This one
does the same for psycopg2: a request takes a connection with its first query, waits where none is
free, and gives it back when it has ended.
"""

import queue
from typing import Any

from common import settings
from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

# The one used last is lent first: its caches are warm, and no more are opened than needed.
_free: queue.LifoQueue[Any] = queue.LifoQueue()
for _ in range(settings.pool_size()):
    _free.put(None)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, which connects by taking from the pool and closes by giving back."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = _free.get()
        if connection is not None:
            return connection
        try:
            # Read here and not in Django's settings: a service without a database needs no password.
            return super().get_new_connection(conn_params | {"password": settings.database_password()})
        except BaseException:
            _free.put(None)
            raise

    def _close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is None:
            return
        # One that broke, or was left in a transaction, is replaced when needed.
        if connection.closed or connection.info.transaction_status != TRANSACTION_STATUS_IDLE:
            connection.close()
            connection = None
        _free.put(connection)
