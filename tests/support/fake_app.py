"""The app of the fake service: follows the contract except for what `lie` names."""

import html
import json
import re
import runpy
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote

from fake_dependencies import ADDITIONAL, FORTUNES, FORTUNES_TEMPLATE, FakeDatabase, FakeUpstream
from places import ROOT

from bench.contract.client import Clock

PAGE = runpy.run_path(str(ROOT / "services/common/contract.py"))["PAGE"]["items"]
"""What real apps answer."""


class Refused(Exception):
    """An error answer: its status and body."""


class FakeApp:
    """Answers the routes of the contract; `lie`: what it does wrong, if anything."""

    def __init__(self, lie: str, clock: Clock) -> None:
        self.lie = lie
        self.clock = clock
        self.database = FakeDatabase()
        self.upstream = FakeUpstream()
        self.upstream_failed = False
        self.guard = threading.Lock()
        self.free_at = 0.0
        self.takes: Callable[[float], float] = lambda ms: ms  # requested -> actual wait in ms

    def answer(self, method: str, url: SplitResult, body: bytes) -> tuple[str, bytes]:
        """The media type and body; raises `Refused` for an error."""
        lie, path, given = self.lie, url.path, ""
        if found := re.fullmatch(r"/(create_data|simple_request|(?:raw|orm)/(?:queries|updates))/([^/]*)", path):
            path, given = found[1], unquote(found[2])
        answers: dict[str, Callable[[], tuple[str, bytes]]] = {
            "/": lambda: self.root(url.query),
            "/plaintext": lambda: self.text("Hello, World!"),
            "/http-route-example": lambda: self.text("HTTP route response"),
            "/echo": lambda: self.echo(body),
            "simple_request": lambda: self.simple_request(int(given)),
            "create_data": lambda: self.create_data(self.count(given)),
            **dict.fromkeys(("/json", "/simple_json"), self.greeting),
            "/json_20kb": lambda: self.json({"total": 92, "items": PAGE[lie == "a missing item" :]}),
            **dict.fromkeys(("/raw/db", "/orm/db"), lambda: self.json(self.worlds(1)[0])),
            **dict.fromkeys(("/raw/fortunes", "/orm/fortunes"), self.fortunes),
            **dict.fromkeys(("raw/queries", "orm/queries"), lambda: self.json(self.worlds(self.count(given)))),
            **dict.fromkeys(("raw/updates", "orm/updates"), lambda: self.json(self.updates(self.count(given)))),
        }
        if path not in answers:
            if lie == "200 for any path":
                return "text/plain", b"hello"
            raise Refused(500 if lie == "500 for an unknown path" else 404, b'{"error":"no such path"}')
        if (method == "POST") != (path == "/echo") and lie != "any method":
            raise Refused(404 if lie == "404 for a wrong method" else 405, b'{"error":"method"}')
        return answers[path]()

    def json(self, value: Any) -> tuple[str, bytes]:
        media_type = "text/json" if self.lie == "text/json" else "application/json"
        return media_type, json.dumps(value, ensure_ascii=False).encode()

    def text(self, text: str) -> tuple[str, bytes]:
        charset = "iso-8859-1" if self.lie == "declares latin-1" else "utf-8"
        return f"text/plain; charset={charset}", (text + "\n" * (self.lie == "a trailing newline")).encode()

    def greeting(self) -> tuple[str, bytes]:
        lies = {
            "another greeting": b'{"message":"Hello World"}',
            "an extra key": b'{"message":"Hello, World!","time":1}',
            "a duplicate key": b'{"message":"Hello, World!","message":"Hello, World!"}',
            "single quotes": b"{'message':'Hello, World!'}",
            "an empty body": b"",
            "invalid UTF-8": b'{"message":"\xff"}',
            "100,000 nested arrays": b"[" * 100_000,
            "endless": b"x" * 5_000_000,
        }
        return "application/json", lies.get(self.lie, b'{"message":"Hello, World!"}')

    def count(self, text: str) -> int:
        lie = self.lie
        n = int(text) if re.fullmatch("-?[0-9]+", text) else 1
        if (lie, text) in (("500 for foo", "foo"), ("500 for a superscript digit", "²")):
            raise Refused(500, b"ValueError")
        if lie == "404 for an empty n" and text == "":
            raise Refused(404, b"not found")
        if lie == "nothing for 0" and n == 0:
            return 0
        return max(1, min(n, 5000 if lie == "no upper bound" else 500))

    def root(self, query: str) -> tuple[str, bytes]:
        lie = self.lie
        given = parse_qs(query).get("duration", ["0"])[0]
        if lie == "500 for duration=foo" and given == "foo":
            raise Refused(500, b"ValueError")
        ms = max(0, min(int(given), 10_000)) if re.fullmatch("-?[0-9]+", given) else 0
        if lie == "waits for foo" and given == "foo":
            self.wait(3000)
        self.wait({"wakes early": ms / 1.6, "wakes late": ms / 0.48, "does not wait": 0}.get(lie, ms))
        return self.json({"duration": ms / 1 if lie == "a float" else str(ms) if lie == "a string" else ms})

    def wait(self, ms: float) -> None:
        """Sleep; a service that serves one request at a time starts after the previous one is done."""
        ms = self.takes(ms)
        with self.guard:
            begin = now = self.clock.monotonic_ns() / 1e9
            if self.lie == "one request at a time":
                begin = max(now, self.free_at)
                self.free_at = begin + ms / 1000
        self.clock.sleep(begin - now + ms / 1000)

    def worlds(self, count: int) -> list[dict[str, Any]]:
        lie, database = self.lie, self.database
        if lie == "one row too few" and count > 1:
            count -= 1
        rows = self.database.random.sample(range(1, 10_001), count)
        if lie == "one query for all":
            database.select(rows[0], count)
        elif lie != "cached rows":
            for row in rows:
                database.select(row, 10_000 if lie == "selects the whole table" else 1)
        numbers = [database.rows[row] for row in rows]
        if lie == "invented numbers":
            numbers = [number % 10_000 + 1 for number in numbers]
        if lie == "writes what it reads":
            for row, number in zip(rows, numbers, strict=True):
                database.update(row, number)
        if lie == "the same row" or (lie == "row 0" and count == 20):
            rows = [0 if lie == "row 0" else 7] * count
            numbers = [database.rows[7]] * count
        if lie == "numbers as strings":
            return [{"id": row, "randomNumber": str(number)} for row, number in zip(rows, numbers, strict=True)]
        key = "randomnumber" if lie == "randomnumber" else "randomNumber"
        return [{"id": row, key: number} for row, number in zip(rows, numbers, strict=True)]

    def updates(self, count: int) -> list[dict[str, Any]]:
        lie, database = self.lie, self.database
        rows = self.worlds(count)
        for row in rows:
            if lie == "updates nothing":
                row["randomNumber"] = self.database.random.randint(1, 10_000)
                continue
            if lie != "updates to the old numbers":
                row["randomNumber"] = row["randomNumber"] % 10_000 + 1
            for _ in range(2 if lie == "updates each row twice" else 1):
                database.update(row["id"], row["randomNumber"])
            if lie == "stores another number":
                database.rows[row["id"]] = row["randomNumber"] % 10_000 + 1
            if lie == "changes another row too":
                database.rows[row["id"] % 10_000 + 1] += 1
        return rows

    def create_data(self, count: int) -> tuple[str, bytes]:
        lie, database = self.lie, self.database
        if lie == "inserts only once" and database.data and count == 7:
            count = 0
        database.insert(count - (lie == "inserts one row too few"), lie == "a transaction for each row")
        if lie == "loses rows under concurrency" and count == 3:
            database.data.pop()
        return self.json({"created": 7 if lie == "inserts only once" and count == 0 else count})

    def fortunes(self) -> tuple[str, bytes]:
        lie = self.lie
        rows = [*FORTUNES, *[ADDITIONAL] * (lie != "no additional fortune")]
        if lie == "a fortune replaced":
            rows = [(number, "A & B" if number == 1 else text) for number, text in rows]
        if lie != "fortunes in stored order":
            rows.sort(key=lambda row: row[0] if lie == "fortunes by id" else row[1])
        escape = {"fortunes escaped twice": lambda text: html.escape(html.escape(text)), "fortunes not escaped": str}
        cells = [f"<tr><td>{n}</td><td>{escape.get(lie, html.escape)(text)}</td></tr>" for n, text in rows]
        page = re.sub(r"\{% for.*endfor %\}", lambda _: "".join(cells), FORTUNES_TEMPLATE, flags=re.DOTALL)
        spoilt = {
            "fortunes from a string": ("\n", ""),
            "fortunes without an end": ("</table>\n", "</table>"),
            "replacement characters for Japanese": ("ワークのベンチマーク", "\ufffd" * 10),
        }
        page = page.replace(*spoilt.get(lie, ("", "")))
        charset = "" if lie == "HTML without a charset" else "; charset=utf-8"
        return f"text/html{charset}", page.encode()

    def echo(self, body: bytes) -> tuple[str, bytes]:
        lie = self.lie
        if len(body) > (65000 if lie == "echo limit too low" else 65536) and lie != "echo without a limit":
            raise Refused(413, b'{"error":"too large"}')
        try:
            value = json.loads(body.decode(), parse_constant=None if lie == "echo accepts NaN" else _no_constant)
            json.dumps(value, ensure_ascii=False, allow_nan=lie == "echo accepts NaN").encode()
        except (ValueError, RecursionError) as error:
            lied = lie == "500 for broken JSON" or (lie == "500 for nesting" and isinstance(error, RecursionError))
            raise Refused(500 if lied else 400, b'{"error":"no JSON"}') from None
        if not isinstance(value, dict):
            if lie == "echo accepts arrays":
                return self.json(value)
            raise Refused(400, b'{"error":"no object"}')
        nested = lie == "counts nested keys"
        count = len(re.findall(rb'":|" :', body)) if nested else len(value) + (lie == "counts one too many")
        if lie == "echo drops nested values":
            value = {key: None if isinstance(item, dict) else item for key, item in value.items()}
        if lie == "echo as ASCII":
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("ascii", "replace"))
        return self.json({**value, "received": count})

    def simple_request(self, ms: int) -> tuple[str, bytes]:
        lie, upstream = self.lie, self.upstream
        with self.database.guard:
            upstream.requests += {"requests upstream twice": 2, "does not request upstream": 0}.get(lie, 1)
        if upstream.mode != "ok":
            if upstream.mode == "hang":
                self.wait(ms + (4000 if lie == "hangs with upstream" else 2000))
            if lie == f"500 for upstream's {upstream.mode}":
                raise Refused(500, b'{"error":"upstream"}')
            if lie == "closes when upstream does" and upstream.mode == "close":
                raise ConnectionAbortedError
            self.upstream_failed = True
            raise Refused(502, b"" if lie == "502 without a body" else b'{"error":"upstream"}')
        if lie == "does not recover" and self.upstream_failed:
            raise Refused(502, b'{"error":"upstream"}')
        if lie != "does not wait for upstream" and not (lie == "does not wait for the default" and ms == 0):
            self.wait(ms or 100)
        ms = ms or 100
        return self.json({"delay_ms": ms + 1} if lie == "another delay" else {"delay_ms": ms})


def _no_constant(name: str) -> None:
    raise ValueError(name)
