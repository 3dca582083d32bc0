"""The bare WSGI app of the matrix in a service that turns hostile: HOSTILE names how.

Rivals have HOSTILE=a, b or c, follow the contract, and differ by what a request costs. A hostile one turns when wrk has
sent it 100 requests, so that it is verified first; those of `AT_START` do so when they are imported.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import psycopg2
from common.sync_backends import connect
from contract_app import app as contract_app  # type: ignore[import-not-found]  # services/frameworks/wsgi/app.py

HOSTILE = os.environ.get("HOSTILE", "")
COST_US = {"b": 2000, "c": 7000}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ANSWER = HEAD + b"Content-Length: 2\r\n\r\n{}"
kept: list[Any] = []
asked = Counter[str]()
"""How many requests it had, by whether they told what sends them; wrk does not."""


def drip(connection: socket.socket) -> None:
    for number in range(200):
        connection.sendall(b"X-%d: y\r\n" % number)
        time.sleep(0.1)


def send_much(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"Content-Length: 10737418240\r\n\r\n")
    for _ in range(10 << 10):
        connection.sendall(bytes(1 << 20))


ANSWERS: dict[str, Callable[[socket.socket], object]] = {
    "silent": lambda connection: time.sleep(20),
    "headers": lambda connection: (connection.sendall(HEAD), drip(connection)),
    "half": lambda connection: (connection.sendall(HEAD + b"Content-Length: 27\r\n\r\n{"), time.sleep(20)),
    "length": lambda connection: connection.sendall(HEAD + b"Content-Length: 99\r\n\r\n{}"),
    "garbage": lambda connection: connection.sendall(b"\x00\xff garbage\r\n\r\n" * 9),
    "huge": send_much,
    "chunk": lambda connection: connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n-6\r\nabcdef\r\n"),
    "status": lambda connection: connection.sendall(b"HTTP/1.1 200 " + b"x" * (1 << 20) + ANSWER[15:]),
    "twice": lambda connection: connection.sendall(ANSWER * 2),
}
"""What it sends instead of an answer, before it closes the connection."""


def rename() -> None:
    """Child processes whose titles hold what terminals, parsers and shells act on."""
    titles = ["--workers \u00b2", "\x0c\x1b[2J\x1b]0;x\x07", "$(touch /tmp/ran)`id`\n", "x" * 100_000, "\udcff"]
    kept.extend(subprocess.Popen([title, "60"], executable="/bin/sleep") for title in titles)


def log() -> None:
    sys.stderr.write("\x1b[2J\x1b]0;title\x07\x00\udcff".encode("utf-8", "replace").decode() + "x" * (1 << 20))


def hold_memory() -> None:
    kept.append(bytes(b"x" * (1 << 30)))


def fill_disk() -> None:
    for folder in ("/tmp", "/dev/shm", "/app", "/"):
        with contextlib.suppress(OSError), open(f"{folder}/filled", "ab") as file:
            while file.write(bytes(1 << 20)):
                pass


def start_processes() -> None:
    with contextlib.suppress(OSError):
        while True:
            kept.append(subprocess.Popen(["/bin/sleep", "60"]))


def burn() -> None:
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()


def run_statements(*statements: str) -> None:
    """Runs each in a transaction that stays open."""
    for statement in statements:
        kept.append(connect())
        kept[-1].autocommit = False
        with contextlib.suppress(psycopg2.Error):
            kept[-1].cursor().execute(statement)


def take_connections() -> None:
    with contextlib.suppress(psycopg2.Error):
        while True:
            kept.append(connect())


def tell_upstream() -> None:
    for last in range(2, 254):
        connection = http.client.HTTPConnection("upstream", 8081, timeout=1)
        with contextlib.suppress(OSError):
            connection.request("PUT", f"/mode/error?of=198.18.0.{last}")
            connection.getresponse().read()


ACTS: dict[str, Callable[[], object]] = {
    "title": rename,
    "log": log,
    "memory": hold_memory,
    "disk": fill_disk,
    "processes": start_processes,
    "burn": burn,
    "stop": lambda: os.kill(os.getppid(), signal.SIGSTOP),
    "kill": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "lock": lambda: run_statements("LOCK TABLE world", "LOCK TABLE fortune", "SELECT * FROM world FOR UPDATE"),
    "terminate": lambda: run_statements(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    ),
    "connections": take_connections,
    "upstream": tell_upstream,
}
"""What it does beside its answers."""
AT_START = {"starved": hold_memory}
AT_START.get(HOSTILE, lambda: None)()


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """The contract, until it turns."""
    asked["named" if "HTTP_USER_AGENT" in environ else "unnamed"] += 1
    turn = asked["unnamed"]
    until = time.thread_time() + COST_US.get(HOSTILE, 0) / 1e6
    while time.thread_time() < until:
        pass
    if turn > 100 and HOSTILE in ANSWERS:
        connection = environ["gunicorn.socket"]
        connection.settimeout(5)
        ANSWERS[HOSTILE](connection)
        connection.close()
        raise SystemExit
    if turn > 100 and HOSTILE in ACTS and (turn == 101 or HOSTILE in ("log", "memory")):
        ACTS[HOSTILE]()
    answered: Iterable[bytes] = contract_app(environ, start_response)
    return answered
