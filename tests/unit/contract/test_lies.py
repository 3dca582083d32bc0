"""The suite passes a service that keeps the contract, and each lie fails the check that is meant to catch it."""

import re
from dataclasses import dataclass, field

import pytest
from fake import FakeService
from fake_dependencies import FORTUNES_TEMPLATE
from simulated_clock import SimulatedClient

from bench.contract.answers import ROUTES
from bench.contract.checks import CHECKS, Target
from bench.contract.verify import Outcome, Result, verify

ANSWER = "Status, content type and body"
HEADERS = "Content-Type, Date, Server and a body length"
UNKNOWN = "404 for an unknown path"
METHOD = "405 for a wrong method, and the connection stays usable"
DATE = "Date is the current time and advances"
NO_DELAY = "No wait for an invalid duration"
WAITS = "Waits for the requested duration"
AT_ONCE = "Two requests wait concurrently"
CLAMPED = "N is clamped to 1..500, and 1 if not a number"
STORED = "Numbers are those in the database"
RANDOM = "Random rows, different for each request"
COUNTED = "One query for each row"
UPDATES = "N queries, and n rows changed"
WRITTEN = "Rows are stored before the answer, and no other row changes"
CREATED = "Each request adds n rows in one transaction"
BURST = "Concurrent requests add n rows each"
FORTUNES = "All stored rows, escaped and sorted"
TEMPLATE = "Rendered from the template in the app's folder"
OBJECTS = "Objects of every kind, with their number of keys"
LIMIT = "64 KiB is accepted, one byte more is refused"
REFUSES = "400 for anything but a JSON object, and the connection stays usable"
HOSTILE = "No server error for hostile bodies"
PATIENT = "Waits for upstream, and for its default delay if n is 0"
ONCE = "Each request reaches upstream once"
CLOSES = "502 when upstream closes the connection"
ERRS = "502 when upstream answers 500"
HANGS = "502 when upstream does not answer within ms/1000 + 2 s"
RECOVERS = "Recovers when upstream does"

ORDER = [
    *(ANSWER, HEADERS, UNKNOWN, METHOD, DATE, NO_DELAY, WAITS, AT_ONCE, CLAMPED, STORED, RANDOM, COUNTED, UPDATES),
    *(WRITTEN, CREATED, BURST, FORTUNES, TEMPLATE, OBJECTS, LIMIT, REFUSES, HOSTILE, PATIENT, ONCE, CLOSES, ERRS),
    *(HANGS, RECOVERS),
]


@dataclass(frozen=True)
class Lie:
    """What the service does wrong, on which route, and what the check that is meant to catch it says.

    "…" in the message stands for any text. `also`: other checks that must fail too; all the rest must pass.
    """

    name: str
    route: str
    check: str
    says: str
    also: set[str] = field(default_factory=set)


NOT_JSON = "expected a JSON body, got …"
LIES = [
    Lie("status 201", "json", ANSWER, "expected status 200, got status 201", {METHOD}),
    Lie("text/json", "root", ANSWER, "expected content type application/json, got text/json", {METHOD}),
    Lie("another greeting", "json", ANSWER, "expected {…'Hello, World!'}, got {'message': 'Hello World'}", {METHOD}),
    Lie("an extra key", "simple-json", ANSWER, "expected {…'Hello, World!'}, got {…, 'time': 1}", {METHOD}),
    Lie("a duplicate key", "json", ANSWER, f"{NOT_JSON}('a key twice in one object')", {METHOD}),
    Lie("single quotes", "json", ANSWER, f"{NOT_JSON}{{'message':'Hello, World!'}} (…)", {METHOD}),
    Lie("an empty body", "json", ANSWER, f"{NOT_JSON}an empty body (…)", {METHOD}),
    Lie("invalid UTF-8", "json", ANSWER, rf"{NOT_JSON}\xff…can't decode byte 0xff…", {METHOD}),
    Lie("100,000 nested arrays", "json", ANSWER, f"{NOT_JSON}(100000 characters) (…recursion…)", {METHOD}),
    Lie("a trailing newline", "plaintext", ANSWER, r"expected body 'Hello, World!', got 'Hello, World!\n'", {METHOD}),
    Lie("declares latin-1", "http-route-example", ANSWER, "expected…text/plain, got…charset=iso-8859-1", {METHOD}),
    Lie("a float", "root", ANSWER, "expected {'duration': 0}, got {'duration': 0.0}", {METHOD}),
    Lie("a string", "root", ANSWER, "expected {'duration': 0}, got {'duration': '0'}", {METHOD}),
    Lie("no Server", "json", HEADERS, "expected one Server header, got 0: []", {UNKNOWN, METHOD}),
    Lie("an empty Server", "json", HEADERS, "expected one Server header, got 1: ['']", {UNKNOWN, METHOD}),
    Lie("no Date", "json", HEADERS, "expected one Date header, got 0: []", {UNKNOWN, METHOD, DATE}),
    Lie("no Content-Type", "json", HEADERS, "expected one Content-Type header, got 0: []", {ANSWER, UNKNOWN, METHOD}),
    Lie("two Content-Types", "json", HEADERS, "expected one Content-Type… got 2: […]", {ANSWER, UNKNOWN, METHOD}),
    Lie("length and chunked", "json", HEADERS, "…got Content-Length ['27'], …['chunked']", {UNKNOWN, METHOD}),
    Lie("Date stands still", "json", DATE, "expected a Date after 12:00:00 two seconds later, got 12:00:00"),
    Lie(
        "Date of yesterday", "json", DATE, "expected a Date within 5 s of 2026-01-05 12:00:02, got 2026-01-04 12:00:02"
    ),
    Lie("Date in another format", "json", DATE, "expected a Date like Sun, … GMT, got 2026-01-05T12:00:00Z"),
    Lie("200 for any path", "json", UNKNOWN, "expected status 404 for /json/no-such-path, got status 200"),
    Lie("500 for an unknown path", "json", UNKNOWN, "expected status 404 for /json/no-such-path, got status 500"),
    Lie(
        "an HTML error page without a length", "json", UNKNOWN, "…chunked, got Content-Length [], Transfer-Encoding []"
    ),
    Lie("any method", "json", METHOD, "expected status 405 for POST /json, got status 200"),
    Lie("404 for a wrong method", "echo", METHOD, "expected status 405 for GET /echo, got status 404"),
    Lie(
        "closes unannounced after an error",
        "json",
        METHOD,
        "expected an answer, got connection closed without an answer",
    ),
    Lie(
        "500 for duration=foo", "delay", NO_DELAY, "expected status 200 for /?duration=foo, got status 500 (ValueError)"
    ),
    Lie("waits for foo", "delay", NO_DELAY, "expected no wait for /?duration=foo, got 3.000 s in the last of 5 tries"),
    Lie("does not wait", "delay", WAITS, "expected at least 0.2 s, got 0.0000 s", {AT_ONCE}),
    Lie("wakes early", "delay", WAITS, "expected at least 0.2 s, got 0.1250 s", {AT_ONCE}),
    Lie("wakes late", "delay", WAITS, "expected at most 0.35 s, got 0.417 s in the last of 5 tries", {AT_ONCE}),
    Lie("one request at a time", "delay", AT_ONCE, "expected at most 0.9 s, got 1.000 s in the last of 5 tries"),
    Lie("500 for foo", "queries-raw", CLAMPED, "expected status 200 for /raw/queries/foo, got status 500 (ValueError)"),
    Lie("nothing for 0", "updates-raw", CLAMPED, "expected an array of 1 objects for /raw/updates/0, got 0 of them"),
    Lie(
        "404 for an empty n",
        "queries-orm",
        CLAMPED,
        "expected status 200 for /orm/queries/, got status 404 (not found)",
    ),
    Lie("500 for a superscript digit", "create-data", CLAMPED, "expected status 200 for …/%C2%B2, got status 500 …"),
    Lie("no upper bound", "create-data", CLAMPED, "expected {'created': 500} for …/501, got {'created': 501}"),
    Lie(
        *("one row too few", "queries-raw", ANSWER, "expected an array of 3 objects, got 2 of them"),
        {METHOD, CLAMPED, STORED, RANDOM, COUNTED},
    ),
    Lie("one query for all", "queries-orm", COUNTED, "expected 40 SELECTs on World, got 8"),
    Lie("cached rows", "db-raw", COUNTED, "expected 8 SELECTs on World, got 0"),
    Lie("selects the whole table", "db-orm", COUNTED, "expected 8 rows from them, got 80000"),
    Lie("writes what it reads", "db-raw", COUNTED, "expected no change of World, got 8 rows changed"),
    Lie("invented numbers", "queries-raw", STORED, "expected randomNumber … of row …, got …"),
    Lie("the same row", "db-raw", RANDOM, "expected different random rows, got only [7] in 6 answers"),
    Lie("row 0", "queries-raw", STORED, 'expected {"id":1..10000,"randomNumber":1..10000}, got {\'id\': 0, …}'),
    Lie(
        *("numbers as strings", "db-raw", ANSWER, "expected {…}, got {'id': …, 'randomNumber': '…'}"),
        {METHOD, STORED, RANDOM, COUNTED},
    ),
    Lie(
        *("randomnumber", "db-orm", ANSWER, "expected {…}, got {'id': …, 'randomnumber': …}"),
        {METHOD, STORED, RANDOM, COUNTED},
    ),
    Lie("one query for all", "updates-raw", UPDATES, "expected 40 SELECTs on World, got 8"),
    Lie("updates nothing", "updates-raw", UPDATES, "expected … to 40 rows changed, got 0", {WRITTEN}),
    Lie("updates to the old numbers", "updates-orm", WRITTEN, "expected new random numbers, got the old ones"),
    Lie("stores another number", "updates-raw", WRITTEN, "expected randomNumber … stored in row …, got …"),
    Lie("changes another row too", "updates-orm", WRITTEN, "expected no other row changed, got 20 of them"),
    Lie("updates each row twice", "updates-raw", UPDATES, "expected … to 40 rows changed, got 80"),
    Lie("inserts only once", "create-data", CREATED, "expected 7 more rows after 1 requests for 7, got 0"),
    Lie(
        "inserts one row too few", "create-data", CREATED, "expected 7 more rows after 1 requests for 7, got 6", {BURST}
    ),
    Lie("a transaction for each row", "create-data", CREATED, "expected one transaction for 7 rows, got 7"),
    Lie("loses rows under concurrency", "create-data", BURST, "expected 24 more rows after 8 requests for 3, got 16"),
    Lie(
        "fortunes in stored order",
        "fortunes-raw",
        ANSWER,
        "…sorted by message, got…[1, … 12, 0]",
        {METHOD, FORTUNES},
    ),
    Lie("fortunes by id", "fortunes-orm", ANSWER, "…sorted by message, got…[0, 1, … 12]", {METHOD, FORTUNES}),
    Lie("no additional fortune", "fortunes-raw", ANSWER, "expected 13 rows, got 12", {METHOD, FORTUNES}),
    Lie("a fortune replaced", "fortunes-raw", FORTUNES, "expected (0, 'Additional …'), got (1, 'A & B')"),
    Lie("fortunes not escaped", "fortunes-orm", ANSWER, "…got a script element in the page", {METHOD, FORTUNES}),
    Lie("fortunes escaped twice", "fortunes-raw", FORTUNES, "expected (11, '<script>…'), got (11, '&lt;script&gt;…')"),
    Lie("replacement characters for Japanese", "fortunes-raw", FORTUNES, "expected (12, …), got (12, …\ufffd…)"),
    Lie("fortunes from a string", "fortunes-orm", TEMPLATE, "…starts as its template, …, got '<!DOCTYPE html><html>…"),
    Lie("fortunes without an end", "fortunes-raw", TEMPLATE, "…ends as its template, '</table> </body>…got…"),
    Lie("HTML without a charset", "fortunes-raw", ANSWER, "…; charset=utf-8, got text/html", {METHOD, FORTUNES}),
    Lie("echo without a limit", "echo", LIMIT, "expected status 400 or 413 for a body of 65537 bytes, got status 200"),
    Lie("echo limit too low", "echo", LIMIT, "expected status 200 for …(65536 characters), got status 413 (…)"),
    Lie("500 for broken JSON", "echo", REFUSES, 'expected status 400 for the body {"a":, got status 500', {HOSTILE}),
    Lie("500 for nesting", "echo", HOSTILE, "expected no server error for 30,000 nested arrays, got status 500 (…)"),
    Lie("echo accepts NaN", "echo", HOSTILE, "expected a JSON body for NaN, got … ('NaN is not JSON')"),
    Lie("echo accepts arrays", "echo", REFUSES, "expected status 400 for the body [1,2], got status 200"),
    Lie(
        *("counts nested keys", "echo", OBJECTS, "expected {… 'received': 2} for the body …, got {… 'received': 5}"),
        {ANSWER, METHOD, REFUSES},
    ),
    Lie(
        *("counts one too many", "echo", OBJECTS, "expected {'received': 0} for the body {}, got {'received': 1}"),
        {ANSWER, METHOD, LIMIT, REFUSES},
    ),
    Lie(
        *("echo drops nested values", "echo", OBJECTS, "expected {'a': 1, 'b': {'c'… got {'a': 1, 'b': None, …"),
        {ANSWER, METHOD, REFUSES},
    ),
    Lie("echo as ASCII", "echo", OBJECTS, "expected {…🎉… got {'????': '??? ?', …", {ANSWER, METHOD, REFUSES}),
    Lie("requests upstream twice", "simple-request", ONCE, "expected 8 requests at upstream, got 16"),
    Lie("does not request upstream", "simple-request", ONCE, "expected 8 requests at upstream, got 0"),
    Lie("does not wait for upstream", "simple-request", PATIENT, "expected at least 0.15 s, got 0.0000 s"),
    Lie("does not wait for the default", "simple-request", PATIENT, "expected at least 0.1 s, got 0.000 s"),
    Lie(
        *("another delay", "simple-request", ANSWER, "expected {'delay_ms': 20}, got {'delay_ms': 21}"),
        {METHOD, PATIENT, ONCE, RECOVERS},
    ),
    Lie(
        "hangs with upstream", "simple-request", HANGS, "expected 502 within 3.55 s, got 4.050 s in the last of 2 tries"
    ),
    Lie(
        "closes when upstream does",
        "simple-request",
        CLOSES,
        "expected an answer, got connection closed without an answer",
    ),
    Lie("500 for upstream's error", "simple-request", ERRS, "expected status 502 for … in mode error, got status 500"),
    Lie("502 without a body", "simple-request", CLOSES, f"{NOT_JSON}an empty body (…)", {ERRS, HANGS}),
    Lie("does not recover", "simple-request", RECOVERS, "expected status 200, got status 502 (…)"),
]


def verified(service: FakeService, *routes: str, concurrent: bool = True) -> Result:
    client = SimulatedClient(service.url, 30, service.clock)
    target = Target(client, service.database, service.upstream, concurrent, FORTUNES_TEMPLATE)
    return verify(target, list(routes or ROUTES), {}, lambda _: None)


def failures(result: Result) -> dict[str, Outcome]:
    return {outcome.check: outcome for outcome in result.failures}


def test_keeps_the_contract() -> None:
    with FakeService() as service:
        result = verified(service)
    assert failures(result) == {}
    checked = [(outcome.route, outcome.check) for outcome in result.outcomes]
    assert len(set(checked)) == len(checked)
    assert {route for route, _ in checked} == ROUTES.keys()
    assert {check for _, check in checked} == set(ORDER)
    assert service.upstream.modes == ["ok", "close", "ok", "error", "ok", "hang", "ok"]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: f"{lie.route}: {lie.name}")
def test_is_caught_by_the_check_that_is_meant_to(lie: Lie) -> None:
    with FakeService(lie.name) as service:
        found = failures(verified(service, lie.route))
    assert found.keys() == {lie.check} | lie.also, found
    says = ".*".join(map(re.escape, lie.says.split("…")))
    line = found[lie.check].line()
    assert re.fullmatch(f"not ok - {lie.route} {re.escape(lie.check)}: {says}", line, re.DOTALL), line


def test_every_check_is_meant_to_catch_a_lie() -> None:
    assert {lie.check for lie in LIES} == {check.name for check in CHECKS}


def test_order_of_the_checks() -> None:
    assert [check.name for check in CHECKS] == ORDER


def test_order_of_the_output() -> None:
    """Route by route; then what keeps other verifiers out; the check of Date once, at the end."""
    with FakeService() as service:
        result = verified(service, "db-raw", "json", "create-data")
    assert [(outcome.route, outcome.check) for outcome in result.outcomes] == [
        *(("db-raw", check) for check in (ANSWER, HEADERS, UNKNOWN, METHOD, RANDOM)),
        *(("json", check) for check in (ANSWER, HEADERS, UNKNOWN, METHOD)),
        *(("create-data", check) for check in (ANSWER, HEADERS, UNKNOWN, METHOD, CLAMPED)),
        *(("db-raw", check) for check in (STORED, COUNTED)),
        *(("create-data", check) for check in (CREATED, BURST)),
        ("db-raw", DATE),
    ]


def test_sequential_servers_are_not_asked_for_concurrency() -> None:
    with FakeService("one request at a time") as service:
        result = verified(service, "delay", concurrent=False)
    assert failures(result) == {}
    assert AT_ONCE not in {outcome.check for outcome in result.outcomes}


def test_routes_without_a_database_take_no_lock() -> None:
    with FakeService() as service:
        result = verified(service, "json", "plaintext")
    assert service.database.locks == []
    assert failures(result) == {}
    assert {outcome.route for outcome in result.outcomes} == {"json", "plaintext"}


def test_other_verifiers_are_kept_out_once_for_all_checks_that_count() -> None:
    """That tables and counters are read only meanwhile is asserted by the fake database, in every test."""
    with FakeService() as service:
        verified(service, "queries-raw", "updates-raw", "simple-request")
        assert service.database.locks.count(True) == 1
        assert service.database.locks.index(True) == len(service.database.locks) - 2  # Date comes last
        with pytest.raises(AssertionError):
            service.database.statements()
