"""The checks of the HTTP contract, one function each.

A check's docstring is its name in the output. Lower bounds of times are strict; upper bounds give a noisy
machine three tries.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from bench.contract.backing import Mode, Statements, upstream_mode
from bench.contract.client import Answer, Request
from bench.contract.registry import SAMPLE, Target, check, good, refused
from bench.contract.routes import (
    ADDITIONAL_FORTUNE,
    ROUTES,
    Mismatch,
    brief,
    check_content_type,
    check_headers,
    expect,
    expected,
    fortunes,
    path_of,
    request_of,
    status_of,
    strict_json,
    world_rows,
)

BURST = 8
TRIES = 5
ECHO_LIMIT = 64 * 1024
NO_OBJECTS = (b'{"a":', b"hello", b"[1,2]", b"1", b"null", b'"text"', b"", b'{"a":1} x', b'{"a":"\xff"}')
WORLD_QUERIES = ("db-raw", "db-orm", "queries-raw", "queries-orm")
COUNTED = ("queries-raw", "queries-orm", "updates-raw", "updates-orm", "create-data")
UPDATES = ("updates-raw", "updates-orm")
FORTUNES = ("fortunes-raw", "fortunes-orm")


@check(*ROUTES)
def right_answer(target: Target, route: str) -> None:
    """Status, content type and body."""
    good(target, route)


@check(*ROUTES)
def headers(target: Target, route: str) -> None:
    """Content-Type, Date, Server and a length."""
    check_headers(good(target, route))


@check(*ROUTES)
def unknown_path(target: Target, route: str) -> None:
    """404 for a path that is none."""
    path = path_of(route, SAMPLE.get(route, "")).partition("?")[0].rstrip("/") + "/no-such-path"
    refused(target.client.get(path), 404, to=path)


@check(*ROUTES)
def wrong_method(target: Target, route: str) -> None:
    """405 for a wrong method, and the connection serves on."""
    right = request_of(route, path_of(route, SAMPLE.get(route, "")))
    wrong = Request(right.path) if right.method == "POST" else Request(right.path, "POST", b"{}")
    with target.client.session() as session:
        refused(session.ask(wrong), 405, to=f"{wrong.method} {wrong.path}")
        expected(route, right).check(session.ask(right))


@check(*ROUTES, last=True)
def date_moves_on(target: Target, route: str) -> None:
    """Date is the time, and moves on."""
    assert target.first is not None
    before = _date(target.first)
    time.sleep(max(0.0, target.first_at + 2 - time.monotonic()))
    after = _date(good(target, route))
    expect(after > before, f"a Date after {before:%H:%M:%S} two seconds later", f"{after:%H:%M:%S}")
    now = datetime.now(UTC)
    expect(abs((after - now).total_seconds()) <= 5, f"a Date near {now:%F %T}", f"{after:%F %T}")


@check("delay")
def no_delay(target: Target, route: str) -> None:
    """No wait for what is no number of milliseconds."""
    for given in ("foo", "", "-5", "%C2%B2"):
        path = path_of(route, given)

        def asked(path: str = path) -> float:
            answer = target.client.get(path)
            with _about(path):
                expected("root", Request("/")).check(answer)
            return answer.seconds

        _takes(asked, 0, 2, f"no wait for {path}")


@check("delay")
def really_waits(target: Target, route: str) -> None:
    """Waits as long as asked."""
    _takes(lambda: good(target, route, 200).seconds, 0.200, 0.350)


@check("delay", concurrent=True)
def waits_at_once(target: Target, route: str) -> None:
    """Two waits at once."""

    def pair() -> float:
        answers = target.client.burst(Request(path_of(route, 500)), 2)
        return max(answer.seconds for answer in answers)

    _takes(pair, 0.500, 0.900)


@check(*COUNTED)
def clamped(target: Target, route: str) -> None:
    """N is clamped to 1..500, and 1 where it is no number."""
    for given, n in (("0", 1), ("501", 500), ("foo", 1), ("", 1), ("-1", 1), ("%C2%B2", 1)):
        path = path_of(route, given)
        answer = target.client.get(path)
        with _about(path):
            expected(route, Request(path_of(route, n))).check(answer)


@check(*WORLD_QUERIES, alone=True)
def rows_as_stored(target: Target, route: str) -> None:
    """Numbers as stored."""
    stored = target.rows.world()
    for row, number in world_rows(json.loads(good(target, route, 20).body)):
        expect(stored.get(row) == number, f"randomNumber {stored.get(row)} of row {row}", number)


@check(*WORLD_QUERIES, *UPDATES)
def other_rows(target: Target, route: str) -> None:
    """Other rows each time."""
    answers = [good(target, route).body for _ in range(6)]
    seen = {row for body in answers for row, _ in world_rows(json.loads(body))}
    expect(len(seen) >= 4, "different random rows", f"only {sorted(seen)} in 6 answers")


@check(*WORLD_QUERIES, alone=True)
def one_query_each(target: Target, route: str) -> None:
    """Each row by its own query."""
    wanted, _, counted = _burst(target, route, 5 if "{n}" in ROUTES[route] else 1)
    expect(counted.selects == wanted, f"{wanted} SELECTs on World", counted.selects)
    expect(counted.selected == wanted, f"{wanted} rows from them", counted.selected)
    expect(counted.changed == 0, "no change of World", f"{counted.changed} rows changed")


@check(*UPDATES, alone=True)
def updates_counted(target: Target, route: str) -> None:
    """N queries, and as many rows changed."""
    before = target.rows.world()
    wanted, answers, counted = _burst(target, route, 5)
    rows = [dict(world_rows(json.loads(answer.body))) for answer in answers]
    # A number drawn anew may be the old one, and an ORM spares that write.
    moved = sum(before.get(row) != number for answer in rows for row, number in answer.items())
    expect(counted.selects == wanted, f"{wanted} SELECTs on World", counted.selects)
    expect(moved <= counted.changed <= wanted, f"{moved} to {wanted} rows changed", counted.changed)


@check(*UPDATES, alone=True)
def updates_stored(target: Target, route: str) -> None:
    """Stored before the answer, and nothing else."""
    before = target.rows.world()
    answered = world_rows(json.loads(good(target, route, 20).body))
    after = target.rows.world()
    for row, number in answered:
        # A row drawn twice in one request has two numbers, of which one is stored.
        given = [value for key, value in answered if key == row]
        expect(after.get(row) in given, f"randomNumber {number} stored in row {row}", after.get(row))
    others = {row for row in before if before[row] != after.get(row)} - dict(answered).keys()
    expect(not others, "no other row changed", f"{len(others)} of them")
    expect(any(before.get(row) != number for row, number in answered), "new random numbers", "the old ones")


@check("create-data", alone=True)
def data_created(target: Target, route: str) -> None:
    """Adds n rows each time, in one transaction."""
    before = target.rows.data_rows()
    for times in (1, 2):
        good(target, route, 7)
        added = target.rows.data_rows() - before
        expect(added == 7 * times, f"{7 * times} rows more after {times} requests of 7", added)
    transactions = target.rows.newest_data(7)
    expect(transactions == 1, "one transaction for 7 rows", transactions)


@check("create-data", alone=True)
def data_created_at_once(target: Target, route: str) -> None:
    """Adds n rows for each of a burst."""
    before = target.rows.data_rows()
    _all_good(route, target.client.burst(Request(path_of(route, 3)), BURST), 3)
    added = target.rows.data_rows() - before
    expect(added == 3 * BURST, f"{3 * BURST} rows more after {BURST} requests of 3", added)


@check(*FORTUNES)
def all_fortunes(target: Target, route: str) -> None:
    """Every stored row unharmed, escaped and in order."""
    rows = fortunes(good(target, route).body)
    wanted = sorted([*target.rows.fortunes(), ADDITIONAL_FORTUNE], key=lambda row: row[1])
    expect(len(rows) == len(wanted), f"{len(wanted)} rows", len(rows))
    for row, stored in zip(rows, wanted, strict=True):
        expect(row == stored, brief(stored), brief(row))


@check("echo")
def echo_objects(target: Target, route: str) -> None:
    """Objects of every kind, and their number of keys."""
    for body in (
        b"{}",
        b'{"a":1,"b":{"c":{"d":[[],{},[{"e":null}]]}}}',
        '{"ключ":"日本語 🎉","\\u00e9":"\\ud83c\\udf89"}'.encode(),
        b'{"true":true,"one":1,"float":1.0,"big":12345678901234567890,"text":"1"}',
        b' {"spaces" : [ 1 , 2 ] }\n',
    ):
        _echoes(target, route, body)


@check("echo")
def echo_limit(target: Target, route: str) -> None:
    """64 KiB pass, one byte more is refused."""
    _echoes(target, route, _sized(ECHO_LIMIT))
    answer = target.client.ask(request_of(route, "/echo", _sized(ECHO_LIMIT + 1)))
    refused(answer, 400, 413, to=f"a body of {ECHO_LIMIT + 1} bytes")


@check("echo")
def echo_refuses(target: Target, route: str) -> None:
    """400 for what is no JSON object, and the connection serves on."""
    right = request_of(route, "/echo")
    with target.client.session() as session:
        for body in (
            b'{"a":',
            b"hello",
            b"[1,2]",
            b"1",
            b"null",
            b'"text"',
            b"",
            b'{"a":1} x',
            b'{"a":"\xff"}',
        ):
            refused(session.ask(request_of(route, "/echo", body)), 400, to=f"the body {brief(body) or '(empty)'}")
            expected(route, right).check(session.ask(right))


@check("echo")
def echo_survives(target: Target, route: str) -> None:
    """No 500 for hostile bodies."""
    for what, body in (
        ("30,000 nested arrays", b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}"),
        ("30,000 unclosed objects", b'{"a":' * 10_000),
        ("a number of 5,000 digits", b'{"a":' + b"9" * 5000 + b"}"),
        ("half a surrogate pair", b'{"a":"\\ud800"}'),
        ("NaN", b'{"a":NaN}'),
        ("1e999", b'{"a":1e999}'),
        ("a byte order mark", b'\xef\xbb\xbf{"a":1}'),
    ):
        answer = target.client.ask(request_of(route, "/echo", body))
        expect(answer.status < 500, f"no server error for {what}", status_of(answer))
        if answer.status == 200:
            with _about(what):
                value = strict_json(answer.body)
                expect(isinstance(value, dict) and "received" in value, "an object with received", brief(value))


@check("simple-request")
def upstream_waited_for(target: Target, route: str) -> None:
    """Waits for upstream, and for its default when asked for 0."""
    _takes(lambda: good(target, route, 150).seconds, 0.150, 0.350)
    answer = good(target, route, "0")
    default = strict_json(answer.body)["delay_ms"] / 1000
    expect(answer.seconds >= default, f"at least {default:g} s", f"{answer.seconds:.3f} s")


@check("simple-request")
def upstream_reached_once(target: Target, route: str) -> None:
    """Each request reaches upstream once."""
    before = target.external.count()
    _all_good(route, target.client.burst(Request(path_of(route, 30)), BURST), 30)
    reached = _settled(target.external.count, before + BURST) - before
    expect(reached == BURST, f"{BURST} requests at upstream", reached)


@check("simple-request")
def upstream_closes(target: Target, route: str) -> None:
    """502 when upstream closes the connection."""
    _bad_gateway(target, "close", within=2)


@check("simple-request")
def upstream_errs(target: Target, route: str) -> None:
    """502 when upstream answers 500."""
    _bad_gateway(target, "error", within=2)


@check("simple-request")
def upstream_hangs(target: Target, route: str) -> None:
    """502 when upstream says nothing, after ms/1000 + 2 s."""
    _bad_gateway(target, "hang", within=2.05 + 1.5)


@check("simple-request")
def upstream_back(target: Target, route: str) -> None:
    """Serves again when upstream does."""
    for _ in range(3):
        good(target, route)


def _bad_gateway(target: Target, mode: Mode, within: float) -> None:
    """A 502 with a body that names the error, within some seconds (a hang: 50 ms, 2 s and slack)."""
    path = path_of("simple-request", 50)

    def asked() -> float:
        answer = target.client.get(path)
        refused(answer, 502, to=f"{path} with upstream in mode {mode}")
        check_content_type(answer, "application/json")
        value = strict_json(answer.body)
        expect(isinstance(value, dict) and bool(value.get("error")), '{"error":...}', brief(value))
        return answer.seconds

    with upstream_mode(target.external, mode):
        _takes(asked, 0, within, f"502 within {within:g} s", 2)


def _takes(measure: Callable[[], float], at_least: float, at_most: float, what: str = "", tries: int = TRIES) -> None:
    """Every try is long enough, and one of them not too long: a busy machine adds to some, and takes from none."""
    for _ in range(tries):
        seconds = measure()
        expect(seconds >= at_least, f"at least {at_least:g} s", f"{seconds:.4f} s")
        if seconds <= at_most:
            return
    raise Mismatch(what or f"at most {at_most:g} s", f"{seconds:.3f} s in the last of {tries} tries")


def _burst(target: Target, route: str, n: int) -> tuple[int, list[Answer], Statements]:
    """(rows asked for, answers, statements) of a burst of good requests for n rows each."""
    before = target.rows.statements()
    answers = _all_good(route, target.client.burst(Request(path_of(route, n)), BURST), n)
    wanted = n * BURST
    _settled(lambda: (target.rows.statements() - before).selects, wanted)
    return wanted, answers, target.rows.statements() - before


def _all_good(route: str, answers: list[Answer], n: int) -> list[Answer]:
    wanted = expected(route, Request(path_of(route, n)))
    for answer in answers:
        wanted.check(answer)
    return answers


def _settled(read: Callable[[], int], wanted: int) -> int:
    """A counter's value once it has had time to reach what is wanted, and a moment more to go beyond it."""
    end = time.monotonic() + 1
    while read() < wanted and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.05)
    return read()


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Say what was asked in the text of a mismatch."""
    try:
        yield
    except Mismatch as mismatch:
        raise Mismatch(f"{mismatch.expected} for {what}", mismatch.got) from None


def _echoes(target: Target, route: str, body: bytes) -> None:
    request = request_of(route, "/echo", body)
    answer = target.client.ask(request)
    with _about(f"the body {brief(body)}"):
        expected(route, request).check(answer)


def _sized(size: int) -> bytes:
    """A JSON object of that many bytes."""
    frame = b'{"text":"%s"}'
    return frame % (b"x" * (size - len(frame % b"")))


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
