"""The contract as a Django application for ASGI: what a server imports.

Forms: docs.djangoproject.com, "How to deploy with ASGI"; the README of asgiref, "Thread-sensitive contexts".
"""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from asgiref.sync import ThreadSensitiveContext
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
        async with request_thread():
            await serve_http(scope, receive, send)


idle_threads: list[ThreadPoolExecutor] = []


@asynccontextmanager
async def request_thread() -> AsyncIterator[None]:
    """A thread for what Django runs synchronously around each request: its own, and used again for a later one.

    Without it Django starts one for each request, and asgiref another to end it. Python 3.10 has no asgiref for this.
    """
    if sys.version_info < (3, 11):
        yield
        return
    thread = idle_threads.pop() if idle_threads else ThreadPoolExecutor(max_workers=1)
    try:
        async with ThreadSensitiveContext(executor=thread):
            yield
    finally:
        idle_threads.append(thread)


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    async with AsyncExitStack() as stack:
        await receive()
        scope["state"]["backends"] = await stack.enter_async_context(open_backends())
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
