"""A user's own app under the name that every server imports: `app`, or `create_app` for aiohttp and Tornado.

APP is MODULE:NAME, or MODULE:NAME() for a function that makes the app; APP_INTERFACE is its interface. Its folder comes
first on the module path, and is the working directory.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.machinery import PathFinder
from typing import Any

FOLDER = "/srv/app"


def find() -> tuple[Any, bool]:
    """The object that APP names, and whether it must be called; AttributeError if its module does not have it."""
    module_name, _, name = os.environ["APP"].partition(":")
    called = name.endswith("()")
    name = name[:-2] if called else name
    found: Any = importlib.import_module(module_name)
    for part in name.split("."):
        if not hasattr(found, part):
            names = ", ".join(sorted(key for key in vars(found) if not key.startswith("_"))[:20])
            raise AttributeError(f"'{module_name}' has no '{part}'; it has: {names}")
        found = getattr(found, part)
    return found, called


def own_app() -> Any:
    found, called = find()
    return found() if called else found


async def make() -> Any:
    """The app, for servers that call a factory."""
    found, called = find()
    if called or inspect.isroutine(found):
        found = found()
    return await found if inspect.isawaitable(found) else found


@asynccontextmanager
async def opened() -> AsyncIterator[Any]:
    yield await make()


def load() -> None:
    """Define what servers import. If the folder has a module `app`, that module replaces this one."""
    here = sys.modules[__name__]
    folders = [folder for folder in (FOLDER, f"{FOLDER}/src") if os.path.isdir(folder)]
    sys.path[:0] = folders
    os.chdir(FOLDER)
    if PathFinder.find_spec(__name__, folders):
        del sys.modules[__name__]
    interface = os.environ["APP_INTERFACE"]
    if interface in ("wsgi", "asgi"):
        name, value = "app", own_app()
    else:
        # Look it up now, so that errors show at once; the server makes it later.
        find()
        name, value = "create_app", make if interface == "aiohttp" else opened
    setattr(sys.modules.setdefault(__name__, here), name, value)


load()
