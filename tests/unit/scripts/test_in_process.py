"""scripts/profile/in_process.py calls an app without its server, and counts what is not an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

DRIVER = ROOT / "scripts/profile/in_process.py"

ASGI = """
import asyncio
print("what an app prints")
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        scope["state"]["word"] = b"hello"
        await send({"type": "lifespan.startup.complete"})
        await receive()
    assert (await receive())["type"] == "http.request"
    later = asyncio.create_task(receive())
    await asyncio.sleep(0)
    assert not later.done()
    body = b"" if scope["path"] == "/empty" else scope["state"]["word"]
    length = b"7" if scope["path"] == "/short" else b"%d" % len(body)
    headers = [(b"Content-Length", length), (b"Content-Type", b"text/plain")]
    status = 404 if scope["path"] == "/absent" else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body[:2], "more_body": True})
    await send({"type": "http.response.body", "body": body[2:]})
    assert (await later)["type"] == "http.disconnect"
"""
WSGI = """
print("what an app prints")
class Body(list):
    def close(self): open("closed", "w").close()
def app(environ, start_response):
    path = environ["PATH_INFO"]
    body = Body([] if path == "/empty" else [b"he", b"llo"])
    length = "7" if path == "/short" else str(len(b"".join(body)))
    status = "404 Not Found" if path == "/absent" else "200 OK"
    start_response(status, [("content-length", length), ("Content-Type", "text/plain")])
    return body
"""


def run(folder: Path, interface: str, app: str, *paths: str) -> subprocess.CompletedProcess[str]:
    (folder / "app.py").write_text(app)
    return subprocess.run(
        [sys.executable, "-", interface, "0.02", *paths],
        stdin=DRIVER.open(),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("interface", "app"), [("asgi", ASGI), ("wsgi", WSGI)])
def test_every_path_is_called_and_its_answers_are_counted(tmp_path: Path, interface: str, app: str) -> None:
    done = run(tmp_path, interface, app, "/plaintext", "/absent", "/empty", "/short")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["path"] for line in lines] == [None, "/plaintext", "/absent", "/empty", "/short"] * 5
    nothing, right, *wrong = lines[-5:]
    # CPU time, and the least of five: beside other programs a window has few requests.
    least = [min(line["cpu_ns"] / line["requests"] for line in lines[place::5]) for place in (0, 1)]
    assert 0 < least[0] < least[1]
    assert nothing["wrong"] == right["wrong"] == 0
    assert right["body_bytes"] == 5 * right["requests"] and right["content_type"] == "text/plain"
    assert 0 < right["cpu_ns"] < 10**9
    assert all(line["wrong"] == line["requests"] > 0 for line in wrong)
    assert "what an app prints" in done.stderr
    assert interface == "asgi" or (tmp_path / "closed").exists()


def test_an_app_that_does_not_start_has_no_figures(tmp_path: Path) -> None:
    app = """
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})
"""
    done = run(tmp_path, "asgi", app, "/json")
    assert done.returncode == 1 and "no database" in done.stderr and not done.stdout


def test_an_app_that_fails_ends_with_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "wsgi", "def app(environ, start_response): raise RuntimeError('broken')", "/json")
    assert done.returncode == 1 and "broken" in done.stderr and '"/json"' not in done.stdout
