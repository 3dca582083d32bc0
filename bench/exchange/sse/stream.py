"""The first event of a stream, outside of a load, and what no server can exceed."""

from __future__ import annotations

import time

from bench.exchange.kind import SILENT, Response, header_pairs
from bench.tools.tool import Load

EVENT_STREAM = "text/event-stream"
LONGEST_LINE, MOST_LINES = 1 << 16, 1000
"""Bytes of a line, and lines before the first event."""


def ask(load: Load, timeout_s: float) -> Response:
    """Begin a stream, and leave it after its first event; the seconds are those until that had come."""
    # Only these exchanges need it, and it takes long to import.
    from http.client import HTTPConnection, HTTPException

    headers = {"Accept": EVENT_STREAM} | dict(header_pairs(load))
    host, port = load.peer
    began = time.monotonic()
    connection = HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.request("GET", load.exchange.path, headers=headers)
        response = connection.getresponse()
        status, kind = f"{response.status:03}", response.headers.get_content_type()
        if not load.exchange.is_good(response.status):
            body = response.read(LONGEST_LINE).decode(errors="replace").replace("\0", "")
            return Response(status, "", f"status {status}", body=body)
        if kind != EVENT_STREAM:
            return Response(SILENT, "", f"the content type is {kind}")
        for _ in range(MOST_LINES):
            line = response.readline(LONGEST_LINE)
            seconds = time.monotonic() - began
            if line.startswith(b"data:"):
                return Response(status, f"{seconds:.6f}", "")
            if not line or seconds > timeout_s:
                break
    except (OSError, HTTPException) as error:
        return Response(SILENT, "", f"{error}" or f"no answer within {timeout_s:g} s")
    finally:
        connection.close()
    return Response(SILENT, "", "the stream has no event")


def rest_s(response: Response | None) -> float:
    """A stream has a rest all the time, and takes no turns in which it would be waited for."""
    return 0.0


def most_possible(at_once: int, whose: str, wait_s: float) -> tuple[float, str]:
    """(events per second, why) if each is due `wait_s` seconds after the one before, on `at_once` streams at a time."""
    return at_once / wait_s, f"{whose}, an event each {1000 * wait_s:g} ms"
