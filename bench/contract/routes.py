"""The routes of the HTTP contract and the answer that each one owes.

Nothing here asks anything: an answer goes in, `Mismatch` comes out when it is not the right one.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

from bench.contract.client import Answer, Request

ROUTES = {
    "root": "/",
    "delay": "/?duration={n}",
    "plaintext": "/plaintext",
    "json": "/json",
    "simple-json": "/simple_json",
    "http-route-example": "/http-route-example",
    "simple-request": "/simple_request/{n}",
    "create-data": "/create_data/{n}",
    "db-raw": "/raw/db",
    "db-orm": "/orm/db",
    "queries-raw": "/raw/queries/{n}",
    "queries-orm": "/orm/queries/{n}",
    "updates-raw": "/raw/updates/{n}",
    "updates-orm": "/orm/updates/{n}",
    "fortunes-raw": "/raw/fortunes",
    "fortunes-orm": "/orm/fortunes",
    "echo": "/echo",
}
"""Path by route id; `{n}` stands for the number asked for."""

REQUIRED_HEADERS = ("Content-Type", "Date", "Server")
ADDITIONAL_FORTUNE = (0, "Additional fortune added at request time.")
STORED_FORTUNES = 12
WORLD = range(1, 10_001)
"""The ids of World, and the numbers that its rows may hold."""
ECHO_SAMPLE = b'{"name":"echo","nested":{"list":[1,2.5,null,true]},"text":"\xe3\x82\xa8\xe3\x82\xb3\xe3\x83\xbc"}'

_ID = re.compile(r"\s*[0-9]{1,9}\s*")


class Mismatch(Exception):
    """An answer is not what the contract says."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


def expect(holds: bool, expected: str, got: object) -> None:
    """Raise `Mismatch` unless the claim holds."""
    if not holds:
        raise Mismatch(expected, str(got))


@dataclass(frozen=True, slots=True)
class Expected:
    """The answer that one request must get; `judge` raises `Mismatch` for a wrong body."""

    status: int
    media_type: str
    judge: Callable[[bytes], None]

    def check(self, answer: Answer) -> None:
        """Raise `Mismatch` unless status, content type and body are right."""
        expect(answer.status == self.status, f"status {self.status}", status_of(answer))
        check_content_type(answer, self.media_type)
        self.judge(answer.body)


def path_of(route: str, n: int | str = "") -> str:
    """The path of a route with its number filled in; routes that take none are as they are."""
    return ROUTES[route].replace("{n}", str(n))


def request_of(route: str, path: str, body: bytes | None = None) -> Request:
    """The request of a route on this path; echo without a body of its own sends a sample."""
    if route == "echo":
        return Request(path, "POST", ECHO_SAMPLE if body is None else body)
    return Request(path)


def expected(route: str, request: Request) -> Expected:
    """What a well-formed request of this route must get; ValueError when its path is not the route's."""
    return _ANSWERS[route](_number(route, request.path), request.body or b"")


def clamp(n: int) -> int:
    """The number of rows that a request for n rows is about."""
    return min(max(n, 1), 500)


def echoed(body: bytes) -> dict[str, Any]:
    """The object that `/echo` owes for this body, itself an object."""
    sent = strict_json(body)
    return {**sent, "received": len(sent)}


def status_of(answer: Answer) -> str:
    """The status for people, with the begin of the body when it is an error."""
    return f"status {answer.status}" + (f" ({brief(answer.body)})" if answer.status >= 400 and answer.body else "")


def brief(value: object) -> str:
    """A value on one line of bounded length."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"


def check_content_type(answer: Answer, media_type: str) -> None:
    """HTML must say that it is UTF-8; the other types may, and must not say anything else."""
    values = answer.values("Content-Type")
    wanted = f"content type {media_type}" + ("; charset=utf-8" if media_type == "text/html" else "")
    expect(len(values) == 1, wanted, ", ".join(values) or "no Content-Type")
    kind, *parameters = (part.strip().lower() for part in values[0].split(";"))
    charsets = [p.removeprefix("charset=").strip('"') for p in parameters if p.startswith("charset=")]
    right = charsets == ["utf-8"] or (not charsets and media_type != "text/html")
    expect(kind == media_type and right, wanted, values[0])


def check_headers(answer: Answer) -> None:
    """What every answer carries, an error too: each header once, and a body whose end can be known."""
    for name in REQUIRED_HEADERS:
        values = answer.values(name)
        expect(len(values) == 1 and values[0].strip() != "", f"one {name} header", f"{len(values)}: {values}")
    lengths, codings = answer.values("Content-Length"), answer.values("Transfer-Encoding")
    framed = (len(lengths) == 1 and not codings) or (not lengths and codings == ["chunked"])
    expect(framed, "either Content-Length or chunked", f"Content-Length {lengths}, Transfer-Encoding {codings}")


def strict_json(body: bytes) -> Any:
    """The value of a JSON text in UTF-8; `Mismatch` for anything else, some of which Python forgives."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("a key twice in one object")
        return value

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=members, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Mismatch("a JSON body", f"{brief(body) or 'an empty body'} ({brief(str(error))})") from None


def world_rows(value: Any) -> list[tuple[int, int]]:
    """(id, randomNumber) of each object of an answer, one or an array; `Mismatch` where it is none."""
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        right = isinstance(row, dict) and row.keys() == {"id", "randomNumber"}
        right = right and all(type(number) is int and number in WORLD for number in row.values())
        expect(right, '{"id":1..10000,"randomNumber":1..10000}', brief(row))
    return [(row["id"], row["randomNumber"]) for row in rows]


def fortunes(page: bytes) -> list[tuple[int, str]]:
    """(id, message) of each row as a browser would show it; `Mismatch` for what is no such table."""
    table = _Table()
    try:
        table.feed(page.decode("utf-8"))
        table.close()
    except ValueError as error:
        raise Mismatch("HTML in UTF-8", str(error)) from None
    expect("script" not in table.tags, "the script tag escaped", "a script element in the page")
    expect({"html", "table"} <= table.tags, "an HTML page with a table", brief(page))
    for row in table.rows:
        expect(len(row) == 2 and bool(_ID.fullmatch(row[0])), "rows of id and message", brief(row))
    return [(int(number), message) for number, message in table.rows]


class _Table(HTMLParser):
    """Collects the text of each `td`, by `tr`; rows of `th` alone are the head."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self._row: list[str] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self._row = []
        elif tag == "td":
            if not self._row:
                self.rows.append(self._row)
            self._row.append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "tr"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self._row[-1] += data


def _number(route: str, path: str) -> int:
    """The number in a path of this route (0 where it takes none); ValueError for another route's path."""
    parts = urlsplit(path)
    if route == "delay":
        given = parse_qs(parts.query).get("duration", [])
        if parts.path == "/" and len(given) == 1 and given[0].isdecimal():
            return int(given[0])
    else:
        pattern = re.escape(ROUTES[route]).replace(r"\{n\}", "([0-9]{1,9})")
        if found := re.fullmatch(pattern, parts.path):
            return int(found[1]) if found.groups() else 0
    raise ValueError(f"{path!r} is no path of route {route} ({ROUTES[route]})")


def _text(wanted: str) -> Callable[[bytes], None]:
    return lambda body: expect(body == wanted.encode(), f"body {wanted!r}", brief(body) or "an empty body")


def _json(judge: Callable[[Any], None]) -> Expected:
    return Expected(200, "application/json", lambda body: judge(strict_json(body)))


def _same(value: Any, wanted: Any) -> None:
    expect(_exactly(value, wanted), brief(wanted), brief(value))


def _exactly(value: Any, wanted: Any) -> bool:
    """Equality that keeps 1, 1.0 and True apart."""
    if type(value) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(_exactly(value[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_exactly, value, wanted))
    return bool(value == wanted)


def _delayed(value: Any, ms: int) -> None:
    """Upstream's own answer: for 0 it names the default that it took."""
    number = value.get("delay_ms") if isinstance(value, dict) and len(value) == 1 else None
    wanted = {"delay_ms": ms or "upstream's default"}
    expect(type(number) is int and (number == ms or (ms == 0 and number > 0)), str(wanted), brief(value))


def _world_row(value: Any) -> None:
    expect(isinstance(value, dict), "one object", brief(value))
    world_rows(value)


def _world_rows(value: Any, count: int) -> None:
    expect(isinstance(value, list), f"an array of {count} objects", brief(value))
    expect(len(value) == count, f"an array of {count} objects", f"{len(value)} of them")
    world_rows(value)


def _fortunes(page: bytes) -> None:
    rows = fortunes(page)
    wanted = STORED_FORTUNES + 1
    expect(len(rows) == wanted, f"{wanted} rows", f"{len(rows)}")
    expect(
        ADDITIONAL_FORTUNE in rows,
        f"the row {ADDITIONAL_FORTUNE} added at request time",
        "a table without it",
    )
    messages = [message for _, message in rows]
    expect(messages == sorted(messages), "rows sorted by message", f"the order {[number for number, _ in rows]}")


def _rows_answer(n: int, _: bytes) -> Expected:
    return _json(lambda value: _world_rows(value, clamp(n)))


_ANSWERS: dict[str, Callable[[int, bytes], Expected]] = {
    "root": lambda n, body: _json(lambda value: _same(value, {"duration": 0})),
    "delay": lambda n, body: _json(lambda value: _same(value, {"duration": min(n, 10_000)})),
    "plaintext": lambda n, body: Expected(200, "text/plain", _text("Hello, World!")),
    "json": lambda n, body: _json(lambda value: _same(value, {"message": "Hello, World!"})),
    "simple-json": lambda n, body: _json(lambda value: _same(value, {"message": "Hello, World!"})),
    "http-route-example": lambda n, body: Expected(200, "text/plain", _text("HTTP route response")),
    "simple-request": lambda n, body: _json(lambda value: _delayed(value, n)),
    "create-data": lambda n, body: _json(lambda value: _same(value, {"created": clamp(n)})),
    "db-raw": lambda n, body: _json(_world_row),
    "db-orm": lambda n, body: _json(_world_row),
    "queries-raw": _rows_answer,
    "queries-orm": _rows_answer,
    "updates-raw": _rows_answer,
    "updates-orm": _rows_answer,
    "fortunes-raw": lambda n, body: Expected(200, "text/html", _fortunes),
    "fortunes-orm": lambda n, body: Expected(200, "text/html", _fortunes),
    "echo": lambda n, body: _json(lambda value: _same(value, echoed(body))),
}
