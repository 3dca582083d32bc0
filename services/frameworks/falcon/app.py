"""The contract as a Falcon application.

Forms, from falcon.readthedocs.io:
JSON        "Media" (JSONHandler, which names orjson)
templates   none of its own: Jinja2
database    "FAQ" (How do I manage my database connections: a pool that resources are given)
lifespan    none in WSGI: common/sync_backends.py connects with the first request that needs it
streams     "The Response Class" (stream)
"""

import time
from typing import Any

import falcon
from common import contract, fast_json, jinja
from common.sync_backends import Store, UpstreamError, backends
from falcon import Request, Response
from falcon.media import JSONHandler

HTML = "text/html; charset=utf-8"


class Text:
    def __init__(self, text: str) -> None:
        self.text = text

    def on_get(self, req: Request, resp: Response) -> None:
        resp.content_type = falcon.MEDIA_TEXT
        resp.text = self.text


class Greeting:
    def on_get(self, req: Request, resp: Response) -> None:
        resp.media = {"message": contract.GREETING}


class Page:
    def on_get(self, req: Request, resp: Response) -> None:
        resp.media = contract.PAGE


class Root:
    def on_get(self, req: Request, resp: Response) -> None:
        duration = contract.clamp_duration(req.get_param("duration"))
        if duration:
            time.sleep(duration / 1000)
        resp.media = {"duration": duration}


class SimpleRequest:
    def on_get(self, req: Request, resp: Response, ms: str) -> None:
        resp.media = backends.upstream.delay(contract.clamp_duration(ms))


class CreateData:
    def on_get(self, req: Request, resp: Response, number: str) -> None:
        count = contract.clamp_count(number)
        backends.raw.create_data(count)
        resp.media = {"created": count}


class Echo:
    def on_post(self, req: Request, resp: Response) -> None:
        # A chunked request has no length, and the end of its body is known only if the server marks it.
        stream = req.stream if req.env.get("wsgi.input_terminated") else req.bounded_stream
        body = stream.read(contract.ECHO_LIMIT + 1)
        try:
            # Not as media: a client may send numbers and lone surrogates, which orjson rejects.
            resp.text = contract.to_json(contract.echo(body))
        except ValueError as refusal:
            raise falcon.HTTPBadRequest(description=str(refusal)) from None


class Db:
    def __init__(self, store: Store) -> None:
        self.store = store

    def on_get(self, req: Request, resp: Response) -> None:
        resp.media = self.store.worlds(1)[0]


class Queries:
    def __init__(self, store: Store) -> None:
        self.store = store

    def on_get(self, req: Request, resp: Response, number: str) -> None:
        resp.media = self.store.worlds(contract.clamp_count(number))


class Updates:
    def __init__(self, store: Store) -> None:
        self.store = store

    def on_get(self, req: Request, resp: Response, number: str) -> None:
        resp.media = self.store.update_worlds(contract.clamp_count(number))


class Fortunes:
    def __init__(self, store: Store) -> None:
        self.store = store

    def on_get(self, req: Request, resp: Response) -> None:
        resp.content_type = HTML
        resp.text = jinja.fortunes_page(self.store.fortunes())


class Events:
    def on_get(self, req: Request, resp: Response, count: str, gap: str) -> None:
        numbers = contract.paced(contract.clamp_events(count), contract.clamp_gap(gap))
        resp.content_type = "text/event-stream"
        resp.cache_control = ["no-store"]
        resp.stream = (contract.event_text(number).encode() for number in numbers)


def bad_gateway(req: Request, resp: Response, failure: Exception, params: dict[str, Any]) -> None:
    raise falcon.HTTPBadGateway(description=str(failure))


def refuse(req: Request, resp: Response, refusal: falcon.HTTPError) -> None:
    """Falcon's errors as JSON, whatever the client accepts: by default they may have no body."""
    resp.content_type = falcon.MEDIA_JSON
    resp.media = {"error": refusal.description or refusal.title}


def create_app() -> falcon.App:
    app = falcon.App()
    handlers = {falcon.MEDIA_JSON: JSONHandler(dumps=fast_json.dumps, loads=fast_json.loads)}
    app.req_options.media_handlers.update(handlers)
    app.resp_options.media_handlers.update(handlers)
    app.add_error_handler(UpstreamError, bad_gateway)
    app.set_error_serializer(refuse)

    app.add_route("/", Root())
    app.add_route("/plaintext", Text(contract.GREETING))
    app.add_route("/json", Greeting())
    app.add_route("/simple_json", Greeting())
    app.add_route("/json_20kb", Page())
    app.add_route("/http-route-example", Text(contract.ROUTE_RESPONSE))
    app.add_route("/simple_request/{ms}", SimpleRequest())
    app.add_route("/create_data/{number}", CreateData())
    app.add_route("/echo", Echo())
    app.add_route("/sse/{count}/{gap}", Events())
    stores: dict[str, Store] = {"raw": backends.raw, "orm": backends.orm}
    for kind, store in stores.items():
        app.add_route(f"/{kind}/db", Db(store))
        app.add_route(f"/{kind}/queries/{{number}}", Queries(store))
        app.add_route(f"/{kind}/updates/{{number}}", Updates(store))
        app.add_route(f"/{kind}/fortunes", Fortunes(store))
    return app


app = create_app()
