"""The load of one service under an event: requests at a share of its capacity while actions are applied to it.

The client and the driver (driver/steps/events.py) synchronise through files in the measurement's folder: the client
says when the load begins, the driver when it may end.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import json
import math
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.core.files import as_object, read_bytes, write_file
from bench.core.programs import guarded, run_joined
from bench.core.typed import as_plain, read_or_none
from bench.events import of_event
from bench.load.answers import wait_until_ready
from bench.load.client import SPARE_S, WEBSOCKET, Asked, Client, Request, sleep_until
from bench.load.failures import TOOL_FAILED, Failed
from bench.load.kernel_counters import counters, limits, sysctls
from bench.load.save import TOOL_JSON, tool_json
from bench.load.task import Say, Task, command_of, pinned
from bench.plan.event import (
    BEFORE_S,
    ENDED,
    LOOK_S,
    RECOVERED,
    SLOWER,
    SLOWER_S,
    WORKERS,
    Event,
    Needs,
)
from bench.records.event import NEEDS, Fate
from bench.records.event_window import percentile
from bench.tools import TOOLS, parse
from bench.tools.sockets import CAPACITY, REQUESTS, SLOW
from bench.tools.tool import Load
from driver.messages import BEGUN, ENOUGH, GONE

PROBE_S, PROBE_CONNECTIONS = 2.0, 64
QUIET_S = 0.5
"""Pause after the probe, in which the service processes the last requests."""
LOOKS, AT_ONCE = 96, 16
"""Number of requests that find the pids of the workers, and how many are sent at the same time."""
NOT_OF_CAPACITY = ("BOOT_S", "TELL_PID", "TAKE_BODIES", "MAX_REQUESTS", "MAX_REQUESTS_JITTER")
RECOVERED_S = 3.0
"""Minimum duration of the last phase if it ends as soon as the service has recovered."""
SLOW_BODY = b'{"message":"%s"}' % (b"a" * 500)
"""At one byte per second, sending it takes longer than the window."""
UPGRADE = b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n" % (
    base64.b64encode(bytes(16))
)
STOPPED_SHARE = 0.5
"""A service counts as stopped if a smaller share of the other requests is answered in time."""
COLUMNS = ("kind", "due", "begun", "sent", "first", "end", "connection", "nth", "fate", "status", "worker", "close")
SLOW_COLUMNS = ("k", "opened", "closed", "how", "status", "told")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Good responses per second in a closed loop; `of` is the id of the measurement for which it was measured.

    `told`: the pids of the workers that gave responses; `expected`: the body of each, None if they differ.
    """

    rate: float
    of: str = ""
    told: tuple[int, ...] = ()
    expected: bytes | None = None


Rates = Sequence[tuple[float, float]]
"""(requests/s, seconds) of each phase."""
RunLoad = Callable[[Coroutine[Any, Any, None]], None]
"""Runs the load, and what else has to run meanwhile."""


@dataclass(frozen=True, slots=True)
class Loading:
    """A load under an event, whose first request is due at `t0_ns` of the monotonic clock.

    `workers`: how many the service is expected to have.
    """

    load: Load
    event: Event
    capacity: float
    rates: Rates
    t0_ns: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLoad:
    """What the client does under an event otherwise than under others.

    - `wait`: until the service can be loaded, besides its first good response.
    - `before`: what runs in front of the service of this name, with files in a folder: where requests then go, and how
      the load is run.
    - `client`: the client. `also`: what it sends beside the load.
    - `generate`: instead of the usual load; returns facts about it, or None for the usual one.
    """

    wait: Callable[[Asked], None] = lambda asked: None
    before: Callable[[Event, Asked, str, Path], AbstractContextManager[tuple[Asked, RunLoad]]] = (
        lambda event, asked, name, folder: nullcontext((asked, asyncio.run))
    )
    client: Callable[[Loading, Asked], Client] = lambda loading, asked: Client(asked)
    also: Callable[[Loading, Client], Coroutine[Any, Any, None]] = lambda loading, client: asyncio.sleep(0)
    generate: Callable[[Loading, Client], Mapping[str, Any] | None] = lambda loading, client: None


SHARED = EventLoad()


def wait_until_all_ready(task: Task, say: Say) -> None:
    """Wait for the first good response, and for what else the event needs."""
    wait_until_ready(task, say)
    of_event(task.event.name, "load", SHARED).wait(_asked(task, task.event, None))


def asked_of(task: Task) -> str:
    """The key of a capacity: the request, and the environment variables that affect the capacity."""
    event = task.event
    given = [f"{name}={value}" for name, value in sorted(event.environment.items()) if name not in NOT_OF_CAPACITY]
    path, _, query = task.load.exchange.path.partition("?")
    return " ".join((task.load.exchange.method, path, query, *given))


def know(task: Task, capacity: Capacity) -> None:
    """Save the service's capacity, the pids of its workers, and the expected body."""
    event = task.event
    client = asyncio.run(_look(_asked(replace(task, load=pinned(task.load)), event, None)))
    bodies = {request.body for request in client.log if request.fate is Fate.ANSWERED and request.body is not None}
    # Bodies that differ between responses, as a user's own app may send, are not compared.
    same = len(bodies) == 1 and not task.planned.requests
    told = tuple(sorted({request.worker for request in client.log if request.worker}))
    known = as_plain(replace(capacity, told=told, expected=bodies.pop() if same else None))
    facts = {"schema": 1, "connections": PROBE_CONNECTIONS, "seconds": PROBE_S} | known
    write_file(task.folder / CAPACITY, json.dumps(facts) + "\n")


def find_capacity(task: Task) -> Capacity:
    """Measure the service's capacity in a closed loop of a few seconds; nothing else may be loaded meanwhile.

    Failed if there is no good response.
    """
    load = replace(
        pinned(task.load), connections=PROBE_CONNECTIONS, duration_s=PROBE_S, threads=1, timeout_s=10.0, rate=None
    )
    command = command_of(TOOLS["wrk"], load)
    done = run_joined(guarded(PROBE_S + 15, 5, *command.argv))
    parsed = parse("wrk", done.stdout)
    if not parsed.ok or not parsed.duration_s:
        raise Failed(TOOL_FAILED, f"no response in {PROBE_S:g} s of closed loop: the capacity is not known")
    time.sleep(QUIET_S)
    return Capacity(parsed.ok / parsed.duration_s, task.planned.id)


async def _look(asked: Asked) -> Client:
    """Send a few requests on new connections, to learn the bodies and pids from the responses."""
    client = Client(replace(asked, pool=0, look_s=0.0, timeout_s=10.0))
    client.keep_bodies = True
    for _ in range(0, LOOKS, AT_ONCE):
        for _ in range(AT_ONCE):
            client.ask_once(asked.head, "")
        await client.drained()
    return client


def run_event(task: Task, beside: int = 0) -> None:
    """Generate the load and save its log; tool.json comes last.

    `beside` is the number of other windows of the event at the same time.
    """
    folder, event = task.folder, task.event
    capacity = read_or_none(Capacity, as_object(read_bytes(str(folder / CAPACITY)) or b""))
    if capacity is None:
        raise Failed(TOOL_FAILED, f"{CAPACITY} has no capacity: the load was not prepared")
    load, known = pinned(task.load), frozenset(capacity.told)
    asked = _asked(replace(task, load=load), event, capacity.expected)
    rates = [] if event.parts else rates_of(event, capacity.rate)
    specifics = of_event(event.name, "load", SHARED)
    facts: dict[str, Any] = {"limits": limits(), "sysctls": sysctls(), "before": counters()}
    # The hostname of the unpinned load resolves to all containers of the service; the pinned load has one address.
    with specifics.before(event, asked, task.load.peer[0], folder) as (asked, run):
        time.sleep(task.planned.after_s)
        t0_ns = time.monotonic_ns() + round(SPARE_S * 1e9)
        loading = Loading(load, event, capacity.rate, rates, t0_ns, max(WORKERS, len(known)))
        client = specifics.client(loading, asked)
        gc.disable()
        start_ns = time.time_ns() + round(SPARE_S * 1e9)
        write_file(folder / BEGUN, f"{t0_ns} {start_ns}\n")
        if (more := specifics.generate(loading, client)) is None:
            run(_load(client, loading, specifics.also, folder, known=known))
        gc.enable()
    facts |= {"after": counters(), "start_ns": start_ns, "end_ns": time.time_ns(), "t0_ns": t0_ns}
    facts |= {"capacity": capacity.rate, "rates": rates, "timeout_s": event.timeout_s, "beside": beside}
    facts |= {"by": task.tool.name, **(more or {})}
    facts |= {"faults": dict(client.faults), "exit_status": 0, "elapsed_ns": time.monotonic_ns() - t0_ns}
    log = "".join("\t".join(map(str, row)) + "\n" for row in rows(client.log, t0_ns))
    write_file(folder / REQUESTS, gzip.compress(log.encode(), mtime=0))
    if client.others:
        lines = (
            (one.k, one.opened_ns - t0_ns, one.closed_ns and one.closed_ns - t0_ns, one.how, one.status, one.told)
            for one in client.others
        )
        write_file(folder / SLOW, "".join("\t".join(map(str, line)) + "\n" for line in (SLOW_COLUMNS, *lines)))
    write_file(folder / TOOL_JSON, tool_json(facts, task.tool.name, task.tool.version(), (), ""))


def rates_of(event: Event, capacity: float) -> list[tuple[float, float]]:
    """Requests/s and seconds of each phase; rates are at least 4/s, so that a second has enough requests to judge."""
    most = event.most_rate or float("inf")
    return [(round(max(4.0, min(most, one.share * capacity)), 1), one.seconds) for one in event.phases]


def due_times(rates: Rates) -> Iterator[float]:
    """When each request is due, in seconds."""
    begin = 0.0
    for rate, seconds in rates:
        yield from (begin + number / rate for number in range(round(rate * seconds)))
        begin += seconds


def rows(log: Sequence[Request], t0_ns: int) -> Iterator[Sequence[object]]:
    """The lines of the log; times are in ns from when the first request was due, empty if it did not happen.

    Times are rounded to microseconds: more digits would double the compressed size without being meaningful.
    """
    yield COLUMNS
    for request in log:
        times = (request.due_ns, request.begun_ns, request.sent_ns, request.first_ns, request.end_ns)
        moments = [round(at - t0_ns, -3) if at else "" for at in times]
        fate = request.fate.value if request.fate else ""
        status, close = request.status, int(request.told_close)
        yield request.kind, *moments, request.connection, request.nth, fate, status, request.worker, close


async def _load(
    client: Client,
    loading: Loading,
    also: Callable[[Loading, Client], Coroutine[Any, Any, None]],
    folder: Path,
    *,
    known: frozenset[int],
) -> None:
    """Generate the load until the event is over; `known`: pids of the workers that were there before."""
    event, rates, t0_ns, ended = loading.event, loading.rates, loading.t0_ns, asyncio.Event()
    slow = [_slow(client, event, t0_ns, ended)] if event.slow else []
    needing = [_needing(client, event, event.needs, t0_ns)] if event.needs else []
    beside = [asyncio.ensure_future(one) for one in (*slow, *needing, also(loading, client))]
    enough = str(folder / ENOUGH)

    last_ns = t0_ns + round(sum(seconds for _, seconds in rates[:-1]) * 1e9)
    first_ns = t0_ns + round((event.actions[0].at_s if event.actions else rates[0][1]) * 1e9)

    def as_before() -> bool:
        """Whether responses are as good and as fast again as before the event."""
        ends = [one.end_ns - one.due_ns for one in client.log if one.due_ns < first_ns and one.fate is Fate.ANSWERED]
        before = percentile(99, ends)
        return client.is_calm(math.inf if before is None else SLOWER * before / 1e9 + SLOWER_S)

    def over() -> bool:
        if event.until == RECOVERED:
            return time.monotonic_ns() >= last_ns + RECOVERED_S * 1e9 and as_before()
        if event.slow and not event.actions and beside[0].done() and all(one.closed_ns for one in client.others):
            return client.is_calm()
        if not os.path.exists(enough):
            return False
        if event.until == ENDED or read_bytes(enough) == GONE.encode():
            return True
        return as_before() and (not (event.new_every and known) or client.answered_by_others(known))

    await client.load([*due_times(rates)], t0_ns, over)
    ended.set()
    for task in beside:
        await task
    await client.drained()
    client.close()


async def _needing(client: Client, event: Event, needs: Needs, t0_ns: int) -> None:
    """Send the requests that need the exhausted or missing dependency: at a rate, and in bursts."""
    for number in range(round(needs.rate * event.seconds)):
        await sleep_until(t0_ns + round(number / needs.rate * 1e9))
        client.ask_once(client.asked.needs_head, NEEDS, needs.timeout_s)
    for number, count in enumerate(needs.steps):
        await sleep_until(t0_ns + round((BEFORE_S + number * needs.step_s) * 1e9))
        for _ in range(count):
            client.ask_once(client.asked.needs_head, f"{NEEDS} {count}", needs.timeout_s)


async def _slow(client: Client, event: Event, t0_ns: int, ended: asyncio.Event) -> None:
    """Open more and more slow connections, until they have stopped the service; before the first action, if any."""
    begin_s = event.actions[0].at_s / 2 if event.actions else BEFORE_S
    await sleep_until(t0_ns + round(begin_s * 1e9))
    for number, k in enumerate(event.slow_steps, 1):
        begun_ns = time.monotonic_ns()
        await client.slow(event.slow, k, ended)
        await sleep_until(t0_ns + round((begin_s + number * event.slow_step_s) * 1e9))
        if ended.is_set() or answered_share(client.log, begun_ns, event.timeout_s) < STOPPED_SHARE:
            break


def answered_share(log: Sequence[Request], begun_ns: int, timeout_s: float) -> float:
    """The share answered well of the requests due since `begun_ns` whose timeout has passed; 1 if there are none."""
    decided_ns = time.monotonic_ns() - round(timeout_s * 1e9)
    seen = [one for one in log if begun_ns <= one.due_ns <= decided_ns]
    return sum(one.fate is Fate.ANSWERED for one in seen) / len(seen) if seen else 1.0


def _asked(task: Task, event: Event, expected: bytes | None) -> Asked:
    exchange, (host, port) = task.load.exchange, task.load.peer
    body = b""
    if task.load.body_file:
        body = (exchange.body or "").encode() or Path(task.load.body_file).read_bytes()
    return Asked(
        host=host,
        port=port,
        head=_head(task, event, exchange.path, body),
        expected=expected,
        timeout_s=event.timeout_s,
        pool=event.pool,
        look_s=LOOK_S if event.pool and event.even_from is None else 0.0,
        new_every=event.new_every,
        long_head=_head(task, event, event.long_path, b"") if event.long_path else b"",
        slow_head=_slow_head(task, event),
        needs_head=_head(task, replace(event, pool=0), event.needs.path, b"") if event.needs else b"",
        redirects=exchange.redirects,
    )


def _slow_head(task: Task, event: Event) -> bytes:
    if not event.slow_path:
        return b""
    if event.slow == WEBSOCKET:
        return _head(task, event, event.slow_path, b"").replace(b"\r\n", UPGRADE, 1)
    if event.slow != "body":
        return _head(task, event, event.slow_path, b"")
    head = _head(task, event, event.slow_path, SLOW_BODY, "POST")
    return head.replace(b"\r\n", b"\r\nContent-Type: application/json\r\n", 1)


def _head(task: Task, event: Event, path: str, body: bytes, method: str = "") -> bytes:
    method = method or task.load.exchange.method
    lines = [f"{method} {path} HTTP/1.1", f"Host: {task.planned.service}:8080", "User-Agent: bench"]
    lines += [line for line in task.load.headers if not line.lower().startswith("host:")]
    lines += [f"Content-Length: {len(body)}"] if body else []
    lines += [] if event.pool else ["Connection: close"]
    return "\r\n".join((*lines, "", "")).encode() + body
