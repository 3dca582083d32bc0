"""What a check is, and the list of them: `@check("ROUTE", ...)` above a function makes a new one."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.contract.backing import Database, Resource, Upstream
from bench.contract.client import Answer, Client, NoAnswer, TimedOut
from bench.contract.routes import ROUTES, Mismatch, check_headers, expected, path_of, request_of

STRIKES = 3
"""Requests that may time out before the rest of the checks is not asked any more."""

SAMPLE = {"delay": 20, "simple-request": 20, "create-data": 3, "queries-raw": 3, "queries-orm": 3}
SAMPLE |= {"updates-raw": 3, "updates-orm": 3}
"""The number that stands in a route's path where a check does not care."""


@dataclass(slots=True)
class Target:
    """One service and what stands behind it; `concurrent` None: it claims nothing that could be checked."""

    client: Client
    database: Database | None = None
    upstream: Upstream | None = None
    concurrent: bool | None = None
    first: Answer | None = field(default=None, init=False)
    first_at: float = field(default=0.0, init=False)

    def look(self, route: str) -> None:
        """A first request, whatever it is answered: raises `NoAnswer` where no HTTP is spoken."""
        self.first = self.client.ask(request_of(route, path_of(route, SAMPLE.get(route, ""))))
        self.first_at = time.monotonic()

    @property
    def rows(self) -> Database:
        """The database; `needs` has made sure that routes with a database have one."""
        assert self.database is not None
        return self.database

    @property
    def external(self) -> Upstream:
        """Upstream's control, which `needs` has made sure of."""
        assert self.upstream is not None
        return self.upstream


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about a route: `function(target, route)` raises `Mismatch` or `NoAnswer` where it is false."""

    name: str
    routes: tuple[str, ...]
    function: Callable[[Target, str], None]
    alone: bool
    concurrent: bool
    last: bool

    def applies(self, route: str, target: Target, routes: list[str]) -> bool:
        """Whether it is asked of this route; a check that comes last is asked once, of the first route."""
        if self.concurrent and not target.concurrent:
            return False
        return route in self.routes and (not self.last or route == routes[0])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one check; `expected` and `got` are null where it passed."""

    route: str
    check: str
    ok: bool
    expected: str | None
    got: str | None
    seconds: float


CHECKS: list[Check] = []


def check(
    *routes: str, alone: bool = False, concurrent: bool = False, last: bool = False
) -> Callable[[Callable[[Target, str], None]], Callable[[Target, str], None]]:
    """Register a check of these routes; the first line of its docstring is its name in the output.

    `alone`: no other verifier may use the tables meanwhile, since it compares with them or with their counters.
    `concurrent`: only of servers that claim to serve several requests at once. `last`: once, after all.
    """

    def register(function: Callable[[Target, str], None]) -> Callable[[Target, str], None]:
        assert function.__doc__ and routes and set(routes) <= ROUTES.keys()
        name = function.__doc__.splitlines()[0].rstrip(".")
        CHECKS.append(Check(name, routes, function, alone, concurrent, last))
        return function

    return register


def needs(route: str) -> Resource | None:
    """What stands behind a route."""
    if route == "simple-request":
        return "upstream"
    return "database" if route == "create-data" or route.endswith(("-raw", "-orm")) else None


def good(target: Target, route: str, n: int | str = "") -> Answer:
    """The right answer to a well-formed request, or `Mismatch`."""
    request = request_of(route, path_of(route, n or SAMPLE.get(route, "")))
    answer = target.client.ask(request)
    expected(route, request).check(answer)
    return answer


def refused(answer: Answer, *statuses: int, to: str) -> None:
    """An error answer with one of these statuses, headers and all."""
    if answer.status not in statuses:
        wanted = " or ".join(map(str, statuses))
        raise Mismatch(f"status {wanted} for {to}", f"status {answer.status}")
    check_headers(answer)


def run_check(one: Check, target: Target, route: str) -> tuple[Outcome, bool]:
    """The outcome, and whether the service ran out of its time."""
    begin = time.monotonic()
    wanted = got = None
    late = False
    try:
        one.function(target, route)
    except Mismatch as mismatch:
        wanted, got = mismatch.expected, mismatch.got
    except NoAnswer as failure:
        wanted, got, late = "an answer", str(failure), isinstance(failure, TimedOut)
    return Outcome(route, one.name, wanted is None, wanted, got, round(time.monotonic() - begin, 3)), late
