"""A service that keeps the whole contract, or breaks it in one named way; its database and upstream are in memory."""

import html
import json
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from bench.contract.backing import Mode, Statements

FORTUNES = [(n, f"fortune {n}") for n in range(1, 9)] + [
    (9, "Ünïcode — dash"),
    (10, "A & B"),
    (11, '<script>alert("x");</script>'),
    (12, "フレームワークのベンチマーク"),
]
ADDITIONAL = (0, "Additional fortune added at request time.")


class FakeDatabase:
    """World, Fortune, data and their counters; what the service does to them, and the verifier's view."""

    def __init__(self) -> None:
        self.rows = {n: random.randint(1, 10_000) for n in range(1, 10_001)}
        self.data: list[int] = []  # the transaction of each row
        self.counted = [0, 0, 0]
        self.locks: list[bool] = []
        self.guard = threading.Lock()
        self.transactions = 0

    def select(self, row: int, rows: int = 1) -> int:
        with self.guard:
            self.counted[0] += 1
            self.counted[1] += rows
        return self.rows[row]

    def update(self, row: int, number: int) -> None:
        with self.guard:
            self.counted[2] += 1
            self.rows[row] = number

    def insert(self, count: int, one_by_one: bool = False) -> None:
        with self.guard:
            for _ in range(count):
                self.transactions += one_by_one
                self.data.append(self.transactions)
            self.transactions += 1

    def world(self) -> dict[int, int]:
        return dict(self.rows)

    def fortunes(self) -> list[tuple[int, str]]:
        return FORTUNES

    def data_rows(self) -> int:
        return len(self.data)

    def newest_data(self, count: int) -> int:
        return len(set(self.data[-count:]))

    def statements(self) -> Statements:
        return Statements(*self.counted)

    @contextmanager
    def lock(self, exclusive: bool) -> Iterator[None]:
        self.locks.append(exclusive)
        yield


class FakeUpstream:
    """Upstream and its control side."""

    def __init__(self) -> None:
        self.requests = 0
        self.mode: Mode = "ok"
        self.modes: list[Mode] = []

    def count(self) -> int:
        return self.requests

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode
        self.modes.append(mode)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # five, the default, make a burst wait a second for the next try


class FakeService:
    """Listens on a free port of 127.0.0.1; `lie` names what it does wrong."""

    def __init__(self, lie: str = "") -> None:
        self.lie = lie
        self.database = FakeDatabase()
        self.upstream = FakeUpstream()
        self.serial = threading.Lock()
        service = self

        class Handler(_Handler):
            fake = service

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "FakeService":
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Refused(Exception):
    """A status and its body."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeService
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        lie = self.fake.lie
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            media_type, answer = self.answer(urlsplit(self.path), body)
            status = 201 if lie == "status 201" and self.path == "/json" else 200
        except _Refused as refused:
            status, answer = refused.args
            media_type = "application/json"
            if lie == "closes after an error without a word":
                self.close_connection = True
            if lie == "an HTML error page without a length" and status == 404:
                media_type, answer = "text/html", None
        self.give(status, media_type, answer)

    do_POST = do_GET

    def give(self, status: int, media_type: str, body: bytes | None) -> None:
        lie = self.fake.lie
        date = formatdate(time.time(), usegmt=True)
        if lie == "Date stands still":
            date = self.fake.__dict__.setdefault("date", date)
        if lie == "Date of yesterday":
            date = formatdate(time.time() - 86400, usegmt=True)
        if lie == "Date in another format":
            date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        fields = {"Content-Type": media_type, "Date": date, "Server": "fake", "Content-Length": len(body or b"")}
        if body is None:
            del fields["Content-Length"]
            self.close_connection = True
        if lie.startswith("no "):
            fields.pop(lie.removeprefix("no "), None)
        if lie == "an empty Server":
            fields["Server"] = ""
        if lie == "closes in mid-body":
            fields["Content-Length"] = len(body or b"") + 5
            self.close_connection = True
        lines = [f"{name}: {value}" for name, value in fields.items()]
        if lie == "two Content-Types":
            lines.append("Content-Type: application/json")
        if lie == "length and chunked":
            lines.append("Transfer-Encoding: chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body or b""), body)
        head = f"HTTP/1.1 {status} X\r\n" + "\r\n".join(lines) + "\r\n\r\n"
        self.wfile.write(head.encode() + (body or b""))

    def answer(self, url: Any, body: bytes) -> tuple[str, bytes]:  # noqa: PLR0911, PLR0912
        lie, path = self.fake.lie, url.path
        if found := re.fullmatch(r"/(create_data|simple_request|(?:raw|orm)/(?:queries|updates))/([^/]*)", path):
            path, given = found[1], unquote(found[2])
        known = {"/", "/plaintext", "/json", "/simple_json", "/http-route-example", "/echo", "create_data"}
        known |= {f"{layer}/{what}" for layer in ("raw", "orm") for what in ("queries", "updates")} | {"simple_request"}
        known |= {f"/{layer}/{what}" for layer in ("raw", "orm") for what in ("db", "fortunes")}
        if path not in known:
            if lie == "200 for any path":
                return "text/plain", b"hello"
            raise _Refused(500 if lie == "500 for an unknown path" else 404, b'{"error":"no such path"}')
        if (self.command == "POST") != (path == "/echo") and lie != "any method":
            raise _Refused(404 if lie == "404 for a wrong method" else 405, b'{"error":"method"}')
        match path:
            case "/":
                return self.root(url.query)
            case "/plaintext":
                return self.text("Hello, World!")
            case "/http-route-example":
                return self.text("HTTP route response")
            case "/json" | "/simple_json":
                return self.greeting()
            case "/echo":
                return self.echo(body)
            case "simple_request":
                return self.simple_request(int(given))
            case "create_data":
                return self.create_data(self.count(given))
            case "/raw/db" | "/orm/db":
                [row] = self.worlds(1)
                return self.json(row)
            case "raw/queries" | "orm/queries":
                return self.json(self.worlds(self.count(given)))
            case "raw/updates" | "orm/updates":
                return self.json(self.updates(self.count(given)))
            case _:
                return self.fortunes()

    def json(self, value: Any) -> tuple[str, bytes]:
        media_type = "text/json" if self.fake.lie == "text/json" else "application/json"
        return media_type, json.dumps(value, ensure_ascii=False).encode()

    def text(self, text: str) -> tuple[str, bytes]:
        lie = self.fake.lie
        if lie == "latin-1":
            return "text/plain; charset=iso-8859-1", text.encode()
        return "text/plain; charset=utf-8", (text + "\n" * (lie == "a newline more")).encode()

    def greeting(self) -> tuple[str, bytes]:
        lies = {
            "another greeting": b'{"message":"Hello World"}',
            "a key more": b'{"message":"Hello, World!","time":1}',
            "a key twice": b'{"message":"Hello, World!","message":"Hello, World!"}',
            "single quotes": b"{'message':'Hello, World!'}",
            "an empty body": b"",
            "bytes that are no UTF-8": b'{"message":"\xff"}',
            "nested a thousandfold": b"[" * 100_000,
            "endless": b"x" * 5_000_000,
        }
        return "application/json", lies.get(self.fake.lie, b'{"message":"Hello, World!"}')

    def count(self, text: str) -> int:
        lie = self.fake.lie
        n = int(text) if re.fullmatch("-?[0-9]+", text) else 1
        if lie == "500 for foo" and text == "foo":
            raise _Refused(500, b"ValueError")
        if lie == "nothing for 0" and n == 0:
            return 0
        if lie == "404 for an empty n" and text == "":
            raise _Refused(404, b"not found")
        if lie == "takes int() at its word" and text == "²":
            raise _Refused(500, b"ValueError")
        return max(1, min(n, 5000 if lie == "no upper bound" else 500))

    def root(self, query: str) -> tuple[str, bytes]:
        lie = self.fake.lie
        given = parse_qs(query).get("duration", ["0"])[0]
        if lie == "500 for duration=foo" and given == "foo":
            raise _Refused(500, b"ValueError")
        ms = max(0, min(int(given), 10_000)) if re.fullmatch("-?[0-9]+", given) else 0
        if lie == "one request at a time":
            with self.fake.serial:
                time.sleep(ms / 1000)
        elif lie == "wakes early":
            time.sleep(ms / 1600)
        elif lie == "wakes late":
            time.sleep(ms / 480)
        elif lie != "does not wait":
            time.sleep(ms / 1000)
        return self.json({"duration": ms / 1 if lie == "a float" else str(ms) if lie == "a string" else ms})

    def worlds(self, count: int) -> list[dict[str, Any]]:
        lie, database = self.fake.lie, self.fake.database
        if lie == "one row less" and count > 1:
            count -= 1
        rows = random.sample(range(1, 10_001), count)
        if lie == "one query for all":
            database.select(rows[0], count)
            numbers = [database.rows[row] for row in rows]
        elif lie == "cached rows":
            numbers = [database.rows[row] for row in rows]
        elif lie == "selects the whole table":
            numbers = [database.select(row, 10_000) for row in rows]
        elif lie == "numbers made up":
            numbers = [database.select(row) % 10_000 + 1 for row in rows]
        else:
            numbers = [database.select(row) for row in rows]
        if lie == "the same row" or (lie == "row 0" and count == 20):
            rows = [0 if lie == "row 0" else 7] * count
            numbers = [database.rows[7]] * count
        if lie == "numbers as strings":
            return [{"id": row, "randomNumber": str(number)} for row, number in zip(rows, numbers, strict=True)]
        key = "randomnumber" if lie == "randomnumber" else "randomNumber"
        return [{"id": row, key: number} for row, number in zip(rows, numbers, strict=True)]

    def updates(self, count: int) -> list[dict[str, Any]]:
        lie, database = self.fake.lie, self.fake.database
        rows = self.worlds(count)
        for row in rows:
            if lie == "updates nothing":
                row["randomNumber"] = random.randint(1, 10_000)
            elif lie == "updates to the old number":
                database.update(row["id"], row["randomNumber"])
            else:
                row["randomNumber"] = row["randomNumber"] % 10_000 + 1
                database.update(row["id"], row["randomNumber"])
            if lie == "stores another number":
                database.rows[row["id"]] = row["randomNumber"] % 10_000 + 1
            if lie == "updates a row more":
                database.rows[row["id"] % 10_000 + 1] += 1
            if lie == "updates each row twice":
                database.update(row["id"], row["randomNumber"])
        return rows

    def create_data(self, count: int) -> tuple[str, bytes]:
        lie, database = self.fake.lie, self.fake.database
        if lie == "creates only once" and database.data and count == 7:
            count = 0
        database.insert(count - (lie == "creates one row less"), lie == "a transaction for each row")
        if lie == "loses rows under concurrency" and count == 3:
            database.data.pop()
        return self.json({"created": 7 if lie == "creates only once" and count == 0 else count})

    def fortunes(self) -> tuple[str, bytes]:
        lie = self.fake.lie
        rows = sorted([*FORTUNES, ADDITIONAL], key=lambda row: row[1])
        if lie == "fortunes in stored order":
            rows = [*FORTUNES, ADDITIONAL]
        if lie == "fortunes by id":
            rows = sorted(rows)
        if lie == "no additional fortune":
            rows.remove(ADDITIONAL)
        if lie == "a fortune in place of another":
            rows = [(number, "A & B" if number == 1 else text) for number, text in rows]
            rows.sort(key=lambda row: row[1])
        if lie == "fortunes escaped twice":
            rows = [(number, html.escape(text)) for number, text in rows]
        escape = str if lie == "fortunes not escaped" else html.escape
        cells = "".join(f"<tr><td>{number}</td><td>{escape(text)}</td></tr>" for number, text in rows)
        page = f"<!DOCTYPE html><html><body><table><tr><th>id</th><th>message</th></tr>{cells}</table></body></html>"
        if lie == "replacement characters for Japanese":
            page = page.replace("ワークのベンチマーク", "\ufffd" * 10)
        charset = "" if lie == "HTML without its charset" else "; charset=utf-8"
        return f"text/html{charset}", page.encode()

    def echo(self, body: bytes) -> tuple[str, bytes]:
        lie = self.fake.lie
        if len(body) > 65536 and lie != "echo without a limit":
            raise _Refused(413, b'{"error":"too large"}')
        if lie == "echo limit too low" and len(body) > 65000:
            raise _Refused(413, b'{"error":"too large"}')
        try:
            value = json.loads(body.decode(), parse_constant=None if lie == "NaN" else _no_constant)
            json.dumps(value, ensure_ascii=False, allow_nan=lie == "NaN").encode()
        except (ValueError, RecursionError) as error:
            lied = lie == "500 for broken JSON" or (lie == "500 for nesting" and isinstance(error, RecursionError))
            raise _Refused(500 if lied else 400, b'{"error":"no JSON"}') from None
        if not isinstance(value, dict):
            if lie == "echo takes arrays":
                return self.json(value)
            raise _Refused(400, b'{"error":"no object"}')
        if lie == "counts nested keys":
            count = len(re.findall(rb'":|" :', body))
        else:
            count = len(value) + (lie == "counts one more")
        if lie == "echo drops what is nested":
            value = {key: None if isinstance(item, dict) else item for key, item in value.items()}
        if lie == "echo as ASCII":
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("ascii", "replace"))
        return self.json({**value, "received": count})

    def simple_request(self, ms: int) -> tuple[str, bytes]:
        lie, upstream = self.fake.lie, self.fake.upstream
        with self.fake.database.guard:
            upstream.requests += {"asks upstream twice": 2, "does not ask upstream": 0}.get(lie, 1)
        if upstream.mode != "ok":
            if upstream.mode == "hang":
                time.sleep(ms / 1000 + (4 if lie == "hangs with upstream" else 2))
            if lie == f"500 for upstream's {upstream.mode}":
                raise _Refused(500, b'{"error":"upstream"}')
            if lie == "closes when upstream does" and upstream.mode == "close":
                raise ConnectionAbortedError
            self.fake.__dict__["failed"] = True
            raise _Refused(502, b"" if lie == "502 without a body" else b'{"error":"upstream"}')
        if lie == "broken for good" and self.fake.__dict__.get("failed"):
            raise _Refused(502, b'{"error":"upstream"}')
        ms = ms or 100
        if lie != "does not wait for upstream":
            time.sleep(ms / 1000)
        return self.json({"delay_ms": ms + 1} if lie == "another delay" else {"delay_ms": ms})


def _no_constant(name: str) -> None:
    raise ValueError(name)
