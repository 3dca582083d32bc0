"""gunicorn's settings, with psycopg2 patched to wait cooperatively under gevent."""

from typing import Any

from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)


def post_fork(server: Any, worker: Any) -> None:
    from psycogreen.gevent import patch_psycopg

    patch_psycopg()
