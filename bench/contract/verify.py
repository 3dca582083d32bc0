"""Runs the checks of one service."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from itertools import groupby

from bench.contract.answers import ROUTES, Mismatch, TooLate, needs
from bench.contract.checks import Check, Target
from bench.contract.client import NoAnswer, TimedOut


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a check on a route; `expected` and `got` are None if it passed.

    Not in the JSON: `late`, whether it failed only because a response took too long, which may be the machine's fault;
    `answered`, whether there was a response.
    """

    route: str
    check: str
    ok: bool
    expected: str | None
    got: str | None
    seconds: float
    late: bool = False
    answered: bool = True

    def line(self) -> str:
        """The outcome as it is printed."""
        if self.ok:
            return f"ok - {self.route} {self.check}"
        return f"not ok - {self.route} {self.check}: expected {self.expected}, got {self.got}"


SCHEMA = 1
MOST_TIMEOUTS = 3
"""After this many timeouts, the remaining checks fail without a request."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcomes for one service."""

    outcomes: tuple[Outcome, ...]

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The outcomes that failed."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)

    @property
    def late(self) -> bool:
        """Whether there are failures, all only because a response took too long."""
        return bool(self.failures) and all(outcome.late for outcome in self.failures)

    @property
    def wrong(self) -> bool:
        """Whether a response was wrong. Other failures (none came, or too late) may be the machine's fault."""
        return any(outcome.answered and not outcome.late for outcome in self.failures)

    def counts(self) -> dict[str, int]:
        """The numbers of checks passed and failed."""
        failed = len(self.failures)
        return {"passed": len(self.outcomes) - failed, "failed": failed}

    def as_json(self, service: str, interface: str | None = None) -> str:
        """The text of verify.json."""
        checks = [asdict(outcome) for outcome in self.outcomes]
        for one in checks:
            del one["late"], one["answered"]
        value: dict[str, object] = {"schema": SCHEMA, "service": service, "interface": interface, **self.counts()}
        # Of schema 1: a service is only asked for the routes that it offers.
        value |= {"skipped": 0, "missing": {}, "checks": checks}
        return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def failure_text(detail: str, *, outcome: str = "failed verification", final: bool = False) -> str:
    """The text of failure.json; a `final` failure is not verified again when a run is resumed."""
    value = {"outcome": outcome, "detail": detail} | ({"final": True} if final else {})
    return json.dumps(value, ensure_ascii=False) + "\n"


def verify(target: Target, routes: Sequence[str], checks: Sequence[Check], tell: Callable[[str], None]) -> Result:
    """Run those of the checks that are of these routes; UserError if the harness itself is at fault."""
    # Those with one response first: a check of the first one takes it for the service's first response.
    routes = sorted(routes, key=lambda route: route not in ROUTES)
    wanted = [(check, route) for route in routes for check in checks if check.applies(route, target, routes)]
    # Checks that lock out other verifiers run together, so that those wait only once.
    wanted.sort(key=lambda pair: (pair[0].last, pair[0].alone))
    if target.upstream and "simple-request" in routes:
        target.upstream.set_mode("ok")  # a killed verifier may have left another mode
    given_up = _first_request(target, routes)
    outcomes = []
    for outcome in _outcomes(target, wanted, given_up):
        outcomes.append(outcome)
        tell(outcome.line())
    return Result(tuple(outcomes))


def _outcomes(target: Target, wanted: list[tuple[Check, str]], given_up: NoAnswer | None) -> Iterator[Outcome]:
    """The outcome of each check; `given_up`: why no more requests are sent."""
    timeouts = 0
    for alone, together in groupby(wanted, key=lambda pair: pair[0].alone):
        with _lock(target, exclusive=True) if alone and not given_up else nullcontext():
            for check, route in together:
                if timeouts == MOST_TIMEOUTS:
                    given_up = TimedOut(f"no request, because {MOST_TIMEOUTS} before it timed out")
                if given_up:
                    late = isinstance(given_up, TimedOut)
                    yield Outcome(route, check.name, False, "an answer", str(given_up), 0.0, late, answered=False)
                    continue
                with _lock(target, exclusive=False) if needs(route) == "database" and not alone else nullcontext():
                    outcome, timed_out = _run_check(check, target, route)
                timeouts += timed_out
                yield outcome


def _run_check(check: Check, target: Target, route: str) -> tuple[Outcome, bool]:
    """The outcome, and whether a request timed out."""
    begin = target.clock.monotonic_ns()
    wanted = got = None
    timed_out = late = False
    answered = True
    try:
        check.function(target, route)
    except Mismatch as mismatch:
        wanted, got, late = mismatch.expected, mismatch.got, isinstance(mismatch, TooLate)
    except NoAnswer as failure:
        wanted, got, timed_out, answered = "an answer", str(failure), isinstance(failure, TimedOut), False
    seconds = round((target.clock.monotonic_ns() - begin) / 1e9, 3)
    return Outcome(route, check.name, wanted is None, wanted, got, seconds, late or timed_out, answered), timed_out


def _first_request(target: Target, routes: Sequence[str]) -> NoAnswer | None:
    """Send the first request; if it gets no response, returns the reason to send no others."""
    try:
        for route in (name for name in routes[:1] if name in ROUTES):
            with _lock(target, exclusive=False) if needs(route) == "database" else nullcontext():
                target.ask_first(route)
    except NoAnswer as failure:
        return failure
    return None


def _lock(target: Target, exclusive: bool) -> AbstractContextManager[None]:
    """Lock the tables against verifiers of other services, if there is a database."""
    return target.database.lock(exclusive) if target.database else nullcontext()
