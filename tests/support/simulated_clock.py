"""A clock that moves only when everybody sleeps, so that tests of times are exact on any machine."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from bench.contract.client import Answer, Client, Clock, Request

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STUCK_AFTER = 60
"""Real seconds after which a stuck simulation fails its test."""


class Abandoned(ConnectionError):
    """Raised in a sleeper when a timer fires: the client has given up, and nobody waits for the answer."""


class SimulatedClock(Clock):
    """The clock of a client and a server in one process.

    Sleeping takes no real time. Time advances once as many threads sleep as requests are in flight (one, or the number
    given to `in_flight`), so that concurrent requests wait concurrently however their threads are scheduled.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._now = 0
        self._wakes: list[int] = []
        self._timers: list[tuple[int, Callable[[], None]]] = []
        self._fired = 0
        self._in_flight = 1

    def monotonic_ns(self) -> int:
        with self._changed:
            return self._now

    def now(self) -> datetime:
        return START + timedelta(microseconds=self.monotonic_ns() / 1000)

    def sleep(self, seconds: float) -> None:
        with self._changed:
            wake, fired = self._now + round(seconds * 1e9), self._fired
            self._wakes.append(wake)
            try:
                while self._now < wake:
                    if sum(other > self._now for other in self._wakes) >= self._in_flight:
                        self._advance()
                    elif not self._changed.wait(STUCK_AFTER):
                        raise AssertionError(f"{self._in_flight} requests in flight, {len(self._wakes)} asleep")
                    if self._fired != fired:
                        raise Abandoned
            finally:
                self._wakes.remove(wake)

    def call_later(self, seconds: float, function: Callable[[], None]) -> Callable[[], None]:
        with self._changed:
            timer = (self._now + round(seconds * 1e9), function)
            self._timers.append(timer)

        def cancel() -> None:
            with self._changed:
                if timer in self._timers:
                    self._timers.remove(timer)

        return cancel

    @contextmanager
    def in_flight(self, count: int) -> Iterator[None]:
        """While this is open, `count` requests are made concurrently."""
        with self._changed:
            self._in_flight = count
        try:
            yield
        finally:
            with self._changed:
                self._in_flight = 1

    def one_done(self) -> None:
        """One of the requests in flight was answered."""
        with self._changed:
            self._in_flight = max(1, self._in_flight - 1)
            self._changed.notify_all()

    def _advance(self) -> None:
        """Moves to the next moment at which a sleeper wakes or a timer is due."""
        self._now = max(self._now, min([*self._wakes, *(due for due, _ in self._timers)]))
        due = [timer for timer in self._timers if timer[0] <= self._now and self._now not in self._wakes]
        for timer in due:
            self._timers.remove(timer)
            self._fired += 1
            timer[1]()
        self._changed.notify_all()


class SimulatedClient(Client):
    """A client that tells its simulated clock how many requests are in flight."""

    clock: SimulatedClock

    def ask(self, request: Request) -> Answer:
        try:
            return super().ask(request)
        finally:
            self.clock.one_done()

    def burst(self, request: Request, count: int) -> list[Answer]:
        with self.clock.in_flight(count):
            return super().burst(request, count)
