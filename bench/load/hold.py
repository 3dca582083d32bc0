"""hold - hold idle connections open, and send a few requests on another one.

usage: python3 -m bench.load.hold --connections N --rate R --duration S --timeout S [--method M] URL

Opens N idle connections, then one more, on which it sends R requests per second: a server that accepts connections in
order answers these only after it has accepted all the others. Prints one line once the first request is answered or has
failed, after which requests and time are counted, and one line when the time is up or SIGINT arrives.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

CONNECT_S = 2.0
"""Timeout for opening one connection; it takes 0.1 ms on this network, unless the backlog is full."""
OPEN_S = 10.0
"""Timeout for opening all connections; with a full backlog, one is opened per second."""
ACCEPT_S = 3.0
"""Timeout for the server to accept all connections and answer the first request."""
SETTLE_S = 0.3
"""Pause after the first response: what the server does in it is not part of holding connections."""
POLL_S = 0.05
YOUNG_S = 1.0
"""A request that was sent less than this before the end is left out if it has no answer yet."""


def main(argv: Sequence[str] | None = None) -> int:
    """Hold the connections, and print the outcome."""
    interrupts = list[int]()
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    parser = argparse.ArgumentParser(prog="hold", description=__doc__)
    for name in ("connections", "rate", "duration", "timeout"):
        parser.add_argument(f"--{name}", type=float, required=True)
    parser.add_argument("--method", default="GET")
    parser.add_argument("url")
    asked = parser.parse_args(argv)
    url = urlsplit(asked.url)
    peer = (url.hostname or "", url.port or 80)
    began = time.monotonic()
    held, why = _opened(peer, int(asked.connections), interrupts)
    opened = time.monotonic()
    path = url.path + (f"?{url.query}" if url.query else "")
    requests = _Requests(peer, asked.method, path, asked.rate, asked.timeout)
    told = {"opened": len(held), "why": why, "seconds": opened - began, "accepted": requests.first()}
    print(json.dumps(told), flush=True)
    requests.start()
    watched = _watch(held, asked.duration, opened, interrupts)
    print(json.dumps(watched | requests.ended()), flush=True)
    return 0


def _opened(peer: tuple[str, int], number: int, interrupts: Sequence[int]) -> tuple[list[socket.socket], str | None]:
    """Open connections; returns fewer if one could not be opened, and the reason."""
    held, began = list[socket.socket](), time.monotonic()
    while len(held) < number and not interrupts:
        if time.monotonic() - began > OPEN_S:
            return held, f"no more in {OPEN_S:g} s"
        try:
            held.append(socket.create_connection(peer, CONNECT_S))
        except OSError as error:
            return held, "timeout" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
    return held, None


def _watch(
    held: Sequence[socket.socket], seconds: float, opened: float, interrupts: Sequence[int]
) -> dict[str, object]:
    """Watch connections until the time is up or SIGINT arrives, even early.

    `closed_s` has the seconds from `opened` until the first and last connection that the server closed.
    """
    began, closed_s = time.monotonic(), list[float]()
    poll, by_number = select.poll(), {one.fileno(): one for one in held}
    for number in by_number:
        poll.register(number, select.POLLIN)
    while time.monotonic() - began < seconds and not interrupts:
        for number, _ in poll.poll(1000 * POLL_S):
            if _is_closed(by_number[number]):
                poll.unregister(number)
                closed_s.append(time.monotonic() - opened)
    ends = (round(closed_s[0], 3), round(closed_s[-1], 3)) if closed_s else None
    left = len(held) - len(closed_s)
    return {"duration_s": time.monotonic() - began, "held": left, "closed": len(closed_s), "closed_s": ends}


def _is_closed(one: socket.socket) -> bool:
    """Whether the server has closed the connection; unsolicited data (such as a 408) is read and ignored."""
    try:
        return not one.recv(1 << 16)
    except OSError:
        return True


class _Requests:
    """A thread that sends requests at a rate on one connection, which is reopened if the server closes it."""

    def __init__(self, peer: tuple[str, int], method: str, path: str, rate: float, timeout_s: float) -> None:
        self._method, self._path, self._rate, self._timeout_s = method, path, rate, timeout_s
        self._sent, self._status, self._errors = 0, Counter[str](), Counter[str]()
        self._last = time.monotonic()
        self._ended = queue.SimpleQueue[None]()
        self._connection = HTTPConnection(*peer, timeout=min(timeout_s, ACCEPT_S))

    def first(self) -> bool:
        """Send a first request, which is not counted; returns whether it was answered."""
        answered = isinstance(self._ask(), int)
        if self._connection.sock:
            self._connection.sock.settimeout(self._timeout_s)
        self._connection.timeout = self._timeout_s
        time.sleep(SETTLE_S)
        return answered

    def start(self) -> None:
        """Start sending."""
        threading.Thread(target=self._send, daemon=True).start()

    def ended(self) -> dict[str, object]:
        """Stop sending and return the counts; a request in flight counts as unanswered unless it was just sent."""
        self._ended.put(None)
        sent, status, errors = self._sent, dict(self._status), dict(self._errors)
        unanswered = sent - sum(status.values()) - sum(errors.values())
        if unanswered and time.monotonic() - self._last < YOUNG_S:
            sent, unanswered = sent - 1, unanswered - 1
        return {"requests": sent, "status": status, "errors": errors, "unanswered": unanswered}

    def _send(self) -> None:
        for _ in self._due():
            self._last = time.monotonic()
            self._sent += 1
            answer = self._ask()
            counted = self._status if isinstance(answer, int) else self._errors
            counted[str(answer)] += 1

    def _ask(self) -> int | str:
        """Send a request; returns the status of the response, or why there is none."""
        try:
            self._connection.request(self._method, self._path)
            answer = self._connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, HTTPException) as error:
            self._connection.close()
            return "timeout" if isinstance(error, TimeoutError) else type(error).__name__

    def _due(self) -> Iterator[None]:
        """Yield when a request is due: in the middle of each interval of 1/rate, or later if a response is slow."""
        began, number = time.monotonic(), 0
        while True:
            due_s = began + (number + 0.5) / self._rate - time.monotonic()
            with contextlib.suppress(queue.Empty):
                self._ended.get(timeout=max(0.0, due_s))
                return
            yield
            number = max(number + 1, int((time.monotonic() - began) * self._rate))


if __name__ == "__main__":
    raise SystemExit(main())
