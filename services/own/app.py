"""A user's own app under the name that every server imports: `app`, or `create_app` for aiohttp and Tornado.

APP is MODULE:NAME, or MODULE:NAME() for a function that makes the app; APP_INTERFACE is its interface. Its folder comes
first on the module path, and is the working directory. Without APP_INTERFACE, it imports nothing (interface.py).
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

FOLDER = "/srv/app"
HERE = os.path.dirname(__file__)
OURS = ("app", "common", "server")
"""Names of modules in this folder, which the app may have too: in its folder, or installed."""


class Theirs:
    """Finds the app's modules that have the names of ours, wherever they come on the path."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """As sys.meta_path asks for it."""
        return PathFinder.find_spec(name, [place for place in sys.path if place != HERE]) if name in OURS else None


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


async def make(found: Any, called: bool) -> Any:
    """The app, for servers that call a factory."""
    if called or inspect.isroutine(found):
        found = found()
    return await found if inspect.isawaitable(found) else found


def enter() -> None:
    """Goes where the app is imported. From here on, its modules come before ours of the same name."""
    sys.path[:0] = [folder for folder in (FOLDER, f"{FOLDER}/src") if os.path.isdir(folder)]
    os.chdir(FOLDER)
    sys.meta_path.insert(0, Theirs)
    theirs = [*filter(Theirs.find_spec, OURS)]
    for name in [name for name in sys.modules if name.partition(".")[0] in theirs]:
        del sys.modules[name]


def load(interface: str) -> None:
    """Define what servers import."""
    before = dict(sys.modules)
    enter()
    # At once, so that errors show; what is set below may have the same name.
    found, called = find()

    async def create_app() -> Any:
        return await make(found, called)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield await make(found, called)

    if interface in ("wsgi", "asgi"):
        name, value = "app", found() if called else found
    else:
        name, value = "create_app", create_app if interface == "aiohttp" else opened
    # Those that are being imported have to be there when that ends.
    for ours in (__name__, "server", "server.drained"):
        if ours in before:
            sys.modules.setdefault(ours, before[ours])
    setattr(sys.modules[__name__], name, value)


if "APP_INTERFACE" in os.environ:
    load(os.environ["APP_INTERFACE"])
