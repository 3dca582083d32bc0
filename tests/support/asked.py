"""What the client of events is to send to a server on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

from waiting import HANGS_S

from bench.load.client import Asked

HEAD = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


def asked(server: asyncio.Server | int, **more: Any) -> Asked:
    """What to send to this server, or port."""
    port = server if isinstance(server, int) else server.sockets[0].getsockname()[1]
    usual: dict[str, Any] = {"expected": None, "timeout_s": HANGS_S, "pool": 0, "look_s": 0.0}
    return Asked(host="127.0.0.1", port=port, head=HEAD, **usual | more)
