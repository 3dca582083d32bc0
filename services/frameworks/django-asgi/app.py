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
    """Django, which serves only HTTP, plus a lifespan for the backends other than Django's own database.

    Django has none of its own ("How to deploy with ASGI").
    """
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    else:
        async with request_thread():
            await serve_http(scope, receive, send)


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
