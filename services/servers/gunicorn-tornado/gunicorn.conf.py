"""gunicorn's settings with a Date in each answer: Tornado adds it to those of its own handlers, not to WSGI's."""

import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from typing import Any

from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)

StartResponse = Callable[..., object]


class Dated:
    """The application with the Date header that an origin server owes, made once a second."""

    def __init__(self, inner: Callable[[dict[str, Any], StartResponse], Iterable[bytes]]) -> None:
        self._inner = inner
        self._second = 0
        self._header = ("Date", "")

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._header = ("Date", formatdate(second, usegmt=True))

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> object:
            return start_response(status, [*headers, self._header], *error)

        return self._inner(environ, start)


def post_worker_init(worker: Any) -> None:
    worker.wsgi = Dated(worker.wsgi)
