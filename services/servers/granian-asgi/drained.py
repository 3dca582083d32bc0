"""The app, which reads what is left of a request's body before it answers.

Granian closes a connection without notice when an answer leaves before the body has come.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from app import app as inner
from common.contract import ECHO_LIMIT

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
        receive, send = _draining(receive, send)
    await inner(scope, receive, send)


def _draining(receive: Receive, send: Send) -> tuple[Receive, Send]:
    more = True
    left = ECHO_LIMIT

    async def received() -> Message:
        nonlocal more, left
        message = await receive()
        more = message.get("more_body", False)
        left -= len(message.get("body", b""))
        return message

    async def sent(message: Message) -> None:
        while more and left > 0:
            await received()
        await send(message)

    return received, sent
