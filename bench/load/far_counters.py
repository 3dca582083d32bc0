"""CPU time of containers on another machine, requested over the run's own network.

On each machine a process of the harness, the reader, serves requests (`serve`). A request is a line of container names,
separated by spaces; the response is a line of JSON with `cpu_ns` by name and `host_ticks`, /proc/stat's first line. On
connection, the reader first sends the identity of its machine: `boot` (the kernel's boot id) and `cpus`. Names are
looked up in a file written by the measuring loop; nothing else on the machine can be read.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, items, mapping, text_of
from bench.run.folder import host_and_port

PORT = 7070
ANSWER_TIMEOUT_S = 10.0
"""The timeout for a response, after which the machine counts as lost."""
PATIENCE_S = 60.0
"""The timeout for first reaching a reader: nodes of an overlay network exchange their full state only every 30 s, and
updates in between may get lost."""
LONGEST_LINE = 65536
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

Answer = Callable[[list[str]], tuple[Mapping[str, int], tuple[int, ...]]]
"""From names of containers to their CPU time in ns, and the ticks of /proc/stat."""


def boot_id(path: Path = BOOT_ID) -> str:
    """The kernel's boot id, which identifies the machine; empty if unknown."""
    return text_of(path)


class FarCounters:
    """The client of one reader. Methods raise UserError if it does not respond, or not as expected."""

    def __init__(self, host: str, port: int = PORT, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self._host = host
        try:
            self._socket = socket.create_connection((host, port), timeout_s)
        except OSError as error:
            raise UserError(f"{host} does not answer: {error}") from error
        # Requests are small packets that must leave at once.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rb")
        response = self._answer()
        self.boot, cpus = str(response.get("boot", "")), response.get("cpus")
        self.cpus = cpus if isinstance(cpus, int) and cpus > 0 else 1

    def read(self, names: list[str]) -> tuple[dict[str, int], tuple[int, ...]]:
        """CPU time in ns of the readable containers, and the machine's ticks."""
        response = self._answer(" ".join(names).encode() + b"\n")
        cpu_ns, ticks = mapping(response.get("cpu_ns")), tuple(items(response.get("host_ticks")))
        if len(ticks) != 8 or not all(type(value) is int for value in (*cpu_ns.values(), *ticks)):
            raise UserError(f"{self._host} did not answer like a reader of counters")
        return {str(name): value for name, value in cpu_ns.items()}, ticks

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()
        self._socket.close()

    def _answer(self, asked: bytes = b"") -> Mapping[str, Any]:
        try:
            self._socket.sendall(asked)
            line = self._lines.readline(LONGEST_LINE)
        except OSError as error:
            raise UserError(f"{self._host} does not answer any more: {error}") from error
        response = as_object(line) if line.endswith(b"\n") else None
        if response is None:
            raise UserError(f"{self._host} gave an incomplete answer")
        return response


def far_reader(address: str) -> FarCounters:
    """The reader at `HOST` or `HOST:PORT`."""
    return FarCounters(*host_and_port(address, PORT))


def await_reader(address: str, patience_s: float = PATIENCE_S, try_s: float = 2.0) -> None:
    """Wait until the reader at this address responds; UserError with the last failure after `patience_s`."""
    host, port = host_and_port(address, PORT)
    end = time.monotonic() + patience_s
    while True:
        try:
            FarCounters(host, port, try_s).close()
            return
        except UserError:
            if time.monotonic() >= end:
                raise
        time.sleep(0.2)


def serve(make: Callable[[], Answer], address: tuple[str, int] = ("", PORT)) -> ThreadingTCPServer:
    """The reader's server, to be run with `serve_forever`; each connection calls `make` for its own `Answer`."""

    class Connection(StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            answer = make()
            self._say({"boot": boot_id(), "cpus": os.cpu_count()})
            while (line := self.rfile.readline(LONGEST_LINE)).endswith(b"\n"):
                cpu_ns, ticks = answer(line.decode(errors="replace").split())
                self._say({"cpu_ns": cpu_ns, "host_ticks": ticks})

        def _say(self, words: Mapping[str, Any]) -> None:
            self.wfile.write(json.dumps(words).encode() + b"\n")

    class Server(ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    return Server(address, Connection)
