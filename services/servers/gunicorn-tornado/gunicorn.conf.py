"""gunicorn's settings with a Date in each answer: Tornado adds it to those of its own handlers, not to WSGI's."""

from typing import Any

from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)
from common.headers import with_headers


def post_worker_init(worker: Any) -> None:
    worker.wsgi = with_headers(worker.wsgi)
