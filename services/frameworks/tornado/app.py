"""The contract as a Tornado application.

Forms, from tornadoweb.org:
JSON        "tornado.web" (write, which refuses arrays: hence finish_json)
templates   "Templates and UI"
database    none of its own; its demos/blog opens a pool around the application, as this does
lifespan    "Structure of a Tornado web application" (The main coroutine)
streams     "tornado.web" (write, flush)
websocket   "tornado.websocket"
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from common import contract, work
from common.async_backends import Backends, Store, UpstreamError, open_backends
from common.async_paced import paced
from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler, url
from tornado.websocket import WebSocketHandler


class ContractHandler(RequestHandler):
    """Base of all handlers: error responses."""

    SUPPORTED_METHODS: tuple[str, ...] = ("GET",)

    if work.asked:

        def prepare(self) -> None:
            work.work()

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        # Text that is not UTF-8 is not a number, but no reason to reject the request.
        return value.decode(errors="replace")

    def finish_json(self, value: Any) -> None:
        """Respond with JSON, including arrays, which Tornado's own `write` refuses."""
        self.set_header("Content-Type", "application/json")
        self.finish(contract.to_json(value))

    def refuse(self, status: int, text: str) -> None:
        self.set_status(status)
        self.finish_json({"error": text})

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        if status_code == 405:
            self.set_header("Allow", ", ".join(self.SUPPORTED_METHODS))
        self.finish_json({"error": self._reason})


class NoSuchPathHandler(ContractHandler):
    SUPPORTED_METHODS = RequestHandler.SUPPORTED_METHODS

    def prepare(self) -> None:
        self.send_error(404)


class TextHandler(ContractHandler):
    def initialize(self, text: str) -> None:
        self.text = text

    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self.text)


class GreetingHandler(ContractHandler):
    def get(self) -> None:
        self.finish_json({"message": contract.GREETING})


class PageHandler(ContractHandler):
    def get(self) -> None:
        self.finish_json(contract.PAGE)


class RootHandler(ContractHandler):
    async def get(self) -> None:
        duration = contract.clamp_duration(self.get_query_argument("duration", None))
        if duration:
            await asyncio.sleep(duration / 1000)
        self.finish_json({"duration": duration})


class EchoHandler(ContractHandler):
    SUPPORTED_METHODS = ("POST",)

    def post(self) -> None:
        try:
            self.finish_json(contract.echo(self.request.body))
        except ValueError as refusal:
            self.refuse(400, str(refusal))


class EventsHandler(ContractHandler):
    async def get(self, count: str, gap: str) -> None:
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-store")
        with suppress(StreamClosedError):
            async for number in paced(contract.clamp_events(count), contract.clamp_gap(gap)):
                self.write(contract.event_text(number))
                await self.flush()


class SocketHandler(WebSocketHandler):
    def on_message(self, message: str | bytes) -> None:
        self.write_message(message, binary=isinstance(message, bytes))


class BackendsHandler(ContractHandler):
    """Base of the handlers that use the database or the upstream."""

    def initialize(self, backends: Backends) -> None:
        self.backends = backends


class SimpleRequestHandler(BackendsHandler):
    async def get(self, milliseconds: str) -> None:
        try:
            self.finish_json(await self.backends.upstream.delay(contract.clamp_duration(milliseconds)))
        except UpstreamError as failure:
            self.refuse(502, str(failure))


class CreateDataHandler(BackendsHandler):
    async def get(self, text: str) -> None:
        count = contract.clamp_count(text)
        await self.backends.raw.create_data(count)
        self.finish_json({"created": count})


class StoreHandler(ContractHandler):
    """Base of the handlers that use a store."""

    def initialize(self, store: Store) -> None:
        self.store = store


class DbHandler(StoreHandler):
    async def get(self) -> None:
        self.finish_json((await self.store.worlds(1))[0])


class QueriesHandler(StoreHandler):
    async def get(self, text: str) -> None:
        self.finish_json(await self.store.worlds(contract.clamp_count(text)))


class UpdatesHandler(StoreHandler):
    async def get(self, text: str) -> None:
        self.finish_json(await self.store.update_worlds(contract.clamp_count(text)))


class FortunesHandler(StoreHandler):
    async def get(self) -> None:
        fortunes = contract.all_fortunes(await self.store.fortunes())
        self.render("fortunes.html", fortunes=fortunes)


def no_access_log(handler: RequestHandler) -> None:
    """No server of the matrix keeps an access log."""


@asynccontextmanager
async def create_app() -> AsyncIterator[Application]:
    """The application with its backends, while this process serves."""
    async with open_backends() as backends:
        everything = {"backends": backends}
        yield Application(
            [
                url("/", RootHandler),
                url("/plaintext", TextHandler, {"text": contract.GREETING}),
                url("/json", GreetingHandler),
                url("/simple_json", GreetingHandler),
                url("/json_20kb", PageHandler),
                url("/http-route-example", TextHandler, {"text": contract.ROUTE_RESPONSE}),
                url("/echo", EchoHandler),
                url("/sse/([^/]*)/([^/]*)", EventsHandler),
                url("/ws/echo", SocketHandler),
                url("/simple_request/([^/]*)", SimpleRequestHandler, everything),
                url("/create_data/([^/]*)", CreateDataHandler, everything),
                *(
                    url(f"/{kind}{path}", handler, {"store": backends.store(kind)})
                    for kind in ("raw", "orm")
                    for path, handler in (
                        ("/db", DbHandler),
                        ("/queries/([^/]*)", QueriesHandler),
                        ("/updates/([^/]*)", UpdatesHandler),
                        ("/fortunes", FortunesHandler),
                    )
                ),
            ],
            default_handler_class=NoSuchPathHandler,
            log_function=no_access_log,
            template_path="templates",
        )
