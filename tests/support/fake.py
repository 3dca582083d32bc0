"""A fake service on a real port that follows the contract, or breaks it in one named way."""

import sys
import threading
from datetime import timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from fake_app import FakeApp, Refused
from simulated_clock import SimulatedClock

from bench.contract.client import Clock


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the default of five, connections of a burst are retried only after a second

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a lie, or a client that gave up
            super().handle_error(request, client_address)


class FakeService:
    """Listens on a free port of 127.0.0.1; `lie`: what it does wrong; `clock`: the clock for its waits."""

    def __init__(self, lie: str = "", clock: Clock | None = None) -> None:
        self.clock = clock or SimulatedClock()
        self.app = FakeApp(lie, self.clock)
        self.database = self.app.database
        self.upstream = self.app.upstream
        self.first_date = ""
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


class _Handler(BaseHTTPRequestHandler):
    fake: FakeService
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        lie = self.fake.app.lie
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            media_type, answer = self.fake.app.answer(self.command, urlsplit(self.path), body)
            status = 201 if lie == "status 201" and self.path == "/json" else 200
        except Refused as refused:
            status, answer = refused.args
            media_type = "application/json"
            if lie == "closes unannounced after an error":
                self.close_connection = True
            if lie == "an HTML error page without a length" and status == 404:
                media_type, answer = "text/html", None
        self.give(status, media_type, answer)

    do_POST = do_GET

    def give(self, status: int, media_type: str, body: bytes | None) -> None:
        lie = self.fake.app.lie
        now = self.fake.clock.now()
        date = format_datetime(now - timedelta(days=lie == "Date of yesterday"), usegmt=True)
        self.fake.first_date = self.fake.first_date or date
        if lie == "Date stands still":
            date = self.fake.first_date
        if lie == "Date in another format":
            date = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        fields = {"Content-Type": media_type, "Date": date, "Server": "fake", "Content-Length": len(body or b"")}
        if body is None:
            del fields["Content-Length"]
            self.close_connection = True
        if lie.startswith("no "):
            fields.pop(lie.removeprefix("no "), None)
        if lie == "an empty Server":
            fields["Server"] = ""
        lines = [f"{name}: {value}" for name, value in fields.items()]
        if lie == "two Content-Types":
            lines.append("Content-Type: application/json")
        if lie == "length and chunked":
            lines.append("Transfer-Encoding: chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body or b""), body)
        head = f"HTTP/1.1 {status} X\r\n" + "\r\n".join(lines) + "\r\n\r\n"
        self.wfile.write(head.encode() + (body or b""))
