"""The checks of the routes of the HTTP contract, by subject, in the order of the output."""

import json
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import NamedTuple

from bench.contract.answers import (
    ADDITIONAL_FORTUNE,
    ROUTES,
    SAMPLE,
    about,
    brief,
    check_content_type,
    check_headers,
    check_rendered,
    expect,
    expected,
    path_of,
    read_fortunes,
    request_of,
    status_of,
    strict_json,
    world_rows,
)
from bench.contract.checks import (
    BURST,
    BURSTS,
    Target,
    answer_time,
    check,
    final_count,
    good,
    good_burst,
    refused,
)
from bench.contract.client import Answer, Request
from bench.contract.dependencies import Mode, Statements, upstream_mode

# Every route: the response, its headers, and errors for a wrong path or method.


@check(*ROUTES)
def right_answer(target: Target, route: str) -> None:
    """Status, content type and body."""
    good(target, route)


@check(*ROUTES)
def headers(target: Target, route: str) -> None:
    """Content-Type, Date, Server and a body length."""
    check_headers(target.client.ask(request_of(route)))


@check(*ROUTES)
def unknown_path(target: Target, route: str) -> None:
    """404 for an unknown path."""
    path = path_of(route).partition("?")[0].rstrip("/") + "/no-such-path"
    refused(target.client.get(path), 404, request=path)


@check(*ROUTES)
def wrong_method(target: Target, route: str) -> None:
    """405 for a wrong method, and the connection stays usable."""
    right = request_of(route)
    wrong = Request(right.path) if right.method == "POST" else Request(right.path, "POST", b"{}")
    with target.client.session() as session:
        refused(session.ask(wrong), 405, request=f"{wrong.method} {wrong.path}")
        expected(route).check(session.ask(right))


@check(*ROUTES, last=True)
def date_advances(target: Target, route: str) -> None:
    """Date is the current time and advances."""
    assert target.first is not None
    for last in (False, True):
        before = _date(target.first)
        passed = (target.clock.monotonic_ns() - target.first_at_ns) / 1e9
        target.clock.sleep(max(0.0, 2 - passed))
        after = _date(target.client.ask(request_of(route)))
        if last or not target.clock_was_set():
            break
        # The clock was set: the first Date no longer counts.
        target.ask_first(route)
    expect(after > before, f"a Date after {before:%H:%M:%S} two seconds later", f"{after:%H:%M:%S}")
    now = target.clock.now()
    expect(abs((after - now).total_seconds()) <= 5, f"a Date within 5 s of {now:%F %T}", f"{after:%F %T}")


def _date(answer: Answer) -> datetime:
    """The Date header, which must be an IMF-fixdate (RFC 9110, 5.6.7)."""
    text = ", ".join(answer.values("Date"))
    try:
        date = parsedate_to_datetime(text)
        right = format_datetime(date.astimezone(UTC), usegmt=True) == text
    except (ValueError, OverflowError):
        right = False
    expect(right, "a Date like Sun, 06 Nov 1994 08:49:37 GMT", text or "none")
    return date


# /?duration=MS: waits are real, not longer than requested, and concurrent if the service claims that.


@check("delay")
def invalid_duration(target: Target, route: str) -> None:
    """No wait for an invalid duration."""
    for given in ("foo", "", "-5", "%C2%B2"):
        path = path_of(route, given)

        def seconds(path: str = path) -> float:
            answer = target.client.get(path)
            with about(path):
                expected("root").check(answer)
            return answer.seconds

        answer_time(seconds, 0, 2, f"no wait for {path}")


@check("delay")
def waits(target: Target, route: str) -> None:
    """Waits for the requested duration."""
    answer_time(lambda: good(target, route, 200).seconds, 0.200, 0.350)


@check("delay", concurrent=True)
def concurrent_waits(target: Target, route: str) -> None:
    """Two requests wait concurrently."""

    def slower() -> float:
        answers = target.client.burst(request_of(route, 500), 2)
        return max(answer.seconds for answer in answers)

    answer_time(slower, 0.500, 0.900)


# The routes with a database: the rows read, changed, added and rendered, and the SQL statements.

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
    wanted, _, _, counted = _burst(target, route)
    expect(counted.selects == wanted, f"{wanted} SELECTs on World", counted.selects)
    expect(counted.selected == wanted, f"{wanted} rows from them", counted.selected)
    expect(counted.changed == 0, "no change of World", f"{counted.changed} rows changed")


@check(*UPDATES, alone=True)
def updates_counted(target: Target, route: str) -> None:
    """N queries, and n rows changed."""
    wanted, before, answers, counted = _burst(target, route)
    rows = [dict(world_rows(json.loads(answer.body))) for answer in answers]
    # A new random number may equal the old one, in which case an ORM skips the write.
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
        # A row drawn twice in one request has two numbers in the response, and one of them is stored.
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
    assert target.template, "checked only where it is known"
    check_rendered(target.client.get(path_of(route)).body, target.template)


class Burst(NamedTuple):
    """A burst of requests: rows asked for, World before, responses, and the statements that the database counted."""

    wanted: int
    before: dict[int, int]
    answers: list[Answer]
    counted: Statements


def _burst(target: Target, route: str) -> Burst:
    """A burst of which nothing else was counted, or the last of `BURSTS`.

    The database counts for all services together, and a statement of another one may have outlived its client. It can
    only add, so a burst with more than can be asked for is sent again; a service that sends more does so each time.
    """
    for _ in range(BURSTS):
        burst = _one_burst(target, route)
        counted, changes = burst.counted, burst.wanted if route in UPDATES else 0
        if max(counted.selects, counted.selected) <= burst.wanted and counted.changed <= changes:
            break
    return burst


def _one_burst(target: Target, route: str) -> Burst:
    world, before = target.tables.world(), target.tables.statements()
    n = 5 if route in SAMPLE else 1
    answers = good_burst(target, route, n)
    wanted = n * BURST
    final_count(target.clock, lambda: (target.tables.statements() - before).selects, wanted)
    return Burst(wanted, world, answers, target.tables.statements() - before)


# POST /echo: what it accepts, what it refuses, and that nothing breaks it.

LIMIT = 64 * 1024
OBJECTS = (
    b"{}",
    b'{"a":1,"b":{"c":{"d":[[],{},[{"e":null}]]}}}',
    '{"ключ":"日本語 🎉","\\u00e9":"\\ud83c\\udf89"}'.encode(),
    b'{"true":true,"one":1,"float":1.0,"big":12345678901234567890,"text":"1"}',
    b' {"spaces" : [ 1 , 2 ] }\n',
)
NOT_OBJECTS = (b'{"a":', b"hello", b"[1,2]", b"1", b"null", b'"text"', b"", b'{"a":1} x', b'{"a":"\xff"}')
HOSTILE = (
    ("30,000 nested arrays", b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}"),
    ("10,000 unclosed objects", b'{"a":' * 10_000),
    ("a number of 5,000 digits", b'{"a":' + b"9" * 5000 + b"}"),
    ("half a surrogate pair", b'{"a":"\\ud800"}'),
    ("NaN", b'{"a":NaN}'),
    ("1e999", b'{"a":1e999}'),
    ("a byte order mark", b'\xef\xbb\xbf{"a":1}'),
)


@check("echo")
def objects(target: Target, route: str) -> None:
    """Objects of every kind, with their number of keys."""
    for body in OBJECTS:
        _echoes(target, route, body)


@check("echo")
def limit(target: Target, route: str) -> None:
    """64 KiB is accepted, one byte more is refused."""
    _echoes(target, route, _sized(LIMIT))
    answer = target.client.ask(request_of(route, body=_sized(LIMIT + 1)))
    refused(answer, 400, 413, request=f"a body of {LIMIT + 1} bytes")


@check("echo")
def refuses(target: Target, route: str) -> None:
    """400 for anything but a JSON object, and the connection stays usable."""
    with target.client.session() as session:
        for body in NOT_OBJECTS:
            refused(session.ask(request_of(route, body=body)), 400, request=f"the body {brief(body) or '(empty)'}")
            expected(route).check(session.ask(request_of(route)))


@check("echo")
def survives(target: Target, route: str) -> None:
    """No server error for hostile bodies."""
    for what, body in HOSTILE:
        answer = target.client.ask(request_of(route, body=body))
        expect(answer.status < 500, f"no server error for {what}", status_of(answer))
        if answer.status == 200:
            with about(what):
                value = strict_json(answer.body)
                expect(isinstance(value, dict) and "received" in value, "an object with received", brief(value))


def _echoes(target: Target, route: str, body: bytes) -> None:
    answer = target.client.ask(request_of(route, body=body))
    with about(f"the body {brief(body)}"):
        expected(route, body=body).check(answer)


def _sized(size: int) -> bytes:
    """A JSON object of `size` bytes."""
    frame = b'{"text":"%s"}'
    return frame % (b"x" * (size - len(frame % b"")))


# /simple_request/MS: the service waits for upstream, asks it once, and turns its failures into a 502.


@check("simple-request")
def waited_for(target: Target, route: str) -> None:
    """Waits for upstream, and for its default delay if n is 0."""
    answer_time(lambda: good(target, route, 150).seconds, 0.150, 0.350)
    answer = good(target, route, 0)
    default = strict_json(answer.body)["delay_ms"] / 1000
    expect(answer.seconds >= default, f"at least {default:g} s", f"{answer.seconds:.3f} s")


@check("simple-request")
def reached_once(target: Target, route: str) -> None:
    """Each request reaches upstream once."""
    before = target.external.count()
    good_burst(target, route, 30)
    reached = final_count(target.clock, target.external.count, before + BURST) - before
    expect(reached == BURST, f"{BURST} requests at upstream", reached)


@check("simple-request")
def closes(target: Target, route: str) -> None:
    """502 when upstream closes the connection."""
    _bad_gateway(target, "close", within=2)


@check("simple-request")
def errs(target: Target, route: str) -> None:
    """502 when upstream answers 500."""
    _bad_gateway(target, "error", within=2)


@check("simple-request")
def hangs(target: Target, route: str) -> None:
    """502 when upstream does not answer within ms/1000 + 2 s."""
    _bad_gateway(target, "hang", within=0.05 + 2 + 1.5)


@check("simple-request")
def recovers(target: Target, route: str) -> None:
    """Recovers when upstream does."""
    for _ in range(3):
        good(target, route)


def _bad_gateway(target: Target, mode: Mode, within: float) -> None:
    """A 502 whose body names the error must come in time; `within` is in seconds, with slack for a busy machine."""
    path = path_of("simple-request", 50)

    def seconds() -> float:
        answer = target.client.get(path)
        refused(answer, 502, request=f"{path} with upstream in mode {mode}")
        check_content_type(answer, "application/json")
        value = strict_json(answer.body)
        expect(isinstance(value, dict) and bool(value.get("error")), '{"error":...}', brief(value))
        return answer.seconds

    with upstream_mode(target.external, mode):
        answer_time(seconds, 0, within, f"502 within {within:g} s", tries=2)
