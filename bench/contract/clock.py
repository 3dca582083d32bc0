"""The time that the verifier measures and waits by. Tests replace it with a simulated clock."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Everything that depends on time asks this."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed point."""

    def now(self) -> datetime:
        """The current date and time, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def call_later(self, seconds: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call `function` after some seconds, from any thread. What is returned cancels that."""


class SystemClock:
    """The real time."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed point."""
        return time.monotonic_ns()

    def now(self) -> datetime:
        """The current date and time, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def call_later(self, seconds: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call `function` after some seconds, from a thread of its own."""
        timer = threading.Timer(seconds, function)
        timer.daemon = True
        timer.start()
        return timer.cancel
