"""The smallest app for each interface, for a server's own start (scripts/listeners.sh)."""

from typing import Any

BODY = b'{"message":"Hello, World!"}'
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]


def wsgi(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", HEADERS)
    return [BODY]


async def asgi(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while True:
            event = (await receive())["type"]
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return
    headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


async def rsgi(scope: Any, protocol: Any) -> None:
    protocol.response_bytes(200, HEADERS, BODY)


def aiohttp() -> Any:
    from aiohttp import web

    async def handle(request: Any) -> Any:
        return web.Response(body=BODY, content_type="application/json")

    app = web.Application()
    app.router.add_get("/json", handle)
    return app


async def tornado() -> None:
    import asyncio

    from tornado import web

    class Handler(web.RequestHandler):
        def get(self) -> None:
            self.finish(BODY)

    web.Application([("/json", Handler)]).listen(8080, "0.0.0.0")
    await asyncio.Event().wait()


def cherrypy() -> Any:
    import cherrypy

    class Root:
        @cherrypy.expose  # type: ignore[misc]
        def json(self) -> bytes:
            return BODY

    return Root()


def sanic() -> Any:
    from sanic import Sanic, response

    app = Sanic("hello")

    @app.get("/json")
    async def handle(request: Any) -> Any:
        return response.raw(BODY)

    return app


def robyn() -> Any:
    from robyn import Robyn

    app = Robyn(__file__)
    app.get("/json")(lambda: "{}")
    return app


def socketify() -> Any:
    from socketify import App

    app = App()
    app.get("/json", lambda response, request: response.end(BODY))
    return app
