"""The checks of the route of server-sent events."""

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any

from bench.contract.answers import about, brief, expect
from bench.contract.checks import Target, answer_time, check
from bench.contract.client import Request

ROUTE, KIND = "sse", "text/event-stream"
TOKEN = " benchmark"
GAP_MS, EVENTS, STREAMS = 100, 5, 2
EARLY_S = 0.005
"""An event may come so much before it is due: timers and clocks have steps."""
LATE_S = 0.150
LONGEST_LINE = 1 << 16
_KEPT = re.compile(r"\bno-(?:store|cache)\b", re.I)


@check(ROUTE)
def headers(target: Target, route: str) -> None:
    """Status 200, text/event-stream, not to be cached."""
    with _stream(target, 1, 0) as response:
        expect(response.status == 200, "status 200", f"status {response.status}")
        kind, cached = response.headers.get_content_type(), response.headers.get("Cache-Control", "")
        expect(kind == KIND, f"content type {KIND}", kind)
        expect(bool(_KEPT.search(cached)), "Cache-Control: no-store or no-cache", cached or "none")


@check(ROUTE)
def events(target: Target, route: str) -> None:
    """As many events as asked for, each with its number, then the end."""
    for count in (1, 3, 1000):
        with about(f"{count} events"):
            _numbered(_read(target, count, 0), count)


@check(ROUTE)
def numbers(target: Target, route: str) -> None:
    """One event for what is no number or too small, and no gap."""
    for count, gap in (("0", "0"), ("foo", "0"), ("2", "foo")):
        wanted = 2 if count == "2" else 1
        with about(f"/sse/{count}/{gap}"):
            _numbered(_read(target, count, gap), wanted)


@check(ROUTE)
def paced(target: Target, route: str) -> None:
    """Each event comes when it is due, the first one at once."""
    answer_time(lambda: _lateness(target), 0.0, LATE_S, "each event when it is due")


@check(ROUTE, concurrent=True)
def side_by_side(target: Target, route: str) -> None:
    """Streams do not wait for each other."""

    def latest() -> float:
        with ThreadPoolExecutor(STREAMS) as pool:
            return max(pool.map(lambda _: _lateness(target), range(STREAMS)))

    answer_time(latest, 0.0, 2 * LATE_S, f"{STREAMS} streams at once, each event when it is due")


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its data, and the seconds from the request until it had come."""

    data: str
    seconds: float


def _numbered(stream: Sequence[Event], count: int) -> None:
    """Raise `Mismatch` unless these are the events of a stream of `count`."""
    expect(len(stream) == count, f"{count} events", len(stream))
    for number, event in enumerate(stream):
        wanted = {"n": number, "token": TOKEN}
        expect(_json(event.data) == wanted, f"data {json.dumps(wanted, separators=(',', ':'))}", brief(event.data))


def _json(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _lateness(target: Target) -> float:
    """How late the latest event of a stream is, in seconds from when the stream was requested; none may be early."""
    stream = _read(target, EVENTS, GAP_MS)
    _numbered(stream, EVENTS)
    late = [event.seconds - number * GAP_MS / 1000 for number, event in enumerate(stream)]
    expect(min(late) > -EARLY_S, f"an event each {GAP_MS} ms", f"one {-1000 * min(late):.0f} ms before it is due")
    return max(0.0, *late)


def _read(target: Target, count: int | str, gap: int | str) -> list[Event]:
    """The events of a whole stream."""
    began = target.clock.monotonic_ns()
    with _stream(target, count, gap) as response:
        expect(response.status == 200, "status 200", f"status {response.status}")
        return [Event(data, (target.clock.monotonic_ns() - began) / 1e9) for data in _data(response)]


def _data(response: HTTPResponse) -> Iterator[str]:
    """The data of each event, as soon as its last line has come."""
    parts: list[str] = []
    while line := response.readline(LONGEST_LINE):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text.startswith("data:"):
            parts.append(text.removeprefix("data:").removeprefix(" "))
        elif not text and parts:
            yield "\n".join(parts)
            parts = []


@contextmanager
def _stream(target: Target, count: int | str, gap: int | str) -> Iterator[HTTPResponse]:
    """A response of the route, whose body is still to be read."""
    asked = Request(f"/sse/{count}/{gap}", headers=(("Accept", KIND),))
    with target.client.session() as session, session.response(asked) as response:
        yield response
