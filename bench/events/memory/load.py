"""The load that measures memory growth: a closed loop in parts, with a wrk report for each."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.core.programs import guarded, run_joined
from bench.events.memory.cases import BODY_MB
from bench.load.client import Asked, Client
from bench.load.event import EventLoad, Loading
from bench.load.task import command_of
from bench.plan.event import BEFORE_S, Event
from bench.records.event import BODY
from bench.tools import TOOLS

REST_S = 2.0
"""Seconds without load at the end: memory that the service still holds then counts as kept."""
BODIES_AT_ONCE, BODY_TIMEOUT_S = 8, 30.0


def part_seconds(event: Event, capacity: float) -> int:
    """The duration of each part in whole seconds: its share of the phase, or less if `most_requests` takes less."""
    longest = event.phases[0].seconds / event.parts
    if event.most_requests:
        longest = min(longest, math.ceil(event.most_requests / event.parts / capacity))
    return max(1, int(longest))


def _in_parts(loading: Loading, client: Client) -> Mapping[str, Any] | None:
    """Generate the load; returns wrk's output of each part with its times, in ns from `t0_ns`."""
    event, t0_ns = loading.event, loading.t0_ns
    if not event.parts:
        return None
    facts: dict[str, Any] = {"by": "wrk"}
    time.sleep(max(0.0, t0_ns / 1e9 - time.monotonic()))
    if event.bodies:
        time.sleep(BEFORE_S)
        begin_ns = time.monotonic_ns()
        asyncio.run(send_bodies(client, event.bodies))
        facts["bodies_ns"] = [begin_ns - t0_ns, time.monotonic_ns() - t0_ns]
    seconds = part_seconds(event, loading.capacity)
    part = replace(
        loading.load, connections=event.pool, duration_s=float(seconds), timeout_s=event.timeout_s, threads=1, rate=None
    )
    words = guarded(seconds + event.timeout_s + 10, 5, *command_of(TOOLS["wrk"], part).argv)
    parts = []
    for _ in range(event.parts):
        begin_ns = time.monotonic_ns()
        done = run_joined(words)
        times = {"begin_ns": begin_ns - t0_ns, "end_ns": time.monotonic_ns() - t0_ns}
        parts.append(times | {"output": done.stdout.decode(errors="replace")})
    time.sleep(REST_S)
    return facts | {"parts": parts}


async def send_bodies(client: Client, count: int) -> None:
    """Send `count` large requests, each on a new connection, `BODIES_AT_ONCE` at the same time."""
    request = large_request(client.asked)
    for begun in range(0, count, BODIES_AT_ONCE):
        for _ in range(min(BODIES_AT_ONCE, count - begun)):
            client.ask_once(request, BODY, BODY_TIMEOUT_S)
        await client.drained()


def large_request(asked: Asked) -> bytes:
    """A request with a large body, which the app reads completely (TAKE_BODIES)."""
    size = BODY_MB << 20
    lines = ["POST /echo HTTP/1.1", f"Host: {asked.host}:{asked.port}", "User-Agent: bench", "Connection: close"]
    lines += ["Content-Type: application/octet-stream", f"Content-Length: {size}"]
    return "\r\n".join((*lines, "", "")).encode() + bytes(size)


LOAD = EventLoad(generate=_in_parts)
