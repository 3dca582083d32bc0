"""The suite passes a service that keeps the contract, and names what each lie breaks."""

import pytest
from fake import FakeService

from bench.contract import verify as verify_module
from bench.contract.client import Client
from bench.contract.registry import CHECKS, Target
from bench.contract.routes import ROUTES
from bench.contract.verify import Result, verify

ANSWER = "Status, content type and body"
HEADERS = "Content-Type, Date, Server and a length"
UNKNOWN = "404 for a path that is none"
METHOD = "405 for a wrong method, and the connection serves on"
DATE = "Date is the time, and moves on"
NO_DELAY = "No wait for what is no number of milliseconds"
WAITS = "Waits as long as asked"
AT_ONCE = "Two waits at once"
CLAMPED = "N is clamped to 1..500, and 1 where it is no number"
STORED = "Numbers as stored"
OTHERS = "Other rows each time"
COUNTED = "Each row by its own query"
UPDATES = "N queries, and as many rows changed"
WRITTEN = "Stored before the answer, and nothing else"
CREATED = "Adds n rows each time, in one transaction"
BURST = "Adds n rows for each of a burst"
FORTUNES = "Every stored row unharmed, escaped and in order"
OBJECTS = "Objects of every kind, and their number of keys"
LIMIT = "64 KiB pass, one byte more is refused"
REFUSES = "400 for what is no JSON object, and the connection serves on"
HOSTILE = "No 500 for hostile bodies"
PATIENT = "Waits for upstream, and for its default when asked for 0"
ONCE = "Each request reaches upstream once"
CLOSES = "502 when upstream closes the connection"
ERRS = "502 when upstream answers 500"
HANGS = "502 when upstream says nothing, after ms/1000 + 2 s"
BACK = "Serves again when upstream does"

# lie, routes asked for, the checks that must fail (all others must pass)
LIES: list[tuple[str, str, set[str]]] = [
    ("status 201", "json", {ANSWER, HEADERS, METHOD}),
    ("text/json", "root", {ANSWER, HEADERS, METHOD}),
    ("another greeting", "json", {ANSWER, HEADERS, METHOD}),
    ("a key more", "simple-json", {ANSWER, HEADERS, METHOD}),
    ("a key twice", "json", {ANSWER, HEADERS, METHOD}),
    ("single quotes", "json", {ANSWER, HEADERS, METHOD}),
    ("an empty body", "json", {ANSWER, HEADERS, METHOD}),
    ("bytes that are no UTF-8", "json", {ANSWER, HEADERS, METHOD}),
    ("nested a thousandfold", "json", {ANSWER, HEADERS, METHOD}),
    ("a newline more", "plaintext", {ANSWER, HEADERS, METHOD}),
    ("latin-1", "http-route-example", {ANSWER, HEADERS, METHOD}),
    ("a float", "root", {ANSWER, HEADERS, METHOD}),
    ("a string", "root", {ANSWER, HEADERS, METHOD}),
    ("no Server", "json", {HEADERS, UNKNOWN, METHOD}),
    ("an empty Server", "json", {HEADERS, UNKNOWN, METHOD}),
    ("no Date", "json", {HEADERS, UNKNOWN, METHOD, DATE}),
    ("no Content-Type", "json", {ANSWER, HEADERS, UNKNOWN, METHOD}),
    ("two Content-Types", "json", {ANSWER, HEADERS, UNKNOWN, METHOD}),
    ("length and chunked", "json", {HEADERS, UNKNOWN, METHOD}),
    ("Date stands still", "json", {DATE}),
    ("Date of yesterday", "json", {DATE}),
    ("Date in another format", "json", {DATE}),
    ("200 for any path", "json", {UNKNOWN}),
    ("500 for an unknown path", "json", {UNKNOWN}),
    ("an HTML error page without a length", "json", {UNKNOWN}),
    ("any method", "json", {METHOD}),
    ("404 for a wrong method", "echo", {METHOD}),
    ("closes after an error without a word", "json", {METHOD}),
    ("500 for duration=foo", "delay", {NO_DELAY}),
    ("does not wait", "delay", {WAITS, AT_ONCE}),
    ("wakes early", "delay", {WAITS, AT_ONCE}),
    ("wakes late", "delay", {WAITS, AT_ONCE}),
    ("one request at a time", "delay", {AT_ONCE}),
    ("500 for foo", "queries-raw", {CLAMPED}),
    ("nothing for 0", "updates-raw", {CLAMPED}),
    ("404 for an empty n", "queries-orm", {CLAMPED}),
    ("takes int() at its word", "create-data", {CLAMPED}),
    ("no upper bound", "create-data", {CLAMPED}),
    ("one row less", "queries-raw", {ANSWER, HEADERS, METHOD, CLAMPED, STORED, OTHERS, COUNTED}),
    ("one query for all", "queries-orm", {COUNTED}),
    ("cached rows", "db-raw", {COUNTED}),
    ("selects the whole table", "db-orm", {COUNTED}),
    ("numbers made up", "queries-raw", {STORED}),
    ("the same row", "db-raw", {OTHERS}),
    ("row 0", "queries-raw", {STORED}),
    ("numbers as strings", "db-raw", {ANSWER, HEADERS, METHOD, STORED, OTHERS, COUNTED}),
    ("randomnumber", "db-orm", {ANSWER, HEADERS, METHOD, STORED, OTHERS, COUNTED}),
    ("one query for all", "updates-raw", {UPDATES}),
    ("updates nothing", "updates-raw", {UPDATES, WRITTEN}),
    ("updates to the old number", "updates-orm", {WRITTEN}),
    ("stores another number", "updates-raw", {WRITTEN}),
    ("updates a row more", "updates-orm", {WRITTEN}),
    ("updates each row twice", "updates-raw", {UPDATES}),
    ("creates only once", "create-data", {CREATED}),
    ("creates one row less", "create-data", {CREATED, BURST}),
    ("a transaction for each row", "create-data", {CREATED}),
    ("loses rows under concurrency", "create-data", {BURST}),
    ("fortunes in stored order", "fortunes-raw", {ANSWER, HEADERS, METHOD, FORTUNES}),
    ("fortunes by id", "fortunes-orm", {ANSWER, HEADERS, METHOD, FORTUNES}),
    ("no additional fortune", "fortunes-raw", {ANSWER, HEADERS, METHOD, FORTUNES}),
    ("a fortune in place of another", "fortunes-raw", {FORTUNES}),
    ("fortunes not escaped", "fortunes-orm", {ANSWER, HEADERS, METHOD, FORTUNES}),
    ("fortunes escaped twice", "fortunes-raw", {FORTUNES}),
    ("replacement characters for Japanese", "fortunes-raw", {FORTUNES}),
    ("HTML without its charset", "fortunes-raw", {ANSWER, HEADERS, METHOD, FORTUNES}),
    ("echo without a limit", "echo", {LIMIT}),
    ("echo limit too low", "echo", {LIMIT}),
    ("500 for broken JSON", "echo", {REFUSES, HOSTILE}),
    ("500 for nesting", "echo", {HOSTILE}),
    ("NaN", "echo", {HOSTILE}),
    ("echo takes arrays", "echo", {REFUSES}),
    ("counts nested keys", "echo", {ANSWER, HEADERS, METHOD, OBJECTS, REFUSES}),
    ("counts one more", "echo", {ANSWER, HEADERS, METHOD, OBJECTS, LIMIT, REFUSES}),
    ("echo drops what is nested", "echo", {ANSWER, HEADERS, METHOD, OBJECTS, REFUSES}),
    ("echo as ASCII", "echo", {ANSWER, HEADERS, METHOD, OBJECTS, REFUSES}),
    ("asks upstream twice", "simple-request", {ONCE}),
    ("does not ask upstream", "simple-request", {ONCE}),
    ("does not wait for upstream", "simple-request", {PATIENT}),
    ("another delay", "simple-request", {ANSWER, HEADERS, METHOD, PATIENT, ONCE, BACK}),
    ("hangs with upstream", "simple-request", {HANGS}),
    ("closes when upstream does", "simple-request", {CLOSES}),
    ("500 for upstream's error", "simple-request", {ERRS}),
    ("502 without a body", "simple-request", {CLOSES, ERRS, HANGS}),
    ("broken for good", "simple-request", {BACK}),
]


def verified(service: FakeService, *routes: str, concurrent: bool = True, timeout: float = 10.0) -> Result:
    target = Target(Client(service.url, timeout), service.database, service.upstream, concurrent)
    return verify(target, list(routes or ROUTES), {}, lambda _: None)


def failures(result: Result) -> dict[str, str]:
    return {o.check: f"expected {o.expected}, got {o.got}" for o in result.outcomes if not o.ok}


def leave_out(monkeypatch: pytest.MonkeyPatch, slow: set[str]) -> None:
    """Two checks wait for seconds: asked each time they would be most of the time of these tests."""
    monkeypatch.setattr(verify_module, "CHECKS", [check for check in CHECKS if check.name not in slow])


def test_keeps_the_contract() -> None:
    with FakeService() as service:
        result = verified(service)
        assert failures(result) == {}
        asked = {(outcome.route, outcome.check) for outcome in result.outcomes}
        assert len(asked) == len(result.outcomes) == result.passed
        assert {route for route, _ in asked} == ROUTES.keys()
        assert {check for _, check in asked} == {check.name for check in CHECKS}
        assert service.upstream.modes == ["ok", "close", "ok", "error", "ok", "hang", "ok"]


@pytest.mark.parametrize(("lie", "route", "broken"), LIES, ids=[f"{route}: {lie}" for lie, route, _ in LIES])
def test_catches(lie: str, route: str, broken: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(monkeypatch, {DATE, HANGS} - broken)
    with FakeService(lie) as service:
        found = failures(verified(service, route))
    assert found.keys() == broken, found


def test_every_check_can_fail() -> None:
    assert {check.name for check in CHECKS} == set().union(*(broken for _, _, broken in LIES))


def test_sequential_servers_are_not_asked_for_concurrency(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(monkeypatch, {DATE})
    with FakeService("one request at a time") as service:
        result = verified(service, "delay", concurrent=False)
    assert failures(result) == {}
    assert AT_ONCE not in {outcome.check for outcome in result.outcomes}


def test_only_what_the_routes_need() -> None:
    with FakeService() as service:
        result = verified(service, "json", "plaintext")
        assert service.database.locks == []
    assert {outcome.route for outcome in result.outcomes} == {"json", "plaintext"}
    assert len(result.outcomes) == 9


def test_counting_and_writing_keep_other_verifiers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(monkeypatch, {DATE, HANGS})
    with FakeService() as service:
        verified(service, "queries-raw", "updates-raw", "simple-request")
        assert set(service.database.locks) == {False, True}
        assert service.database.locks.count(True) == 1
    with FakeService() as service:
        verified(service, "updates-orm")
        assert set(service.database.locks) == {False, True}
