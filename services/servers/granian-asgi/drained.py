"""The app, wrapped to read the rest of a request's body before it responds.

Granian closes a connection without notice if the response leaves before the body has arrived.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from common.contract import ECHO_LIMIT

from app import app as inner

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
        body = Body(receive, send)
        receive, send = body.receive, body.send
    await inner(scope, receive, send)


class Body:
    """Passes a request's body to the app, and holds the response until the rest of the body is read."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._more = True
        self._left = ECHO_LIMIT
        # Some frameworks read in one task and respond in another.
        self._lock = asyncio.Lock()

    async def receive(self) -> Message:
        async with self._lock:
            return await self._read()

    async def send(self, message: Message) -> None:
        while self._more and self._left > 0:
            async with self._lock:
                if self._more:
                    await self._read()
        await self._send(message)

    async def _read(self) -> Message:
        message = await self._receive()
        self._more = message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        return message
