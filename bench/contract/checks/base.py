"""What a check is, and what several of them share."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.contract.answers import check_headers, expected
from bench.contract.client import Answer
from bench.contract.clock import Clock
from bench.contract.expect import TooLate, expect
from bench.contract.routes import ROUTES, request_of
from bench.contract.target import Target

BURST = 8
"""Concurrent requests where a check counts what they cause."""
TRIES = 5
"""Tries for an answer that comes in time."""

CheckFunction = Callable[[Target, str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about some routes: `function(target, route)` raises `Mismatch` or `NoAnswer` where it is wrong.

    `alone`: no other verifier may use the tables during the check, which compares them or counts statements.
    `concurrent`: only for services that claim to serve requests concurrently.
    `last`: only for the first route, after all other checks.
    `template`: only where the verifier was told which template the service renders.
    """

    name: str
    function: CheckFunction
    routes: tuple[str, ...]
    alone: bool
    concurrent: bool
    last: bool
    template: bool

    def applies(self, route: str, target: Target, routes: list[str]) -> bool:
        """Whether this is checked for `route`, one of the target's `routes`."""
        if (self.concurrent and not target.concurrent) or (self.template and target.template is None):
            return False
        return route in self.routes and (not self.last or route == routes[0])


def check(
    *routes: str, alone: bool = False, concurrent: bool = False, last: bool = False, template: bool = False
) -> Callable[[CheckFunction], Check]:
    """Make a function a check of these routes, named by the first line of its docstring."""

    def make(function: CheckFunction) -> Check:
        assert function.__doc__ and routes and set(routes) <= ROUTES.keys()
        name = function.__doc__.splitlines()[0].rstrip(".")
        return Check(name, function, routes, alone, concurrent, last, template)

    return make


def good(target: Target, route: str, n: int | None = None) -> Answer:
    """The answer to a well-formed request, which must be right."""
    answer = target.client.ask(request_of(route, n))
    expected(route, n).check(answer)
    return answer


def good_burst(target: Target, route: str, n: int) -> list[Answer]:
    """The answers to `BURST` concurrent requests, which must all be right."""
    answers = target.client.burst(request_of(route, n), BURST)
    for answer in answers:
        expected(route, n).check(answer)
    return answers


def refused(answer: Answer, *statuses: int, request: str) -> None:
    """The answer must be an error with one of these statuses and the required headers."""
    wanted = " or ".join(map(str, statuses))
    expect(answer.status in statuses, f"status {wanted} for {request}", f"status {answer.status}")
    check_headers(answer)


def answer_time(
    measure: Callable[[], float], at_least: float, at_most: float, wanted: str = "", tries: int = TRIES
) -> None:
    """No try may be shorter than `at_least` seconds, one must take `at_most`: other load can only add to a time."""
    for _ in range(tries):
        seconds = measure()
        expect(seconds >= at_least, f"at least {at_least:g} s", f"{seconds:.4f} s")
        if seconds <= at_most:
            return
    raise TooLate(wanted or f"at most {at_most:g} s", f"{seconds:.3f} s in the last of {tries} tries")


def final_count(clock: Clock, read: Callable[[], int], wanted: int) -> int:
    """A counter's value after up to a second to reach `wanted`, and a moment more to exceed it."""
    end = clock.monotonic_ns() + 1_000_000_000
    while read() < wanted and clock.monotonic_ns() < end:
        clock.sleep(0.02)
    clock.sleep(0.05)
    return read()
