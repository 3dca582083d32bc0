"""gunicorn's settings, with psycopg2, if there is one, patched to wait cooperatively under gevent."""

from contextlib import suppress
from typing import Any

from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)


def post_fork(server: Any, worker: Any) -> None:
    # A user's own app may do without psycopg2.
    with suppress(ModuleNotFoundError):
        from psycogreen.gevent import patch_psycopg

        patch_psycopg()
