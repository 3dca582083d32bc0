"""One message outside of a load, and what no server can exceed."""

from __future__ import annotations

import time

from bench.exchange.kind import SILENT, Response, header_pairs
from bench.tools.tool import Load

CLOSE_S = 1.0
"""How long the service may take to close a connection."""


def ask(load: Load, timeout_s: float) -> Response:
    """Open a connection, and send a message as long as the load's; the seconds are those until it has come back."""
    # Only these exchanges need it, and it takes long to import.
    from websockets.exceptions import InvalidStatus, WebSocketException
    from websockets.sync.client import connect

    message = "1".rjust(load.exchange.size, "0")
    compression = "deflate" if load.exchange.deflate else None
    try:
        with connect(
            load.url,
            additional_headers=header_pairs(load),
            compression=compression,
            open_timeout=timeout_s,
            close_timeout=CLOSE_S,
            ping_interval=None,
            proxy=None,
        ) as connection:
            sent = time.monotonic()
            connection.send(message)
            answer = connection.recv(timeout_s)
            seconds = time.monotonic() - sent
            opening = connection.response
    except InvalidStatus as refused:
        body = refused.response.body.decode(errors="replace").replace("\0", "")
        return Response(f"{refused.response.status_code:03}", "", str(refused), body=body)
    except (OSError, WebSocketException) as error:
        return Response(SILENT, "", f"{error}" or f"no answer within {timeout_s:g} s")
    if answer != message:
        return Response(SILENT, "", f"another message than was sent came back: {answer[:80]!r}")
    opening_bytes = len(opening.serialize()) if opening else 0
    status = f"{opening.status_code:03}" if opening else SILENT
    return Response(status, f"{seconds:.6f}", "", opening_bytes=opening_bytes)


def rest_s(response: Response | None) -> float:
    """A message comes as a whole."""
    return 0.0


def most_possible(at_once: int, whose: str, wait_s: float) -> tuple[float, str]:
    """(messages per second, why) if each takes at least `wait_s` seconds, and there are `at_once` at a time."""
    return at_once / wait_s, f"{whose}, each message after {1000 * wait_s:g} ms"
