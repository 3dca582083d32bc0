"""What the bare apps do besides while events are measured: the large response comes in pieces, and whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

ASKS = {
    "wsgi": """
import json
from common import events
told = []
app = events.wsgi(lambda environ, start: [b"inner"])
body = list(app({"PATH_INFO": PATH}, lambda status, headers: told.append(dict(headers))))
print(json.dumps([len(body), len(b"".join(body)), told]))
""",
    "asgi": """
import asyncio, json
from common import events
body, told = [], []
async def inner(scope, receive, send):
    body.append(b"inner")
async def send(message):
    if "headers" in message:
        told.append({name.decode(): value.decode() for name, value in message["headers"]})
    else:
        body.append(message["body"])
        assert message.get("more_body", False) == bool(message["body"])
asyncio.run(events.asgi(inner)({"type": "http", "path": PATH}, None, send))
body = [piece for piece in body if piece]
print(json.dumps([len(body), len(b"".join(body)), told]))
""",
}


@pytest.mark.parametrize("interface", ASKS)
@pytest.mark.parametrize(("large", "path", "size"), [("2", "/large", 2 << 20), ("2", "/", 5), ("", "/large", 5)])
def test_the_large_response(interface: str, large: str, path: str, size: int) -> None:
    pieces = -(-size // 65536)
    program = f"PATH = {path!r}\n{ASKS[interface]}"
    environment = {**os.environ, "PYTHONPATH": "services", "LARGE_MB": large}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    count, total, told = json.loads(done.stdout)
    assert (count, total) == (pieces, size)
    assert [one["content-length"] for one in told] == [str(size)] * (pieces > 1)
