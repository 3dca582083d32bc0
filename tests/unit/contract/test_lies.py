"""The suite passes a service that keeps the contract, and each lie fails the check that is meant to catch it.

golden/ROUTE.txt has the output of all checks for each lie: after an intended change, run with GOLDEN=write and read
the diff.
"""

import re
from pathlib import Path

import pytest
from fake import FakeService
from fake_dependencies import FORTUNES_TEMPLATE
from golden import same_as
from simulated_clock import SimulatedClient

from bench.contract import checks
from bench.contract.answers import ROUTES, Mismatch, Template, check_rendered, find_template
from bench.contract.checks import CHECKS, Check, Target
from bench.contract.verify import Result, verify

LIES = {
    "root": {
        "text/json": checks.right_answer,
        "a float": checks.right_answer,
        "a string": checks.right_answer,
    },
    "delay": {
        "500 for duration=foo": checks.invalid_duration,
        "waits for foo": checks.invalid_duration,
        "does not wait": checks.waits,
        "wakes early": checks.waits,
        "wakes late": checks.waits,
        "one request at a time": checks.concurrent_waits,
    },
    "plaintext": {
        "a trailing newline": checks.right_answer,
    },
    "json": {
        "status 201": checks.right_answer,
        "another greeting": checks.right_answer,
        "a duplicate key": checks.right_answer,
        "single quotes": checks.right_answer,
        "an empty body": checks.right_answer,
        "invalid UTF-8": checks.right_answer,
        "100,000 nested arrays": checks.right_answer,
        "no Server": checks.headers,
        "an empty Server": checks.headers,
        "no Date": checks.headers,
        "no Content-Type": checks.headers,
        "two Content-Types": checks.headers,
        "length and chunked": checks.headers,
        "Date stands still": checks.date_advances,
        "Date of yesterday": checks.date_advances,
        "Date in another format": checks.date_advances,
        "200 for any path": checks.unknown_path,
        "500 for an unknown path": checks.unknown_path,
        "an HTML error page without a length": checks.unknown_path,
        "any method": checks.wrong_method,
        "closes unannounced after an error": checks.wrong_method,
    },
    "simple-json": {
        "an extra key": checks.right_answer,
    },
    "http-route-example": {
        "declares latin-1": checks.right_answer,
    },
    "simple-request": {
        "requests upstream twice": checks.reached_once,
        "does not request upstream": checks.reached_once,
        "does not wait for upstream": checks.waited_for,
        "does not wait for the default": checks.waited_for,
        "another delay": checks.right_answer,
        "hangs with upstream": checks.hangs,
        "closes when upstream does": checks.closes,
        "500 for upstream's error": checks.errs,
        "502 without a body": checks.closes,
        "does not recover": checks.recovers,
    },
    "create-data": {
        "500 for a superscript digit": checks.clamped,
        "no upper bound": checks.clamped,
        "inserts only once": checks.data_created,
        "inserts one row too few": checks.data_created,
        "a transaction for each row": checks.data_created,
        "loses rows under concurrency": checks.data_created_concurrently,
    },
    "db-raw": {
        "cached rows": checks.query_for_each_row,
        "writes what it reads": checks.query_for_each_row,
        "the same row": checks.random_rows,
        "numbers as strings": checks.right_answer,
    },
    "db-orm": {
        "selects the whole table": checks.query_for_each_row,
        "randomnumber": checks.right_answer,
    },
    "queries-raw": {
        "500 for foo": checks.clamped,
        "one row too few": checks.right_answer,
        "invented numbers": checks.stored_numbers,
        "row 0": checks.stored_numbers,
    },
    "queries-orm": {
        "404 for an empty n": checks.clamped,
        "one query for all": checks.query_for_each_row,
    },
    "updates-raw": {
        "nothing for 0": checks.clamped,
        "one query for all": checks.updates_counted,
        "updates nothing": checks.updates_counted,
        "stores another number": checks.updates_stored,
        "updates each row twice": checks.updates_counted,
    },
    "updates-orm": {
        "updates to the old numbers": checks.updates_stored,
        "changes another row too": checks.updates_stored,
    },
    "fortunes-raw": {
        "fortunes in stored order": checks.right_answer,
        "no additional fortune": checks.right_answer,
        "a fortune replaced": checks.all_fortunes,
        "fortunes escaped twice": checks.all_fortunes,
        "replacement characters for Japanese": checks.all_fortunes,
        "fortunes without an end": checks.from_template,
        "HTML without a charset": checks.right_answer,
    },
    "fortunes-orm": {
        "fortunes by id": checks.right_answer,
        "fortunes not escaped": checks.right_answer,
        "fortunes from a string": checks.from_template,
    },
    "echo": {
        "404 for a wrong method": checks.wrong_method,
        "echo without a limit": checks.limit,
        "echo limit too low": checks.limit,
        "500 for broken JSON": checks.refuses,
        "500 for nesting": checks.survives,
        "echo accepts NaN": checks.survives,
        "echo accepts arrays": checks.refuses,
        "counts nested keys": checks.objects,
        "counts one too many": checks.objects,
        "echo drops nested values": checks.objects,
        "echo as ASCII": checks.objects,
    },
}
"""The lies of a service, by route, and the check that is meant to catch each."""

RANDOM = (
    (r"randomNumber \d+ (of|stored in) row \d+, got \d+", r"randomNumber … \1 row …, got …"),
    (r"'id': [1-9]\d*", "'id': …"),
    (r"('random[Nn]umber': '?)\d+", r"\1…"),
    (r"expected \d+ to 40 rows", "expected … to 40 rows"),
)
"""Patterns of output that differs between runs, and their replacements."""


def verified(service: FakeService, *routes: str, concurrent: bool = True) -> Result:
    client = SimulatedClient(service.url, 30, service.clock)
    target = Target(
        client, service.database, service.upstream, concurrent, Template("fortunes.html", FORTUNES_TEMPLATE)
    )
    return verify(target, routes or tuple(ROUTES), lambda _: None)


def checked(result: Result) -> list[tuple[str, str]]:
    return [(outcome.route, outcome.check) for outcome in result.outcomes]


def test_keeps_the_contract() -> None:
    with FakeService() as service:
        result = verified(service)
    assert result.failures == ()
    assert len(set(checked(result))) == len(result.outcomes)
    assert {route for route, _ in checked(result)} == ROUTES.keys()
    assert {check for _, check in checked(result)} == {check.name for check in CHECKS}
    assert service.upstream.modes == ["ok", "close", "ok", "error", "ok", "hang", "ok"]


@pytest.mark.parametrize("route", LIES)
def test_each_lie_is_caught_by_the_check_that_is_meant_to(route: str) -> None:
    said = ""
    for lie, check in LIES[route].items():
        with FakeService(lie) as service:
            result = verified(service, route)
        assert check.name in {outcome.check for outcome in result.failures}, lie
        lines = "".join(f"  {outcome.line()}\n" for outcome in result.failures)
        for pattern, shown in RANDOM:
            lines = re.sub(pattern, shown, lines)
        said += f"{lie}\n{lines}"
    same_as(Path(__file__).parent / f"golden/{route}.txt", said)


def test_every_check_is_meant_to_catch_a_lie() -> None:
    assert {check.name for lies in LIES.values() for check in lies.values()} == {check.name for check in CHECKS}


def test_order_of_the_output() -> None:
    """Route by route; then checks that lock out other verifiers; at the end, once, the check of Date."""

    def those(route: str, *wanted: Check) -> list[tuple[str, str]]:
        return [(route, check.name) for check in wanted]

    every = (checks.right_answer, checks.headers, checks.unknown_path, checks.wrong_method)
    with FakeService() as service:
        result = verified(service, "db-raw", "json", "create-data")
    assert checked(result) == [
        *those("db-raw", *every, checks.random_rows),
        *those("json", *every),
        *those("create-data", *every, checks.clamped),
        *those("db-raw", checks.stored_numbers, checks.query_for_each_row),
        *those("create-data", checks.data_created, checks.data_created_concurrently),
        *those("db-raw", checks.date_advances),
    ]


def test_sequential_servers_are_not_asked_for_concurrency() -> None:
    with FakeService("one request at a time") as service:
        result = verified(service, "delay", concurrent=False)
    assert result.failures == ()
    assert ("delay", checks.concurrent_waits.name) not in checked(result)


def test_routes_without_a_database_take_no_lock() -> None:
    with FakeService() as service:
        result = verified(service, "json", "plaintext")
    assert service.database.locks == [] and result.failures == ()
    assert {outcome.route for outcome in result.outcomes} == {"json", "plaintext"}


def test_other_verifiers_are_kept_out_once_for_all_checks_that_count() -> None:
    """In every test, the fake database asserts that tables and counters are only read under the lock."""
    with FakeService() as service:
        verified(service, "queries-raw", "updates-raw", "simple-request")
        assert service.database.locks.count(True) == 1
        assert service.database.locks.index(True) == len(service.database.locks) - 2  # Date comes last
        with pytest.raises(AssertionError):
            service.database.statements()


def test_the_template_is_found_by_either_name_and_what_is_there_instead_is_named(tmp_path: Path) -> None:
    app = tmp_path / "mine"
    (app / "views").mkdir(parents=True)
    for name in ("app.py", "fortunes.py", "views/cookies.html"):
        (app / name).write_text("{% for one in all %}")
    with pytest.raises(Mismatch) as missing:
        check_rendered(b"", find_template("mine", tmp_path))
    assert str(missing.value) == (
        "expected a template called fortunes.* or fortune.* in the app's folder, "
        "got none among its files: app.py, fortunes.py, views/cookies.html"
    )
    (app / "views/fortune.html").write_text("<p>")
    with pytest.raises(Mismatch, match=r"a loop in the template, views/fortune.html, got no statement"):
        check_rendered(b"<p>", find_template("mine", tmp_path))
    (app / "views/fortune.html").write_text("<p>{% for one in all %}</p>")
    check_rendered(b"<p>1</p>", find_template("mine", tmp_path))
    (app / "fortunes.tpl").write_text("<ul>\n% for one in all:\n</ul>")
    assert find_template("mine", tmp_path).name == "fortunes.tpl"
