"""gunicorn's settings, with psycopg2 patched to wait cooperatively under eventlet."""

from typing import Any

from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)


def post_fork(server: Any, worker: Any) -> None:
    from psycogreen.eventlet import patch_psycopg

    patch_psycopg()
