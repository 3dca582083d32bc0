"""The routes of the HTTP contract, with the request and the expected response of each; others raise `Mismatch`."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal, NoReturn

from bench.contract.client import Answer, Request
from bench.core.exchange import WaitsFor
from bench.core.formats import first_of
from bench.matrix.load import contract_routes
from bench.matrix.model import Route


@cache
def _routes() -> dict[str, Route]:
    return contract_routes()


SAMPLE = {"delay": 20, "simple-request": 20} | dict.fromkeys(
    ("create-data", "queries-raw", "queries-orm", "updates-raw", "updates-orm"), 3
)
"""n of each route that has one, for checks that do not need a particular number."""

ECHO_SAMPLE = b'{"name":"echo","nested":{"list":[1,2.5,null,true]},"text":"\xe3\x82\xa8\xe3\x82\xb3\xe3\x83\xbc"}'


def path_of(route: str, n: int | str | None = None) -> str:
    """The path of a route with n filled in (None: the sample); n may be text, to check invalid numbers."""
    return _routes()[route].exchange.path.replace("{n}", str(SAMPLE.get(route, "") if n is None else n))


def request_of(route: str, n: int | None = None, body: bytes = ECHO_SAMPLE) -> Request:
    """The request for a route; only some have a body."""
    sent = _routes()[route].exchange
    return Request(path_of(route, n), sent.method, body if sent.body else None)


def needs(route: str) -> Literal["database", "upstream"] | None:
    """What a route depends on."""
    if _routes()[route].wait is WaitsFor.UPSTREAM:
        return "upstream"
    return "database" if _routes()[route].database else None


class Mismatch(Exception):
    """A response is not what the contract demands."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


class TooLate(Mismatch):
    """A response was right, but took too long in every try; a busy machine may be the reason."""


def expect(holds: bool, expected: str, got: object) -> None:
    """Raise `Mismatch` unless the condition holds."""
    if not holds:
        raise Mismatch(expected, str(got))


@contextmanager
def about(what: str) -> Iterator[None]:
    """Add the request, `what`, to the text of a mismatch."""
    try:
        yield
    except Mismatch as mismatch:
        raise type(mismatch)(f"{mismatch.expected} for {what}", mismatch.got) from None


def brief(value: object) -> str:
    """A value on one short line, for messages."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"


REQUIRED_HEADERS = ("Content-Type", "Date", "Server")
ADDITIONAL_FORTUNE = (0, "Additional fortune added at request time.")
STORED_FORTUNES = 12
WORLD = range(1, 10_001)
"""The ids of World, and the values of its randomNumber."""
MOST_ROWS = 500
MOST_DELAY_MS = 10_000


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected response to a request, with status 200; `check_body` raises `Mismatch` for a wrong body."""

    media_type: str
    check_body: Callable[[bytes], None]

    def check(self, answer: Answer) -> None:
        """Raise `Mismatch` unless status, content type and body are right."""
        expect(answer.status == 200, "status 200", status_of(answer))
        check_content_type(answer, self.media_type)
        self.check_body(answer.body)


def expected(route: str, n: int | None = None, body: bytes = ECHO_SAMPLE) -> Expected:
    """The expected response to `request_of` with the same arguments."""
    return _ANSWERS[route](SAMPLE.get(route, 0) if n is None else n, body)


def status_of(answer: Answer) -> str:
    """The status as text, for an error with the start of the body."""
    return f"status {answer.status}" + (f" ({brief(answer.body)})" if answer.status >= 400 and answer.body else "")


def check_content_type(answer: Answer, media_type: str) -> None:
    """Raise `Mismatch` for a wrong content type. HTML must declare UTF-8; other types may, but no other charset."""
    values = answer.values("Content-Type")
    wanted = f"content type {media_type}" + ("; charset=utf-8" if media_type == "text/html" else "")
    expect(len(values) == 1, wanted, ", ".join(values) or "no Content-Type")
    kind, *parameters = (part.strip().lower() for part in values[0].split(";"))
    charsets = [p.removeprefix("charset=").strip('"') for p in parameters if p.startswith("charset=")]
    right = charsets == ["utf-8"] or (not charsets and media_type != "text/html")
    expect(kind == media_type and right, wanted, values[0])


def check_headers(answer: Answer) -> None:
    """Raise `Mismatch` unless each required header is there once and the body's length is known; also for errors."""
    for name in REQUIRED_HEADERS:
        values = answer.values(name)
        expect(len(values) == 1 and values[0].strip() != "", f"one {name} header", f"{len(values)}: {values}")
    lengths, codings = answer.values("Content-Length"), answer.values("Transfer-Encoding")
    framed = (len(lengths) == 1 and not codings) or (not lengths and codings == ["chunked"])
    expect(framed, "either Content-Length or chunked", f"Content-Length {lengths}, Transfer-Encoding {codings}")


def strict_json(body: bytes) -> Any:
    """The value of a JSON text in UTF-8; `Mismatch` also for duplicate keys and NaN, which Python's parser accepts."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("a key twice in one object")
        return value

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=members, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Mismatch("a JSON body", f"{brief(body) or 'an empty body'} ({brief(str(error))})") from None


def world_rows(value: Any) -> list[tuple[int, int]]:
    """(id, randomNumber) of each object in a response, which is an object or an array of them."""
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        right = isinstance(row, dict) and row.keys() == {"id", "randomNumber"}
        right = right and all(type(number) is int and number in WORLD for number in row.values())
        expect(right, '{"id":1..10000,"randomNumber":1..10000}', brief(row))
    return [(row["id"], row["randomNumber"]) for row in rows]


def clamp(n: int) -> int:
    """The number of rows in the response to a request for n."""
    return min(max(n, 1), MOST_ROWS)


def _text(wanted: str) -> Expected:
    def check(body: bytes) -> None:
        expect(body == wanted.encode(), f"body {wanted!r}", brief(body.decode("utf-8", "backslashreplace")))

    return Expected("text/plain", check)


def _json(check: Callable[[Any], None]) -> Expected:
    return Expected("application/json", lambda body: check(strict_json(body)))


def _value(wanted: Any) -> Expected:
    return _json(lambda value: expect(_equal(value, wanted), brief(wanted), brief(value)))


def _equal(value: Any, wanted: Any) -> bool:
    """Equality that keeps 1, 1.0 and True apart."""
    if type(value) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(_equal(value[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_equal, value, wanted))
    return bool(value == wanted)


def _upstream_delay(ms: int) -> Expected:
    """Upstream's own response, which has its default delay if 0 was requested."""

    def check(value: Any) -> None:
        number = value.get("delay_ms") if isinstance(value, dict) and len(value) == 1 else None
        wanted = {"delay_ms": ms or "upstream's default"}
        expect(type(number) is int and (number == ms or (ms == 0 and number > 0)), str(wanted), brief(value))

    return _json(check)


def _worlds(count: int | None = None) -> Expected:
    """An array of so many rows; None: one row."""
    wanted = "one object" if count is None else f"an array of {count} objects"

    def check(value: Any) -> None:
        expect(isinstance(value, dict if count is None else list), wanted, brief(value))
        expect(count in (None, len(value)), wanted, f"{len(value)} of them")
        world_rows(value)

    return _json(check)


def _fortunes() -> Expected:
    def check(page: bytes) -> None:
        rows = read_fortunes(page)
        wanted = STORED_FORTUNES + 1
        expect(len(rows) == wanted, f"{wanted} rows", len(rows))
        added = ADDITIONAL_FORTUNE in rows
        expect(added, f"the row {ADDITIONAL_FORTUNE} added at request time", "a table without it")
        messages = [message for _, message in rows]
        expect(messages == sorted(messages), "rows sorted by message", f"the order {[number for number, _ in rows]}")

    return Expected("text/html", check)


def _item(number: int) -> dict[str, Any]:
    return {
        **{"id": number, "name": f"Benchmark item {number}", "price": number + 0.5},
        **{
            "tags": ["new", "outdoor", "waterproof"],
            "note": "Ships within two working days, unless it is out of stock.",
        },
        "stock": {"amount": 3 * number, "warehouse": "Rotterdam", "reserved": number % 2 == 0},
    }


_ANSWERS: dict[str, Callable[[int, bytes], Expected]] = {
    "root": lambda n, body: _value({"duration": 0}),
    "delay": lambda n, body: _value({"duration": min(n, MOST_DELAY_MS)}),
    "plaintext": lambda n, body: _text("Hello, World!"),
    **dict.fromkeys(("json", "simple-json"), lambda n, body: _value({"message": "Hello, World!"})),
    "json-20kb": lambda n, body: _value({"total": 92, "items": [*map(_item, range(92))]}),
    "http-route-example": lambda n, body: _text("HTTP route response"),
    "simple-request": lambda n, body: _upstream_delay(n),
    "create-data": lambda n, body: _value({"created": clamp(n)}),
    **dict.fromkeys(("db-raw", "db-orm"), lambda n, body: _worlds()),
    **dict.fromkeys(("queries-raw", "queries-orm", "updates-raw", "updates-orm"), lambda n, body: _worlds(clamp(n))),
    **dict.fromkeys(("fortunes-raw", "fortunes-orm"), lambda n, body: _fortunes()),
    "echo": lambda n, body: _value({**strict_json(body), "received": len(strict_json(body))}),
}
ROUTES = tuple(_ANSWERS)
"""The routes with one response to each request; services/matrix.toml says what is sent."""


def read_fortunes(page: bytes) -> list[tuple[int, str]]:
    """(id, message) of each row; `Mismatch` if the page has no such table."""
    table = _Table()
    try:
        table.feed(page.decode("utf-8"))
        table.close()
    except ValueError as error:
        raise Mismatch("HTML in UTF-8", str(error)) from None
    expect("script" not in table.tags, "the script tag escaped", "a script element in the page")
    expect({"html", "table"} <= table.tags, "an HTML page with a table", brief(page))
    for row in table.rows:
        expect(len(row) == 2 and bool(re.fullmatch(r"\s*[0-9]{1,9}\s*", row[0])), "rows of id and message", brief(row))
    return [(int(number), message) for number, message in table.rows]


class _Table(HTMLParser):
    """Collects the text of each `td`, by `tr`; rows with only `th` are headings and left out."""

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


FRAMEWORKS = Path("services/frameworks")
_STATEMENT = re.compile(r"\{%.*?%\}|^[ \t]*%.*$", re.MULTILINE)
"""A statement, in the syntax of Jinja2, Django and Tornado, or of Bottle."""


TEMPLATES = ("fortunes.*", "fortune.*")
"""Names of the fortunes template; the first one found counts."""


@dataclass(frozen=True, slots=True)
class Template:
    """The fortunes template of an app. If there is none, `name` is empty and `there` lists the app's files."""

    name: str
    text: str
    there: tuple[str, ...] = ()


def find_template(framework: str, folder: Path = FRAMEWORKS) -> Template:
    """The fortunes template in the framework's folder."""
    app = folder / framework
    found = [path for glob in TEMPLATES for path in sorted(app.rglob(glob)) if path.suffix not in (".py", ".pyc")]
    if found:
        return Template(str(found[0].relative_to(app)), found[0].read_text(encoding="utf-8"))
    there = (path for path in sorted(app.rglob("*")) if path.is_file() and path.suffix != ".pyc")
    return Template("", "", tuple(str(path.relative_to(app)) for path in there))


def check_rendered(page: bytes, template: Template) -> None:
    """Raise `Mismatch` unless the page starts and ends like the template does before and after its statements."""
    called = f"a template called {' or '.join(TEMPLATES)} in the app's folder"
    expect(bool(template.name), called, f"none among its files: {first_of(template.there, 8) or 'there are none'}")
    parts = [_spaced(part) for part in _STATEMENT.split(template.text)]
    name = template.name
    expect(len(parts) > 1, f"a loop in the template, {name}", "no statement such as {% for ... %} in it")
    before, after = parts[0], parts[-1]
    text = _spaced(page.decode("utf-8", "backslashreplace"))
    expect(text.startswith(before), f"a page that starts as its template, {name}: {brief(before)}", brief(text))
    expect(text.endswith(after), f"a page that ends as its template, {name}: {brief(after)}", brief(text[-100:]))


def _spaced(text: str) -> str:
    """The text with each run of white space as one space, because some engines do that."""
    return " ".join(text.split())
