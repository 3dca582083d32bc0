"""The contract as a Django application for ASGI: what a server imports.

Forms: docs.djangoproject.com, "How to deploy with ASGI"; the README of asgiref, "Thread-sensitive contexts";
channels.readthedocs.io, "Consumers" (AsyncWebsocketConsumer, without a channel layer) and "Routing" (URLRouter).
"""

import itertools
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any, Optional

from asgiref.sync import ThreadSensitiveContext
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from common import settings
from common.async_backends import open_backends
from django.core.asgi import get_asgi_application
from django.urls import path

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.settings"


class Echo(AsyncWebsocketConsumer):
    async def receive(self, text_data: Optional[str] = None, bytes_data: Optional[bytes] = None) -> None:
        await self.send(text_data=text_data, bytes_data=bytes_data)


serve_http = get_asgi_application()
serve_websocket = URLRouter([path("ws/echo", Echo.as_asgi())])


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Django, which serves only HTTP, with Channels and a lifespan for the backends other than Django's own database.

    Django has none of its own ("How to deploy with ASGI").
    """
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    elif scope["type"] == "http":
        async with request_thread():
            await serve_http(scope, receive, send)
    else:
        await serve_websocket(scope, receive, send)


# As many as database connections: more could not work at the same time.
threads = itertools.cycle([ThreadPoolExecutor(max_workers=1) for _ in range(settings.pool_size())])


def request_thread() -> AbstractAsyncContextManager[object]:
    """The thread in which Django runs the synchronous parts of a request.

    Without it, Django starts a thread for each request, and asgiref another one to end it. On Python 3.10, asgiref
    cannot do this.
    """
    return ThreadSensitiveContext(executor=next(threads)) if sys.version_info >= (3, 11) else nullcontext()


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    async with AsyncExitStack() as stack:
        await receive()
        scope["state"]["backends"] = await stack.enter_async_context(open_backends())
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
