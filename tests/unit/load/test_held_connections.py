"""Held connections: what the client reports about servers that hold, close, or do not accept them; their window."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from places import ROOT

from bench.load.cpu_counters import CpuCounters, Reading
from bench.load.held import HeldTool
from bench.load.idle import run_held
from bench.load.turns import Runner
from bench.tools import TOOLS
from bench.tools.tool import Load, Request

HOLD = TOOLS["hold"]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def server(*, most: int = 10_000, close_after_s: float | None = None, backlog: int = 200) -> Iterator[int]:
    """The port of a server that accepts `most` connections, answers on each, and may close idle ones."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=backlog)
    over = threading.Event()

    def serve(one: socket.socket) -> None:
        one.settimeout(close_after_s)
        with one, suppress(OSError):
            while one.recv(4096):
                one.settimeout(None)
                one.sendall(ANSWER)

    def accept() -> None:
        with suppress(OSError):
            for _ in range(most):
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
            over.wait()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        over.set()
        listening.close()


def command(port: int, connections: int = 20, seconds: float = 1.0) -> tuple[str, ...]:
    load = Load(
        url=f"http://127.0.0.1:{port}/x",
        request=Request(),
        connections=connections,
        rate=20,
        duration_s=seconds,
        timeout_s=5,
    )
    return (sys.executable, *HOLD.command(load).argv[1:])


def held(port: int, seconds: float = 1.0) -> bytes:
    return subprocess.run(command(port, seconds=seconds), stdout=subprocess.PIPE, cwd=ROOT, check=True).stdout


def test_connections_that_are_held_and_requests_beside_them() -> None:
    with server() as port:
        output = held(port)
    parsed = HOLD.parse(output)
    assert parsed.report == "complete" and parsed.extra is not None
    assert (parsed.extra["opened"], parsed.extra["held"], parsed.extra["closed"]) == (20, 20, 0)
    # Twenty requests/s; those in flight at the end may not be counted.
    assert parsed.ok == parsed.requests and 10 <= (parsed.ok or 0) <= 20 * (parsed.duration_s or 0) + 1
    assert list(HOLD.other_load(output, 20, None)) == []


def test_a_server_that_closes_them_is_said_to() -> None:
    with server(close_after_s=0.6) as port:
        output = held(port, seconds=3.0)
    (words,) = HOLD.other_load(output, 20, None)
    assert words.startswith("it closed 20 of 20 connections after ")
    # Measured from when they were opened, not from when the requests began.
    opened, ended = map(json.loads, output.splitlines())
    assert ended["closed_s"][0] > 0.59 - opened["seconds"]


def test_a_server_that_accepts_no_more_does_not_answer_beside_them() -> None:
    with server(most=20) as port:
        output = held(port)
    parsed = HOLD.parse(output)
    assert list(HOLD.other_load(output, 20, None)) == [
        "with 20 connections open, it did not answer on another one within 3 s"
    ]
    # Not counted as errors: the reason why it does not answer says more.
    assert parsed.report == "complete" and parsed.ok == 0 and parsed.attempts is None


def test_sigint_ends_it_with_its_report_whenever_it_comes() -> None:
    with server() as port, subprocess.Popen(command(port, seconds=60), stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout
        output = process.stdout.readline()
        # The first comes when it has just begun to watch its connections, the second while it is ending.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        output += process.stdout.read()
    assert process.returncode == 0 and HOLD.parse(output).report == "complete"


def test_a_server_that_is_not_there_opens_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    output = held(port)
    assert next(HOLD.other_load(output, 20, None)) == "only 0 of 20 connections could be opened: connection refused"


@pytest.mark.parametrize("output", [b"", b"{}\n{}\n", b"no json", b'{"opened": 3}\n', b"[]\n[]", b"1\n2\n3"])
def test_output_that_is_none(output: bytes) -> None:
    assert HOLD.parse(output).report == "absent"
    assert list(HOLD.other_load(output, 20, None)) == []


class Counters(CpuCounters):
    """Each reading shows 5 ms more CPU time for a service; memory grows with open connections."""

    def __init__(self, unread: str = "") -> None:
        self.readings, self.unread = 0, unread

    def read(self, *names: str) -> Reading:
        self.readings += 1
        return Reading({**dict.fromkeys(names, 5_000_000 * self.readings), "loadgen": 1}, (self.readings,) * 8)

    def memory_bytes(self, name: str) -> int | None:
        return None if name == self.unread else 1_000_000 + 2048 * self.readings


def test_a_window_has_what_each_used_while_its_connections_were_held(tmp_path: Path) -> None:
    with server() as port, server(most=20) as full:
        tools = {
            name: HeldTool(command(where, seconds=60), tmp_path / name) for name, where in (("a", port), ("b", full))
        }
        runners = [Runner(name, tool, ("127.0.0.1", 9), seconds=0.5) for name, tool in tools.items()]
        with tools["a"], tools["b"]:
            taken = run_held(runners, {name: tmp_path / name for name in tools}, Counters("b"))
    assert taken["a"].cpu_ns.keys() == {"a"} and taken["a"].cpu_ns["a"] > 0
    # It did not wait for the other one, which was declared silent after three seconds.
    assert min(taken["a"].load_ns, taken["b"].load_ns) >= 4.9e8
    assert taken["a"].each_ns[0][1] < taken["b"].each_ns[0][0]
    assert taken["a"].host_ticks == [0] * 8, "the others' CPU time would pass for that of other programs"
    idle, with_connections = taken["a"].memory_bytes or (0, 0)
    assert with_connections > idle and taken["b"].memory_bytes is None
    # It was interrupted long before its time was up, not killed, and wrote its report.
    assert [(tool.told, tool.status) for tool in tools.values()] == [(True, 0)] * 2
    assert HOLD.parse((tmp_path / "a").read_bytes()).report == "complete"
