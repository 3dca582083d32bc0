"""The app, wrapped to read the rest of a request's body before it responds.

Granian closes a connection without notice if the response leaves before the body has arrived.
"""

from collections.abc import Callable, Iterable
from typing import Any

from common.contract import ECHO_LIMIT

from app import app as inner


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    answer = inner(environ, start_response)
    if "CONTENT_LENGTH" in environ:
        environ["wsgi.input"].read(ECHO_LIMIT)
    return answer
