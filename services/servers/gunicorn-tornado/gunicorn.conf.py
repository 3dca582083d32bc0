"""gunicorn's settings, with a Date in each response: Tornado adds one for its own handlers, but not for WSGI."""

from typing import Any

from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)
from common.headers import with_headers


def post_worker_init(worker: Any) -> None:
    worker.wsgi = with_headers(worker.wsgi)
