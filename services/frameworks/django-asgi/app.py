"""The contract as a Django application for ASGI: what a server imports.

Forms: docs.djangoproject.com, "How to deploy with ASGI"; the README of asgiref, "Thread-sensitive contexts".
"""

import itertools
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from common import settings
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


# As many as there are database connections: no more of them can have something to do at a time.
threads = itertools.cycle([ThreadPoolExecutor(max_workers=1) for _ in range(settings.pool_size())])


def request_thread() -> AbstractAsyncContextManager[object]:
    """The thread for what Django runs synchronously around and in a request.

    Without it Django starts one for each request, and asgiref another to end it. Python 3.10 has no asgiref for this.
    """
    return ThreadSensitiveContext(executor=next(threads)) if sys.version_info >= (3, 11) else nullcontext()


async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
    async with AsyncExitStack() as stack:
        await receive()
        scope["state"]["backends"] = await stack.enter_async_context(open_backends())
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
