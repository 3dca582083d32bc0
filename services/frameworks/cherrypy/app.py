"""The contract's basic routes as a CherryPy application."""

import json
import time

import cherrypy
from common import contract


class Contract:
    """Each exposed method is a path: `/` is `index`, and a dash in a path is an underscore here."""

    @cherrypy.expose
    @cherrypy.tools.response_headers(headers=[("Content-Type", "text/plain; charset=utf-8")])
    def plaintext(self) -> str:
        return contract.GREETING

    @cherrypy.expose("simple_json")
    @cherrypy.tools.json_out()
    def json(self) -> dict[str, str]:
        return {"message": contract.GREETING}

    @cherrypy.expose("http-route-example")
    @cherrypy.tools.response_headers(headers=[("Content-Type", "text/plain; charset=utf-8")])
    def http_route_example(self) -> str:
        return contract.ROUTE_RESPONSE

    @cherrypy.expose
    @cherrypy.tools.json_out()
    def index(self, duration: object = None, **_: object) -> dict[str, int]:
        milliseconds = contract.clamp_duration(duration)
        if milliseconds:
            time.sleep(milliseconds / 1000)
        return {"duration": milliseconds}


def refused(status: str, message: str, traceback: str, version: str) -> str:
    """CherryPy's own refusals (404, 405) as JSON."""
    cherrypy.response.headers["Content-Type"] = "application/json"
    return json.dumps({"error": message})


app = cherrypy.Application(
    Contract(),
    "",
    {"/": {"tools.allow.on": True, "tools.allow.methods": ["GET", "HEAD"], "error_page.default": refused}},
)
