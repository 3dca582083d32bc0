"""Names of scenarios, servers and frameworks in the words of a reader who has not seen the matrix."""

from __future__ import annotations

from bench.analysis.waits import WaitsFor, wait_of

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


def framework_words(name: str) -> str:
    """A framework as prose spells it; an app without one is a bare app."""
    return _FRAMEWORKS.get(name, name)


def wait_words(scenario: str) -> str:
    """What every answer has to wait for: `20 ms`, `an upstream`, `the database`; empty if nothing."""
    wait = wait_of(scenario)
    if wait is None:
        return ""
    if wait.on is WaitsFor.TIMER:
        return f"{wait.ms} ms"
    if wait.on is WaitsFor.UPSTREAM:
        return f"an upstream that takes {wait.ms} ms" if int(wait.ms) else "an upstream"
    return "the database"


def explained(scenario: str) -> str:
    """`delay-20 (every answer waits for 20 ms)`; the name alone where nothing is waited for."""
    waits = wait_words(scenario)
    return f"{scenario} (every answer waits for {waits})" if waits else scenario
