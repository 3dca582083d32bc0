"""The contract as a Django application for ASGI: what a server imports."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from common.async_backends import open_backends
from django.core.asgi import get_asgi_application

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.settings"

serve_http = get_asgi_application()


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Django, which serves only HTTP, plus the lifespan of the backends other than its own database.

    Django has none of its own ("How to deploy with ASGI").
    """
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    else:
        await serve_http(scope, receive, send)


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    async with AsyncExitStack() as stack:
        await receive()
        scope["state"]["backends"] = await stack.enter_async_context(open_backends())
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
