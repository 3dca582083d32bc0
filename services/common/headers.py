"""The Date and Server headers, for servers that leave them to the application."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from typing import Any

StartResponse = Callable[..., object]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class Date:
    """The value of a response's Date header, formatted once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def __call__(self) -> str:
        second = int(time.time())
        if second != self._second:
            self._second, self._text = second, formatdate(second, usegmt=True)
        return self._text


def with_headers(inner: Application, *, server: str | None = None) -> Application:
    """Wrap a WSGI application so that its responses have a Date, and a Server if one is given."""
    date = Date()
    named = [] if server is None else [("Server", server)]

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> object:
            return start_response(status, [*headers, *named, ("Date", date())], *error)

        return inner(environ, start)

    return application
