"""How long one answer takes. The service may be anything: one that drips, never ends its headers, sends 10 GB."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

from bench.plan.measurement import Measurement

LEAST_QUIET_S, MOST_QUIET_S = 0.02, 0.5
"""A service that has not worked or answered for so long has nothing under way."""
SLOW_BODY_S = 0.005
"""A body that comes so long after its headers was sent after them, and not with them."""
LONGEST_S = 15.0
"""Where the plan has no timeout."""
LONGEST_BODY = 64 << 20
"""Bytes of a body that are read; no route of the contract has a hundredth of it."""


class OneAnswer(NamedTuple):
    """Seconds until an answer is complete, and how many of them passed after its headers."""

    all_s: float
    body_s: float


def one_answer(one: Measurement, peer: tuple[str, int]) -> OneAnswer | None:
    """An answer while no other service is asked; None if none is complete within the tools' timeout."""
    headers = {} if one.body is None else {"Content-Type": "application/json"}
    timeout_s = one.timeout_s or LONGEST_S
    began = time.monotonic()
    connection = HTTPConnection(*peer, timeout=timeout_s)
    deadline = None
    try:
        connection.connect()
        # A socket's own timeout begins again with each byte. Of an answer without a length the connection forgets it.
        deadline = threading.Timer(timeout_s, _end, [connection.sock])
        deadline.daemon = True
        deadline.start()
        connection.request(one.method, one.path, one.body, headers)
        response = connection.getresponse()
        headed = time.monotonic()
        left = LONGEST_BODY
        while part := response.read(min(left, 1 << 16)):
            left -= len(part)
            if not left:
                return None
        if response.length:  # less than Content-Length says
            return None
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        if deadline:
            deadline.cancel()
        connection.close()
    ended = time.monotonic()
    return OneAnswer(ended - began, ended - headed) if ended - began < timeout_s else None


def _end(connected: socket.socket) -> None:
    with suppress(OSError):  # it has just been closed
        connected.shutdown(socket.SHUT_RDWR)


def quiet_s(answer_s: float | None, connections: int) -> float:
    """How long a service may take before any answer comes: one that works them off in turn sends them all at its end.

    Half as much again as the last answer that was asked for alone took, for each connection.
    """
    return min(MOST_QUIET_S, max(LEAST_QUIET_S, 1.5 * (answer_s or 0.0) * connections))


def rest_s(answer: OneAnswer | None) -> float:
    """How long to wait for the rest of responses that begin before their end; 0 of a service that sends them whole."""
    body_s = answer.body_s if answer else 0.0
    return min(MOST_QUIET_S, 1.5 * body_s) if body_s > SLOW_BODY_S else 0.0
