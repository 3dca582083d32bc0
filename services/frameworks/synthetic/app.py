"""An app with known behaviour, to test the harness: the request determines what the figures should be.

It has the contract's basic routes and `/synthetic?...`, where each parameter is a behaviour; they add up:

    busy_us=N               N microseconds of CPU, by the thread's own clock
    sleep=MS:SHARE,...      waits, each for a share of the requests (`1:98,50:2`: 1 ms for 98 in 100, 50 ms for 2)
    exact=MS:SHARE,...      as sleep, but exact to a few microseconds: the event loop spins until the time has come
    stall=MS:EVERY_MS       no response in the first MS of every EVERY_MS, by the machine's monotonic clock
    errors=PERCENT          this share of the responses is a 500
    capacity=N              each worker serves at most N requests per second, in the order of their arrival
    hang=MS                 the worker that gets the first request waits MS in every other request
    alone=MS                each worker serves one request at a time, and waits MS for each
    at_least=MS             waits MS
    body=MS                 sends the head of the response at once, and the body MS later
    group=N                 with `capacity`: N consecutive responses are sent together, when the last of them is due
    coin_us=A:B             A or B microseconds of CPU, by one coin toss for each process and query
    database_ms=MS          one statement at a time, which keeps the database's CPU busy for MS
    nagle=1                 switches TCP_NODELAY off (gunicorn sends head and body in two segments)

`/ws/synthetic?busy_us=N` is a WebSocket that echoes, and `/sse/synthetic?busy_us=N` a stream of events (EVENTS of
them, as soon as possible): each message and each event takes so much CPU.

`first.busy_us=N` applies only to the service with ROLE=first in its environment, so that one query can give each
service of a table its own behaviour. SLOWER_US in the environment adds that many microseconds of CPU to `busy_us`, and
to nothing else.

`app` is ASGI, or WSGI if INTERFACE is wsgi. WSGI has no `exact`, `body` and `database_ms`; `nagle` works only on
gunicorn.

Two settings replace the server that imports this module, which then never starts: with OWN_BIND=cheroot, the import
serves on a socket that Cheroot binds itself; with BAD_DAY, the process becomes the server of bad_day.py.

Shares are not random: a low-discrepancy sequence keeps every stretch of requests within a request or two of them.
Timers of event loops have millisecond resolution, so a wait may be up to 2 ms longer than requested. It may also end a
fraction of a millisecond early, except for `capacity`, `alone`, `at_least` and `body`, which limit what can be served.
"""

import asyncio
import os
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any, NamedTuple, Optional
from urllib.parse import parse_qs, parse_qsl

from common import contract, settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TEXT, JSON = b"text/plain; charset=utf-8", b"application/json"
GREETING = contract.GREETING.encode()
# The fractional parts of its multiples cover 0..1 more evenly than random numbers.
GOLDEN = 0.6180339887498949
SLOWER_US = int(os.environ.get("SLOWER_US", "0"))
ROLE = os.environ.get("ROLE", "")
INTERFACE = os.environ.get("INTERFACE", "asgi")
OWN_BIND = os.environ.get("OWN_BIND") == "cheroot"
COMMON = {"busy_us", "sleep", "stall", "errors", "capacity", "hang", "alone", "at_least", "group", "coin_us"}
OFFERED = COMMON | ({"nagle"} if INTERFACE == "wsgi" else {"exact", "body", "database_ms"})
EVENTS = 1000
# Event loops round shorter waits to 0, and would spin.
SHORTEST_S = 0.001
# Longer than an iteration of an event loop.
LAST_S = 0.00005
# Uses the database's CPU: a DO block is one transaction, and now() is when it began.
STATEMENT = "DO $$ BEGIN WHILE clock_timestamp() < now() + interval '{} ms' LOOP END LOOP; END $$"


class Behaviour:
    """The behaviour that one query string asks for; raises ValueError if it is malformed."""

    def __init__(self, query: str) -> None:
        words = _own_words(query)
        if unknown := words.keys() - OFFERED:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        busy_us = int(words.get("busy_us", 0))
        self.busy_ns = 1000 * (busy_us + SLOWER_US) if busy_us else 0
        if "coin_us" in words:
            self.busy_ns += 1000 * int(random.SystemRandom().choice(_pairs(words["coin_us"])[0]))
        self.errors = float(words.get("errors", 0)) / 100
        self.sleeps, self.exact = _pairs(words.get("sleep", "")), _pairs(words.get("exact", ""))
        stalls = _pairs(words.get("stall", ""))
        self.stall_s, self.every_s = (stalls[0][0] / 1000, stalls[0][1] / 1000) if stalls else (0.0, 1.0)
        self.slot_s = 1 / float(words["capacity"]) if "capacity" in words else 0.0
        self.hang_s = float(words.get("hang", 0)) / 1000
        self.alone_s = float(words.get("alone", 0)) / 1000
        self.at_least_s = float(words.get("at_least", 0)) / 1000
        self.body_s = float(words.get("body", 0)) / 1000
        self.database_ms = float(words.get("database_ms", 0))
        self.nagle = words.get("nagle") == "1"
        self.group = int(words.get("group", 1))
        if self.group < 1:
            raise ValueError("group is at least 1")
        self.never_early = bool(self.slot_s or self.at_least_s)
        self.asked, self.free_at, self.queued = 0, 0.0, 0
        # A worker uses one of them: it has either an event loop or threads.
        self.turn, self.thread_turn = asyncio.Lock(), threading.Lock()

    def next(self) -> float:
        """The next request's place in the sequence, 0..1."""
        self.asked += 1
        return self.asked * GOLDEN % 1

    def wait_s(self, place: float, now: float) -> float:
        """Seconds to wait for the request at this place that arrived at `now`."""
        wait = self.at_least_s + _drawn_s(self.sleeps, place)
        if self.hang_s and self.asked % 2 and is_the_hanging_worker():
            wait += self.hang_s
        if self.slot_s:
            self.queued = self.queued + 1 if self.free_at > now else 1
            self.free_at = max(self.free_at, now) + self.slot_s
            wait += self.free_at - now + -self.queued % self.group * self.slot_s
        return wait + max(0.0, self.stall_s - (now + wait) % self.every_s)

    def fails(self, place: float) -> bool:
        """Whether the request at this place gets a 500."""
        return place < self.errors


def _own_words(query: str) -> dict[str, str]:
    """The parameters for every service and those for this service's role, the latter without the role."""
    words = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    named = ((name.rpartition("."), value) for name, value in words)
    return {name: value for (role, dot, name), value in named if not dot or role == ROLE}


def _pairs(text: str) -> list[tuple[float, float]]:
    """`1:98,50:2` -> [(1.0, 98.0), (50.0, 2.0)]."""
    pairs = [part.partition(":") for part in text.split(",") if part]
    return [(float(one), float(other)) for one, _, other in pairs]


def _drawn_s(waits: list[tuple[float, float]], place: float) -> float:
    """The wait of the request at this place, in seconds; 0 if there are none."""
    mark = place * sum(share for _, share in waits)
    for ms, share in waits:
        if mark < share:
            return ms / 1000
        mark -= share
    return 0.0


@cache
def is_the_hanging_worker() -> bool:
    """Whether this process was the first in the container to call this."""
    with suppress(FileExistsError), open(os.path.join(tempfile.gettempdir(), "hanging-worker"), "x"):
        return True
    return False


behaviour = lru_cache(maxsize=64)(Behaviour)


def burn(nanoseconds: int) -> None:
    """Use this much of the thread's CPU time, independent of clock rate and load."""
    end = time.thread_time_ns() + nanoseconds
    while time.thread_time_ns() < end:
        pass


async def pause(seconds: float) -> None:
    """Wait for `seconds`, never less."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        await asyncio.sleep(max(left, SHORTEST_S))


async def spin(until: float) -> None:
    """Wait by letting the event loop run, whose timers have steps of a millisecond; at the end not even that."""
    while (left := until - time.monotonic()) > 0:
        if left > LAST_S:
            await asyncio.sleep(0)


class Answer(NamedTuple):
    """A response; `body_s`: the seconds from sending its head to sending its body."""

    status: int
    content_type: bytes
    body: bytes
    body_s: float = 0.0


async def synthetic(query: str) -> Answer:
    try:
        asked = behaviour(query)
    except (ValueError, ArithmeticError, IndexError) as fault:
        return error(HTTPStatus.BAD_REQUEST, str(fault))
    place, now = asked.next(), time.monotonic()
    if asked.exact:
        await spin(now + _drawn_s(asked.exact, place))
    if wait := asked.wait_s(place, now):
        await (pause if asked.never_early else asyncio.sleep)(wait)
    if asked.alone_s:
        async with asked.turn:
            await pause(asked.alone_s)
    if asked.database_ms:
        async with asked.turn:
            await (await database()).execute(STATEMENT.format(asked.database_ms))
    return answered(asked, place)


def synthetic_in_thread(query: str, connection: Optional[socket.socket]) -> Answer:
    try:
        asked = behaviour(query)
    except (ValueError, ArithmeticError, IndexError) as fault:
        return error(HTTPStatus.BAD_REQUEST, str(fault))
    with asked.thread_turn:
        place = asked.next()
        wait = asked.wait_s(place, time.monotonic())
    if asked.nagle and connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
    if wait:
        time.sleep(wait)
    if asked.alone_s:
        with asked.thread_turn:
            time.sleep(asked.alone_s)
    return answered(asked, place)


def answered(asked: Behaviour, place: float) -> Answer:
    """The response after all waits: uses the CPU, or fails, as asked."""
    if asked.busy_ns:
        burn(asked.busy_ns)
    if asked.fails(place):
        return error(HTTPStatus.INTERNAL_SERVER_ERROR, "as asked")
    return Answer(200, TEXT, GREETING, asked.body_s)


connections: list[Any] = []


async def database() -> Any:
    """The worker's only connection to the database; callers must hold the turn."""
    if not connections:
        import asyncpg  # only images of async servers have it

        where = settings.Database.from_environment()
        connections.append(
            await asyncpg.connect(
                host=where.host,
                port=where.port,
                database=where.name,
                user=where.user,
                password=settings.database_password(),
            )
        )
    return connections[0]


async def root(query: str) -> Answer:
    duration = contract.clamp_duration(parse_qs(query).get("duration", [None])[0])
    if duration:
        await asyncio.sleep(duration / 1000)
    return json_answer({"duration": duration})


async def plaintext(query: str) -> Answer:
    return Answer(200, TEXT, GREETING)


async def greeting(query: str) -> Answer:
    return json_answer({"message": contract.GREETING})


async def page(query: str) -> Answer:
    return json_answer(contract.PAGE)


async def route_example(query: str) -> Answer:
    return Answer(200, TEXT, contract.ROUTE_RESPONSE.encode())


def json_answer(value: Any, status: int = 200) -> Answer:
    return Answer(status, JSON, contract.to_json(value).encode())


def error(status: HTTPStatus, text: str) -> Answer:
    return json_answer({"error": text}, status)


ROUTES: dict[str, Callable[[str], Awaitable[Answer]]] = {
    "/": root,
    "/plaintext": plaintext,
    "/json": greeting,
    "/simple_json": greeting,
    "/json_20kb": page,
    "/http-route-example": route_example,
    "/synthetic": synthetic,
}


async def echo(busy_ns: int, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        burn(busy_ns)
        await send({"type": "websocket.send", "text": message["text"]})


async def events(busy_ns: int, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number in range(EVENTS):
        burn(busy_ns)
        body = contract.event_text(number).encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


PUSHING = {"/ws/synthetic": echo, "/sse/synthetic": events}


async def asgi_app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["path"] in PUSHING:
        await PUSHING[scope["path"]](behaviour(scope["query_string"].decode("latin-1")).busy_ns, receive, send)
        return
    answer, headers = refused(scope["path"], scope["method"])
    if answer is None:
        answer = await ROUTES[scope["path"]](scope["query_string"].decode("latin-1"))
    headers += [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body))]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if answer.body_s:
        await pause(answer.body_s)
    await send({"type": "http.response.body", "body": answer.body})


def wsgi_app(
    environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], object]
) -> Iterable[bytes]:
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    answer, headers = refused(path, environ["REQUEST_METHOD"])
    if answer is None and path == "/synthetic":
        answer = synthetic_in_thread(query, environ.get("gunicorn.socket"))
    elif answer is None:
        answer = asyncio.run(ROUTES[path](query))
    headers += [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body))]
    status = HTTPStatus(answer.status)
    start_response(f"{status.value} {status.phrase}", [(name.decode(), value.decode()) for name, value in headers])
    return [answer.body]


def refused(path: str, method: str) -> tuple[Optional[Answer], list[tuple[bytes, bytes]]]:
    """The error for an unknown path or a wrong method, with extra headers; None if the request has a route."""
    if path not in ROUTES:
        return error(HTTPStatus.NOT_FOUND, f"there is no {path}"), []
    if method not in ("GET", "HEAD"):
        return error(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes GET"), [(b"allow", b"GET")]
    return None, []


app = wsgi_app if INTERFACE == "wsgi" else asgi_app

if OWN_BIND:
    from cheroot import wsgi  # only images of cheroot have it

    server = wsgi.Server(("0.0.0.0", int(os.environ["PORT"])), app)
    # As in common/cheroot_worker.py, so that only the sockets differ.
    server.keep_alive_conn_limit = None
    server.start()

if os.environ.get("BAD_DAY"):
    # It replaces the importing server's process, and thus gets the signals meant for that server.
    os.execv(sys.executable, [sys.executable, os.path.join(os.path.dirname(__file__), "bad_day.py")])
