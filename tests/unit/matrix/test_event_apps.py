"""The bare apps while events are measured: the large response comes in pieces, and is complete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import HANGS_S, until

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


WORKERS = """
import os, signal, time
from pathlib import Path
from common import prefork
def serve(listener):
    try:
        Path(FOLDER, f"up-{os.getpid()}").touch()
        while True:
            time.sleep(0.01)
    finally:
        time.sleep(0.3)
        Path(FOLDER, f"done-{os.getpid()}").touch()
prefork.run(serve)
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stopped_server_ends_once_all_its_workers_have(workers: int, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": "services", "PORT": "0", "BACKLOG": "1", "WORKERS": str(workers)}
    with subprocess.Popen([sys.executable, "-c", f"FOLDER = {str(tmp_path)!r}\n{WORKERS}"], env=environment) as server:
        until(lambda: len([*tmp_path.glob("up-*")]) == workers)
        # The first process waits for the others.
        until(lambda: ") S " in Path(f"/proc/{server.pid}/stat").read_text())
        server.send_signal(signal.SIGTERM)
        assert server.wait(HANGS_S) == 0 and len([*tmp_path.glob("done-*")]) == workers
