"""The suite passes a service that keeps the contract, and each lie fails the check that is meant to catch it.

golden/ROUTE.txt has the output of all checks for each lie: after an intended change, run with GOLDEN=write and read
the diff.
"""

import re
import tomllib
from pathlib import Path

import pytest
from captured import refused
from fake import FakeService
from fake_dependencies import FORTUNES_TEMPLATE
from golden import same_as
from simulated_clock import SimulatedClient

from bench.contract.answers import ROUTES, Mismatch, Template, check_rendered, find_template
from bench.contract.checks import CHECKS, Check, Target
from bench.contract.verify import Result, verify
from bench.exchange.http import check as checks

LIES = {
    route: {getattr(checks, check): lies for check, lies in caught.items()}
    for route, caught in tomllib.loads(Path(__file__).with_name("lies.toml").read_text()).items()
}
"""The lies of a service, by route and by the check that is meant to catch them."""

OF_RESPONSES = [check for check in CHECKS if {*check.routes} <= {*ROUTES}]
"""Those of routes with one response to each request."""
RANDOM = (
    (r"randomNumber \d+ (of|stored in) row \d+, got \d+", r"randomNumber … \1 row …, got …"),
    (r"'id': [1-9]\d*", "'id': …"),
    (r"('random[Nn]umber': '?)\d+", r"\1…"),
    (r"expected \d+ to 40 rows", "expected … to 40 rows"),
)
"""Patterns of output that differs between runs, and their replacements."""


def verified(service: FakeService, *routes: str, concurrent: bool = True) -> Result:
    client, template = SimulatedClient(service.url, 30, service.clock), Template("fortunes.html", FORTUNES_TEMPLATE)
    target = Target(client, service.database, service.upstream, concurrent, template)
    return verify(target, routes or ROUTES, CHECKS, lambda _: None)


def checked(result: Result) -> list[tuple[str, str]]:
    return [(outcome.route, outcome.check) for outcome in result.outcomes]


def test_keeps_the_contract() -> None:
    with FakeService() as service:
        result = verified(service)
    assert result.failures == () and len(set(checked(result))) == len(result.outcomes)
    assert {route for route, _ in checked(result)} == {*ROUTES}
    assert {check for _, check in checked(result)} == {check.name for check in OF_RESPONSES}
    assert service.upstream.modes == ["ok", "close", "ok", "error", "ok", "hang", "ok"]


@pytest.mark.parametrize("route", LIES)
def test_each_lie_is_caught_by_the_check_that_is_meant_to(route: str) -> None:
    said = ""
    for check, lie in ((check, lie) for check, lies in LIES[route].items() for lie in lies):
        with FakeService(lie) as service:
            result = verified(service, route)
        assert check.name in {outcome.check for outcome in result.failures}, lie
        lines = "".join(f"  {outcome.line()}\n" for outcome in result.failures)
        for pattern, shown in RANDOM:
            lines = re.sub(pattern, shown, lines)
        said += f"{lie}\n{lines}"
    same_as(Path(__file__).parent / f"golden/{route}.txt", said)


def test_every_check_is_meant_to_catch_a_lie() -> None:
    assert {check.name for checks_of in LIES.values() for check in checks_of} == {check.name for check in OF_RESPONSES}


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
    assert result.failures == () and ("delay", checks.concurrent_waits.name) not in checked(result)


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


@pytest.mark.parametrize("bursts", [1, 2, 3])
def test_statements_of_another_service_are_not_counted(monkeypatch: pytest.MonkeyPatch, bursts: int) -> None:
    """It falls into so many bursts of a route. After the third, nobody else is presumed."""
    late = [*range(bursts)]

    def disturbed(target: checks.Target, route: str, n: int) -> list[checks.Answer]:
        if route == "db-raw" and late:
            service.database.update(late.pop() + 1, 7)
        return burst(target, route, n)

    burst = checks.good_burst
    monkeypatch.setattr(checks, "good_burst", disturbed)
    with FakeService() as service:
        failures = verified(service, "db-raw").failures
    assert [one.check for one in failures] == ([checks.query_for_each_row.name] if bursts == 3 else [])


def test_the_template_is_found_by_either_name_and_what_is_there_instead_is_named(tmp_path: Path) -> None:
    app = tmp_path / "mine"
    (app / "views").mkdir(parents=True)
    for name in ("app.py", "fortunes.py", "views/cookies.html"):
        (app / name).write_text("{% for one in all %}")
    assert str(refused(Mismatch, check_rendered, b"", find_template("mine", tmp_path))) == (
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
