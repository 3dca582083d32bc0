"""Limits of times are exact, in simulated time; which clock measures a wait; the real clock."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from captured import refused
from fake import FakeService
from simulated_clock import SimulatedClient, SimulatedClock

from bench.contract.answers import Mismatch, TooLate
from bench.contract.checks import Check, Target, final_count
from bench.contract.client import Client, Clock, TimedOut
from bench.exchange.http import check as checks


def run(check: Check, takes: Callable[[float], float]) -> None:
    """Run the check on a service whose waits for N milliseconds take `takes(N)`."""
    with FakeService() as service:
        service.app.takes = takes
        client = SimulatedClient(service.url, 30, service.clock)
        database, external = service.database, service.upstream
        check.function(Target(client, database, external, True), check.routes[0])


# (check, milliseconds requested, the least and the most that are accepted)
BOUNDS = [
    (checks.waits, 200, 200, 350),
    (checks.concurrent_waits, 500, 500, 900),
    (checks.waited_for, 150, 150, 350),
    (checks.hangs, 2050, 0, 3550),
]


@pytest.mark.parametrize(("check", "asked", "least", "most"), BOUNDS, ids=lambda value: getattr(value, "name", ""))
def test_bounds_are_exact(check: Check, asked: int, least: int, most: int) -> None:
    def takes(actual: float) -> Callable[[float], float]:
        return lambda ms: actual if ms == asked else ms

    for actual in (least, most):
        run(check, takes(actual))
    if least:
        early = refused(Mismatch, run, check, takes(least - 0.1))
        words = f"expected at least {least / 1000:g} s, got {(least - 0.1) / 1000:.4f} s"
        assert str(early) == words and not isinstance(early, TooLate)
    with pytest.raises(TooLate, match=rf"got {(most + 1) / 1000:.3f} s in the last of [25] tries$"):
        run(check, takes(most + 1))


def test_the_default_of_upstream_is_waited_for_exactly() -> None:
    run(checks.waited_for, lambda ms: ms)
    with pytest.raises(Mismatch, match=r"at least 0\.1 s, got 0\.099 s"):
        run(checks.waited_for, lambda ms: 99 if ms == 100 else ms)


def in_turn(*tries: float) -> Callable[[float], float]:
    times: Iterator[float] = iter(tries)
    return lambda ms: next(times)


def test_one_of_five_tries_in_time_is_enough() -> None:
    run(checks.waits, in_turn(900, 900, 900, 900, 300))
    with pytest.raises(TooLate, match=r"got 0\.700 s in the last of 5 tries"):
        run(checks.waits, in_turn(900, 900, 900, 900, 700, 300))


def test_one_early_try_is_too_many() -> None:
    with pytest.raises(Mismatch, match=r"at least 0\.2 s, got 0\.1990 s"):
        run(checks.waits, in_turn(900, 900, 199))


@pytest.mark.parametrize(("late_by", "counted"), [(0, 8), (0.98, 8), (1.2, 0)])
def test_a_counter_has_a_second_to_reach_what_is_wanted(late_by: float, counted: int) -> None:
    clock = SimulatedClock()
    assert final_count(clock, lambda: 8 if clock.monotonic_ns() >= late_by * 1e9 else 0, 8) == counted


def test_a_counter_has_a_moment_to_exceed_what_is_wanted() -> None:
    clock = SimulatedClock()
    assert final_count(clock, lambda: 9 if clock.monotonic_ns() > 0 else 8, 8) == 9


def test_an_answer_at_the_timeout_counts_and_one_after_it_does_not() -> None:
    with FakeService() as service:
        client = SimulatedClient(service.url, 2.0, service.clock)
        assert client.get("/?duration=2000").seconds == 2.0
        with pytest.raises(TimedOut, match=r"^no complete answer within 2 s$"):
            client.get("/?duration=2001")
        assert service.clock.monotonic_ns() == 4_000_000_000


def test_a_real_delay_changes_no_simulated_time() -> None:
    """The delay of a loaded machine, in the worst place: between the service's wait and its response."""
    with FakeService() as service:
        service.app.takes = lambda ms: time.sleep(1) or ms
        checks.waits.function(Target(SimulatedClient(service.url, 30, service.clock)), "delay")
        assert service.clock.monotonic_ns() == 200_000_000


@pytest.mark.parametrize("hours", [1, -1])
def test_a_date_is_not_wrong_because_the_clock_was_set(hours: int) -> None:
    with FakeService() as service:
        target = Target(SimulatedClient(service.url, 30, service.clock))
        target.ask_first("json")
        told = service.clock.now
        service.clock.now = lambda: told() + timedelta(hours=hours)  # type: ignore[method-assign]
        checks.date_advances.function(target, "json")
        service.app.lie = "Date stands still"
        with pytest.raises(Mismatch):
            checks.date_advances.function(target, "json")


def test_the_real_clock_waits_at_least_as_long_as_told() -> None:
    clock = Clock()
    begin = clock.monotonic_ns()
    clock.sleep(0.01)
    assert clock.monotonic_ns() - begin >= 10_000_000


def test_the_real_clock_ends_what_hangs() -> None:
    class Hanging(Clock):
        ended = threading.Event()

        def sleep(self, seconds: float) -> None:
            self.ended.wait(60)

    clock = Hanging()
    with FakeService(clock=clock) as service, pytest.raises(TimedOut):
        Client(service.url, 0.05).get("/?duration=1000")
    clock.ended.set()


def test_a_cancelled_timer_does_not_fire() -> None:
    fired: list[str] = []
    before = set(threading.enumerate())
    cancel = Clock().call_later(50, lambda: fired.append("cancelled"))
    (timer,) = set(threading.enumerate()) - before
    cancel()
    timer.join(40)
    assert not timer.is_alive() and fired == []
