"""Idle connections, kept as by a proxy: when the server closes them, and whether requests sent just then are lost.

First, some connections are left idle after one response until the server closes them. Then connections are opened one
after another. Each gets a second request within some hundredths of a second of the time when the server closes it, and
is checked shortly before that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.events.idle_close.cases import AROUND_S, HELD, NOT_KEPT_S, OPENED_S
from bench.load.client import Client, Connection, Other, Request, sleep_until
from bench.load.event import EventLoad, Loading
from bench.plan.event import LOOK_S, Event
from bench.records.event import CLOSED, KEPT

EACH_S = 0.02
"""Seconds between opening two of the first connections."""
MOST_KEPT = 400
GOLDEN = 0.6180339887498949
"""The reciprocal of the golden ratio; its multiples modulo 1 cover [0, 1) evenly, however many there are."""


class Keeper(Client):
    """A client without a pool: connections stay with their users."""

    def keeps(self, connection: Connection) -> bool:
        """Always keep it open."""
        return True


@dataclass(frozen=True, slots=True)
class Sweep:
    """The second part: after how long the server closes idle connections, and the connections opened per second."""

    idle_s: float
    rate: float

    @property
    def count(self) -> int:
        """The number of connections."""
        return round(self.rate * OPENED_S)

    def delay_s(self, number: int) -> float:
        """Seconds from the end of a connection's first response to its second request."""
        return self.idle_s + (number * GOLDEN % 1.0 * 2 - 1) * AROUND_S


def _generate(loading: Loading, client: Client) -> Mapping[str, Any]:
    asyncio.run(_idle(client, loading.event, loading.rates[0][0], loading.t0_ns))
    return {}


async def _idle(client: Client, event: Event, rate: float, t0_ns: int) -> None:
    """Run both parts; the second only if the server closed all connections in the first, and not at once."""
    await sleep_until(t0_ns)
    await asyncio.gather(*(_held(client, event, number) for number in range(HELD)))
    lasted = [(one.closed_ns - one.opened_ns) / 1e9 for one in client.others if one.closed_ns and one.opened_ns]
    if len(lasted) == HELD and (idle_s := median(lasted)) > NOT_KEPT_S:
        # Two requests for each connection.
        sweep = Sweep(idle_s, min(rate / 2, MOST_KEPT / idle_s))
        begin_ns = time.monotonic_ns()
        opened = (begin_ns + round(number / sweep.rate * 1e9) for number in range(sweep.count))
        await asyncio.gather(*(_kept(client, at_ns, sweep.delay_s(number)) for number, at_ns in enumerate(opened)))


async def _held(client: Client, event: Event, number: int) -> None:
    """One connection of the first part."""
    await asyncio.sleep(number * EACH_S)
    other = Other(HELD, how="refused")
    client.others.append(other)
    connection, request = await client.opened(time.monotonic_ns())
    if connection is None or not request.end_ns:
        return
    other.opened_ns, other.status = request.end_ns, request.status
    until_ns = request.end_ns + round(event.idle_most_s * 1e9)
    while not connection.ended and time.monotonic_ns() < until_ns:
        await asyncio.sleep(0.02)
    other.how = "held"
    if connection.ended:
        other.how, other.closed_ns = "eof", connection.ended_ns
    connection.drop()


async def _kept(client: Client, opened_ns: int, delay_s: float) -> None:
    """One connection of the second part."""
    await sleep_until(opened_ns)
    connection, request = await client.opened(opened_ns)
    if connection is None or not request.end_ns:
        return
    due_ns = request.end_ns + round(delay_s * 1e9)
    await sleep_until(due_ns - round(LOOK_S * 1e9))
    if connection.ended:
        closed = Request(due_ns, CLOSED, connection=connection.number, end_ns=connection.ended_ns)
        client.log.append(closed)
    else:
        await sleep_until(due_ns)
        await client.again(connection, Request(due_ns, KEPT))
    connection.drop()


LOAD = EventLoad(client=lambda loading, asked: Keeper(asked), generate=_generate)
