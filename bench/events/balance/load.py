"""A client that fills its pool as requests come, and after a set time sends requests to the server's workers in turn.

This needs keep-alive connections, for which the client knows the worker. The second part is the same load with even
shares, which shows the cost of uneven ones.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from bench.load.client import Asked, Client, Connection, sleep_until
from bench.load.event import EventLoad, Loading
from bench.records.event import OPEN

TRIES_AT_ONCE, MOST_TRIES = 4, 64
MOST_EACH = 4
"""Connections to each worker; enough, at this load, to have a free one at any time."""


class Balanced(Client):
    """`even_ns`: the time, by the monotonic clock, from which requests go to the workers in turn."""

    def __init__(self, asked: Asked, workers: int, even_ns: int) -> None:
        super().__init__(asked)
        self.workers, self.even_ns = max(1, workers), even_ns
        self._filled = 0
        self._asked: Counter[int] = Counter()

    @property
    def wanted(self) -> int:
        """The number of connections wanted to each worker."""
        return max(1, min(MOST_EACH, self.asked.pool // self.workers))

    def keeps(self, connection: Connection) -> bool:
        """Keep more connections than the pool's size if a worker has too few."""
        full = time.monotonic_ns() < self.even_ns and len(self._idle) >= self.asked.pool
        if full and self._of_workers()[connection.worker] >= self.wanted:
            return False
        self._idle.append(connection)
        return True

    def _of_workers(self) -> Counter[int]:
        return Counter(one.worker for one in self._idle if not one.ended)

    async def level(self) -> None:
        """Open connections until each worker has enough, up to `MOST_TRIES`."""
        for _ in range(0, MOST_TRIES, TRIES_AT_ONCE):
            found = self._of_workers()
            if sum(count >= self.wanted for count in found.values()) >= self.workers:
                return
            for _ in range(TRIES_AT_ONCE):
                self.ask_once(self.asked.head, OPEN)
            await asyncio.sleep(0.05)

    def _choose(self) -> Connection | None:
        if time.monotonic_ns() + self.asked.look_s * 1e9 < self.even_ns:
            if self._filled < self.asked.pool:
                self._filled += 1
                return None
            return super()._choose()
        chosen = min(
            (one for one in self._idle if not one.ended), key=lambda one: self._asked[one.worker], default=None
        )
        if chosen is not None:
            self._idle.remove(chosen)
            self._asked[chosen.worker] += 1
        return chosen


def _client(loading: Loading, asked: Asked) -> Client:
    if loading.event.even_from is None:
        return Client(asked)
    seconds = sum(seconds for _, seconds in loading.rates[: loading.event.even_from])
    return Balanced(asked, loading.workers, loading.t0_ns + round(seconds * 1e9))


async def _level(loading: Loading, client: Client) -> None:
    """In the phase between uneven and even shares, open connections to workers that have too few."""
    if isinstance(client, Balanced):
        await sleep_until(loading.t0_ns + round(loading.rates[0][1] * 1e9))
        await client.level()


LOAD = EventLoad(client=_client, also=_level)
