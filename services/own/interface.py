"""Imports the app that APP names and prints its interface, in a line that begins with the first argument.

driver/planning/interface.py runs this in the app's image: `MARK wsgi flask.app.Flask`, or `none` for what is no app.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Awaitable
from typing import Any

import app as own

MADE = {"aiohttp.web_app.Application": "aiohttp", "tornado.web.Application": "tornado"}
"""Classes of apps that a server calls a factory for, and their interface."""
NONE = "none"
MANY = 99
"""More arguments than any function takes that does not take all."""


def interface_of(made: Any) -> str:
    """By its classes, or by the arguments that it takes."""
    for kind in type(made).__mro__:
        if found := MADE.get(_name(kind)):
            return found
    own_call = getattr(made, "__call__", None)  # noqa: B004 # its arguments are asked for
    call = own_call if inspect.ismethod(own_call) else made
    if _takes(call, 3) and (inspect.iscoroutinefunction(call) or not _takes(call, 2)):
        return "asgi"
    return "wsgi" if _takes(call, 2) and not _takes(call, MANY) else NONE


def show() -> str:
    """The interface and name of the app, made as own/app.py makes it: only where a call is asked for, or for `MADE`."""
    own.enter()
    found, called = own.find()
    if not called and (interface_of(found) != NONE or not inspect.isroutine(found) or _takes(found, MANY)):
        return _shown(interface_of(found), found)
    made = found()
    waits = inspect.isawaitable(made)
    made = asyncio.run(_awaited(made)) if waits else made
    interface = interface_of(made)
    return _shown(interface if (called and not waits) or interface in MADE.values() else NONE, made)


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


def _takes(call: Any, count: int) -> bool:
    """Whether it can be called with this number of arguments."""
    try:
        inspect.signature(call).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _shown(interface: str, made: Any) -> str:
    return f"{interface} {_name(made if inspect.isroutine(made) or inspect.isclass(made) else type(made))}"


def _name(what: Any) -> str:
    return f"{what.__module__}.{what.__qualname__}"


if __name__ == "__main__":
    # Past what the app has made of standard output, and of exit handlers and threads.
    os.write(1, f"\n{sys.argv[1]} {show()}\n".encode())
    os._exit(0)
