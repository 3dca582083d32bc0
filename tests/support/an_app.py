"""A made-up app of a user."""

from __future__ import annotations

from typing import Any

from bench.own_app.app import OwnApp
from bench.own_app.targets import Target


def an_app(*targets: Target, **changes: Any) -> OwnApp:
    """An ASGI app on Python 3.13 that is asked these requests."""
    usual = {"name": "shop", "label": "0", "folder": "/shop", "app": "a:b", "interface": "asgi", "pythons": ("3.13",)}
    return OwnApp(targets=targets, **(usual | changes))
