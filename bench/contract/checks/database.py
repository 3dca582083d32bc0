"""Checks of the routes with a database: rows read, changed, added and rendered, and the statements for them."""

import json

from bench.contract.answers import ADDITIONAL_FORTUNE, expected, world_rows
from bench.contract.checks.base import BURST, check, final_count, good, good_burst
from bench.contract.client import Answer
from bench.contract.dependencies import Statements
from bench.contract.expect import about, brief, expect
from bench.contract.fortunes import read_fortunes
from bench.contract.routes import SAMPLE, path_of
from bench.contract.target import Target
from bench.contract.template import check_rendered

READS = ("db-raw", "db-orm", "queries-raw", "queries-orm")
UPDATES = ("updates-raw", "updates-orm")
WITH_COUNT = ("queries-raw", "queries-orm", "updates-raw", "updates-orm", "create-data")
FORTUNES = ("fortunes-raw", "fortunes-orm")


@check(*WITH_COUNT)
def clamped(target: Target, route: str) -> None:
    """N is clamped to 1..500, and 1 if not a number."""
    for given, n in (("0", 1), ("501", 500), ("foo", 1), ("", 1), ("-1", 1), ("%C2%B2", 1)):
        path = path_of(route, given)
        answer = target.client.get(path)
        with about(path):
            expected(route, n).check(answer)


@check(*READS, alone=True)
def stored_numbers(target: Target, route: str) -> None:
    """Numbers are those in the database."""
    stored = target.tables.world()
    for row, number in world_rows(json.loads(good(target, route, 20).body)):
        expect(stored.get(row) == number, f"randomNumber {stored.get(row)} of row {row}", number)


@check(*READS, *UPDATES)
def random_rows(target: Target, route: str) -> None:
    """Random rows, different for each request."""
    answers = [good(target, route).body for _ in range(6)]
    seen = {row for body in answers for row, _ in world_rows(json.loads(body))}
    expect(len(seen) >= 4, "different random rows", f"only {sorted(seen)} in 6 answers")


@check(*READS, alone=True)
def query_for_each_row(target: Target, route: str) -> None:
    """One query for each row."""
    wanted, _, counted = _burst(target, route)
    expect(counted.selects == wanted, f"{wanted} SELECTs on World", counted.selects)
    expect(counted.selected == wanted, f"{wanted} rows from them", counted.selected)
    expect(counted.changed == 0, "no change of World", f"{counted.changed} rows changed")


@check(*UPDATES, alone=True)
def updates_counted(target: Target, route: str) -> None:
    """N queries, and n rows changed."""
    before = target.tables.world()
    wanted, answers, counted = _burst(target, route)
    rows = [dict(world_rows(json.loads(answer.body))) for answer in answers]
    # A new random number may equal the old one, and an ORM then skips the write.
    moved = sum(before.get(row) != number for answer in rows for row, number in answer.items())
    expect(counted.selects == wanted, f"{wanted} SELECTs on World", counted.selects)
    expect(moved <= counted.changed <= wanted, f"{moved} to {wanted} rows changed", counted.changed)


@check(*UPDATES, alone=True)
def updates_stored(target: Target, route: str) -> None:
    """Rows are stored before the answer, and no other row changes."""
    before = target.tables.world()
    answered = world_rows(json.loads(good(target, route, 20).body))
    after = target.tables.world()
    for row, number in answered:
        # A row that is drawn twice in one request has two numbers, one of which is stored.
        given = [value for key, value in answered if key == row]
        expect(after.get(row) in given, f"randomNumber {number} stored in row {row}", after.get(row))
    others = {row for row in before if before[row] != after.get(row)} - dict(answered).keys()
    expect(not others, "no other row changed", f"{len(others)} of them")
    expect(any(before.get(row) != number for row, number in answered), "new random numbers", "the old ones")


@check("create-data", alone=True)
def data_created(target: Target, route: str) -> None:
    """Each request adds n rows in one transaction."""
    before = target.tables.data_rows()
    for times in (1, 2):
        good(target, route, 7)
        added = target.tables.data_rows() - before
        expect(added == 7 * times, f"{7 * times} more rows after {times} requests for 7", added)
    transactions = target.tables.newest_data(7)
    expect(transactions == 1, "one transaction for 7 rows", transactions)


@check("create-data", alone=True)
def data_created_concurrently(target: Target, route: str) -> None:
    """Concurrent requests add n rows each."""
    before = target.tables.data_rows()
    good_burst(target, route, 3)
    added = target.tables.data_rows() - before
    expect(added == 3 * BURST, f"{3 * BURST} more rows after {BURST} requests for 3", added)


@check(*FORTUNES)
def all_fortunes(target: Target, route: str) -> None:
    """All stored rows, escaped and sorted."""
    rows = read_fortunes(good(target, route).body)
    wanted = sorted([*target.tables.fortunes(), ADDITIONAL_FORTUNE], key=lambda row: row[1])
    expect(len(rows) == len(wanted), f"{len(wanted)} rows", len(rows))
    for row, stored in zip(rows, wanted, strict=True):
        expect(row == stored, brief(stored), brief(row))


@check(*FORTUNES, template=True)
def from_template(target: Target, route: str) -> None:
    """Rendered from the template in the app's folder."""
    check_rendered(target.client.get(path_of(route)).body, target.template or "")


def _burst(target: Target, route: str) -> tuple[int, list[Answer], Statements]:
    """(rows requested, answers, statements) of a burst of right answers."""
    before = target.tables.statements()
    n = 5 if route in SAMPLE else 1
    answers = good_burst(target, route, n)
    wanted = n * BURST
    final_count(target.clock, lambda: (target.tables.statements() - before).selects, wanted)
    return wanted, answers, target.tables.statements() - before
