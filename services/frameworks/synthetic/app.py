"""An ASGI app of known behaviour, to test the harness: the request says what the figures should be.

It has the contract's basic routes and `/synthetic?...`, where each parameter is one behaviour; they add up:

    busy_us=N               N microseconds of CPU, by the thread's own clock
    sleep=MS:SHARE,...      waits, each for its share of the requests (`1:98,50:2`: 1 ms for 98 in 100, 50 ms for 2)
    stall=MS:EVERY_MS       no response in the first MS of every EVERY_MS, by the machine's monotonic clock
    errors=PERCENT          this share of the responses is a 500
    capacity=N              each worker serves at most N requests a second, in the order of their arrival
    hang=MS                 one of the workers, the first to be asked, waits so long with every other request

SLOWER_US in the environment adds that many microseconds of CPU to `busy_us`, and to nothing else.

Shares are not random: a low-discrepancy sequence keeps any stretch of requests within a request or two of them.
The timers of event loops have millisecond resolution: a wait is up to 2 ms longer than requested.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from common import contract

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TEXT, JSON = b"text/plain; charset=utf-8", b"application/json"
GREETING = contract.GREETING.encode()
# The fractional parts of its multiples cover 0..1 more evenly than random numbers do.
GOLDEN = 0.6180339887498949
SLOWER_US = int(os.environ.get("SLOWER_US", "0"))


class Behaviour:
    """The behaviour that one query string asks for; raises ValueError if it is malformed."""

    def __init__(self, query: str) -> None:
        words = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
        if unknown := words.keys() - {"busy_us", "sleep", "stall", "errors", "capacity", "hang"}:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        busy_us = int(words.get("busy_us", 0))
        self.busy_ns = 1000 * (busy_us + SLOWER_US) if busy_us else 0
        self.errors = float(words.get("errors", 0)) / 100
        self.sleeps = _pairs(words.get("sleep", ""))
        stalls = _pairs(words.get("stall", ""))
        self.stall_s, self.every_s = (stalls[0][0] / 1000, stalls[0][1] / 1000) if stalls else (0.0, 1.0)
        self.slot_s = 1 / float(words["capacity"]) if "capacity" in words else 0.0
        self.hang_s = float(words.get("hang", 0)) / 1000
        self.asked, self.free_at = 0, 0.0

    def next(self) -> float:
        """The next request's place in the sequence, 0..1."""
        self.asked += 1
        return self.asked * GOLDEN % 1

    def wait_s(self, place: float, now: float) -> float:
        """Seconds to wait for the request at this place that arrived at `now`."""
        wait = 0.0
        mark = place * sum(share for _, share in self.sleeps)
        for ms, share in self.sleeps:
            if mark < share:
                wait += ms / 1000
                break
            mark -= share
        if self.hang_s and self.asked % 2 and is_the_hanging_worker():
            wait += self.hang_s
        if self.slot_s:
            self.free_at = max(self.free_at, now) + self.slot_s
            wait += self.free_at - now
        return wait + max(0.0, self.stall_s - (now + wait) % self.every_s)

    def fails(self, place: float) -> bool:
        """Whether the request at this place gets a 500."""
        return place < self.errors


def _pairs(text: str) -> list[tuple[float, float]]:
    """`1:98,50:2` -> [(1.0, 98.0), (50.0, 2.0)]."""
    pairs = [part.partition(":") for part in text.split(",") if part]
    return [(float(one), float(other)) for one, _, other in pairs]


@cache
def is_the_hanging_worker() -> bool:
    """Whether this process was the first of the container to ask."""
    with suppress(FileExistsError), open(os.path.join(tempfile.gettempdir(), "hanging-worker"), "x"):
        return True
    return False


behaviour = lru_cache(maxsize=64)(Behaviour)


def burn(nanoseconds: int) -> None:
    """Use this much CPU time of the thread, whatever the clock rate and the load of the CPU."""
    end = time.thread_time_ns() + nanoseconds
    while time.thread_time_ns() < end:
        pass


async def synthetic(query: str) -> tuple[int, bytes, bytes]:
    try:
        asked = behaviour(query)
    except (ValueError, ArithmeticError) as fault:
        return error(HTTPStatus.BAD_REQUEST, str(fault))
    place = asked.next()
    if wait := asked.wait_s(place, time.monotonic()):
        await asyncio.sleep(wait)
    if asked.busy_ns:
        burn(asked.busy_ns)
    if asked.fails(place):
        return error(HTTPStatus.INTERNAL_SERVER_ERROR, "as asked")
    return 200, TEXT, GREETING


async def root(query: str) -> tuple[int, bytes, bytes]:
    duration = contract.clamp_duration(parse_qs(query).get("duration", [None])[0])
    if duration:
        await asyncio.sleep(duration / 1000)
    return json_answer({"duration": duration})


async def plaintext(query: str) -> tuple[int, bytes, bytes]:
    return 200, TEXT, GREETING


async def greeting(query: str) -> tuple[int, bytes, bytes]:
    return json_answer({"message": contract.GREETING})


async def route_example(query: str) -> tuple[int, bytes, bytes]:
    return 200, TEXT, contract.ROUTE_RESPONSE.encode()


def json_answer(value: Any, status: int = 200) -> tuple[int, bytes, bytes]:
    return status, JSON, contract.to_json(value).encode()


def error(status: HTTPStatus, text: str) -> tuple[int, bytes, bytes]:
    return json_answer({"error": text}, status)


ROUTES: dict[str, Callable[[str], Awaitable[tuple[int, bytes, bytes]]]] = {
    "/": root,
    "/plaintext": plaintext,
    "/json": greeting,
    "/simple_json": greeting,
    "/http-route-example": route_example,
    "/synthetic": synthetic,
}


async def app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    route, headers = ROUTES.get(scope["path"]), []
    if route is None:
        status, content_type, body = error(HTTPStatus.NOT_FOUND, f"there is no {scope['path']}")
    elif scope["method"] not in ("GET", "HEAD"):
        status, content_type, body = error(HTTPStatus.METHOD_NOT_ALLOWED, f"{scope['path']} takes GET")
        headers = [(b"allow", b"GET")]
    else:
        status, content_type, body = await route(scope["query_string"].decode("latin-1"))
    headers += [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
