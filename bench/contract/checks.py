"""What a check is, and what checks have in common. Those of a kind of exchange are in its `check` module."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bench.contract.answers import Template, TooLate, check_headers, expect, expected, request_of
from bench.contract.client import Answer, Client, Clock
from bench.contract.dependencies import Database, Upstream


@dataclass(slots=True)
class Target:
    """The service to check; `concurrent`: whether it claims to serve requests concurrently (None: no claim to check).

    `template`: the template of its fortunes (None: not checked).
    """

    client: Client
    database: Database | None = None
    upstream: Upstream | None = None
    concurrent: bool | None = None
    template: Template | None = None
    first: Answer | None = field(default=None, init=False)
    first_at_ns: int = field(default=0, init=False)
    first_date: datetime | None = field(default=None, init=False)

    def ask_first(self, route: str) -> None:
        """Make the first request and keep its response, right or wrong; raises `NoAnswer` if there is none."""
        self.first = self.client.ask(request_of(route))
        self.first_at_ns, self.first_date = self.clock.monotonic_ns(), self.clock.now()

    def clock_was_set(self) -> bool:
        """Whether the system clock was set since the first response."""
        if self.first_date is None:
            return False
        passed = (self.clock.monotonic_ns() - self.first_at_ns) / 1e9
        return abs((self.clock.now() - self.first_date).total_seconds() - passed) > 1

    @property
    def clock(self) -> Clock:
        """The client's clock."""
        return self.client.clock

    @property
    def tables(self) -> Database:
        """The database; set if one of the target's routes needs it."""
        assert self.database is not None
        return self.database

    @property
    def external(self) -> Upstream:
        """Upstream's control port; set if one of the target's routes needs it."""
        assert self.upstream is not None
        return self.upstream


BURST = 8
"""Concurrent requests in checks that count their effects."""
BURSTS = 3
"""The most bursts of a check that counts them."""
TRIES = 5
"""Tries to get a response in time."""

CheckFunction = Callable[[Target, str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about some routes: `function(target, route)` raises `Mismatch` or `NoAnswer` if it does not hold.

    - `alone`: no other verifier may use the tables meanwhile, because the check compares them or counts statements.
    - `concurrent`: only for services that claim to serve requests concurrently.
    - `last`: only for the first route, after all other checks.
    - `template`: only if the verifier knows the template that the service renders.
    """

    name: str
    function: CheckFunction
    routes: tuple[str, ...]
    alone: bool
    concurrent: bool
    last: bool
    template: bool

    def applies(self, route: str, target: Target, routes: Sequence[str]) -> bool:
        """Whether to check `route`, one of the target's `routes`."""
        if (self.concurrent and not target.concurrent) or (self.template and target.template is None):
            return False
        return route in self.routes and (not self.last or route == routes[0])


CHECKS: list[Check] = []
"""Every check, in the order of the output."""


def check(
    *routes: str, alone: bool = False, concurrent: bool = False, last: bool = False, template: bool = False
) -> Callable[[CheckFunction], Check]:
    """Add a function to `CHECKS` for these routes; the first line of its docstring is the check's name."""

    def make(function: CheckFunction) -> Check:
        assert function.__doc__ and routes
        name = function.__doc__.splitlines()[0].rstrip(".")
        CHECKS.append(Check(name, function, routes, alone, concurrent, last, template))
        return CHECKS[-1]

    return make


def good(target: Target, route: str, n: int | None = None) -> Answer:
    """The response to a valid request, which must be right."""
    answer = target.client.ask(request_of(route, n))
    expected(route, n).check(answer)
    return answer


def good_burst(target: Target, route: str, n: int) -> list[Answer]:
    """The responses to `BURST` concurrent requests, which must all be right."""
    answers = target.client.burst(request_of(route, n), BURST)
    for answer in answers:
        expected(route, n).check(answer)
    return answers


def refused(answer: Answer, *statuses: int, request: str) -> None:
    """Raise `Mismatch` unless the response has one of these error statuses and the required headers."""
    wanted = " or ".join(map(str, statuses))
    expect(answer.status in statuses, f"status {wanted} for {request}", f"status {answer.status}")
    check_headers(answer)


def answer_time(
    measure: Callable[[], float], at_least: float, at_most: float, wanted: str = "", tries: int = TRIES
) -> None:
    """No try may take less than `at_least` seconds, one must take at most `at_most`: load only makes tries slower."""
    for _ in range(tries):
        seconds = measure()
        expect(seconds >= at_least, f"at least {at_least:g} s", f"{seconds:.4f} s")
        if seconds <= at_most:
            return
    raise TooLate(wanted or f"at most {at_most:g} s", f"{seconds:.3f} s in the last of {tries} tries")


def final_count(clock: Clock, read: Callable[[], int], wanted: int) -> int:
    """A counter's value: waits up to a second for `wanted`, then a moment longer to see whether it goes beyond."""
    end = clock.monotonic_ns() + 1_000_000_000
    while read() < wanted and clock.monotonic_ns() < end:
        clock.sleep(0.02)
    clock.sleep(0.05)
    return read()
