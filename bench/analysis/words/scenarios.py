"""Names of scenarios, servers and frameworks in the words of a reader who has not seen the matrix."""

from __future__ import annotations

import re

BARE = {"wsgi": "a bare WSGI app", "asgi": "a bare ASGI app", "rsgi": "a bare RSGI app"}
"""Apps without a framework, by the name that the matrix has for them."""
_FRAMEWORKS = BARE | {
    "flask": "Flask",
    "bottle": "Bottle",
    "falcon": "Falcon",
    "falcon-asgi": "Falcon (ASGI)",
    "pyramid": "Pyramid",
    "django": "Django",
    "django-asgi": "Django (ASGI)",
    "cherrypy": "CherryPy",
    "starlette": "Starlette",
    "fastapi": "FastAPI",
    "litestar": "Litestar",
    "quart": "Quart",
    "blacksheep": "BlackSheep",
    "sanic": "Sanic",
    "robyn": "Robyn",
    "tornado": "Tornado",
}
_DELAY = re.compile(r"delay-(\d+)\Z")
_UPSTREAM = re.compile(r"simple-request-(\d+)\Z")
_DATABASE = re.compile(r"(db|queries-\d+|updates-\d+|fortunes|create-data)-")


def framework_words(name: str) -> str:
    """A framework as prose spells it; an app without one is a bare app."""
    return _FRAMEWORKS.get(name, name)


def wait_words(scenario: str) -> str:
    """What every answer has to wait for: `20 ms`, `an upstream`, `the database`; empty if nothing."""
    if found := _DELAY.match(scenario):
        return f"{found[1]} ms" if int(found[1]) else ""
    if found := _UPSTREAM.match(scenario):
        return f"an upstream that takes {found[1]} ms" if int(found[1]) else "an upstream"
    return "the database" if _DATABASE.match(scenario) else ""


def explained(scenario: str) -> str:
    """`delay-20 (every answer waits for 20 ms)`; the name alone where nothing is waited for."""
    waits = wait_words(scenario)
    return f"{scenario} (every answer waits for {waits})" if waits else scenario
