"""Checks of every route: the answer, its headers, and errors for a wrong path or method."""

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from bench.contract.answers import check_headers, expected
from bench.contract.checks.base import check, good, refused
from bench.contract.client import Answer, Request
from bench.contract.expect import expect
from bench.contract.routes import ROUTES, path_of, request_of
from bench.contract.target import Target


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
        # What the service said before is of another time.
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
