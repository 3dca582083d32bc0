"""CPU time of containers on another machine, asked for over the run's own network.

On each machine one process of the harness answers (`serve`). A question is a line of container names, apart by spaces;
the answer is a line of JSON: `cpu_ns` by name, and `host_ticks`, /proc/stat's first line. Before the first question the
reader says which machine it is on: `boot` (the kernel's boot id) and `cpus`. Names are looked up in a file that the
measuring loop has written; nothing else of the machine can be asked for.
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
from bench.core.files import as_object, items, mapping
from bench.run.folder import host_and_port

PORT = 7070
ANSWER_TIMEOUT_S = 10.0
"""After so long without an answer the machine counts as lost."""
PATIENCE_S = 60.0
"""How long a network may take until a reader is reached: the nodes of an overlay tell each other all that they know
every 30 s, and what they say meanwhile may be lost."""
LONGEST_LINE = 65536
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

Answer = Callable[[list[str]], tuple[Mapping[str, int], tuple[int, ...]]]
"""Names of containers in; their CPU time in ns, and the ticks of /proc/stat, out."""


def boot_id(path: Path = BOOT_ID) -> str:
    """What two readers on one machine have in common; empty where the kernel does not say."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class FarCounters:
    """One reader's answers. UserError where it does not answer, or with anything else."""

    def __init__(self, host: str, port: int = PORT, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self._host = host
        try:
            self._socket = socket.create_connection((host, port), timeout_s)
        except OSError as error:
            raise UserError(f"{host} does not answer: {error}") from error
        # A question is one small packet, and is to leave at once.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rb")
        told = self._answer()
        self.boot, cpus = str(told.get("boot", "")), told.get("cpus")
        self.cpus = cpus if isinstance(cpus, int) and cpus > 0 else 1

    def read(self, names: list[str]) -> tuple[dict[str, int], tuple[int, ...]]:
        """CPU time in ns of those that can be read, and the machine's ticks."""
        try:
            self._socket.sendall(" ".join(names).encode() + b"\n")
        except OSError as error:
            raise UserError(f"{self._host} does not answer any more: {error}") from error
        told = self._answer()
        cpu_ns, ticks = mapping(told.get("cpu_ns")), tuple(items(told.get("host_ticks")))
        if len(ticks) != 8 or not all(type(value) is int for value in (*cpu_ns.values(), *ticks)):
            raise UserError(f"{self._host} gives another answer than a reader of counters")
        return {str(name): value for name, value in cpu_ns.items()}, ticks

    def close(self) -> None:
        """End the connection."""
        self._lines.close()
        self._socket.close()

    def _answer(self) -> Mapping[str, Any]:
        try:
            line = self._lines.readline(LONGEST_LINE)
        except OSError as error:
            raise UserError(f"{self._host} does not answer any more: {error}") from error
        told = as_object(line) if line.endswith(b"\n") else None
        if told is None:
            raise UserError(f"{self._host} gives no whole answer")
        return told


def far_reader(address: str) -> FarCounters:
    """The reader at `HOST`, or at `HOST:PORT`."""
    return FarCounters(*host_and_port(address, PORT))


def await_reader(address: str, patience_s: float = PATIENCE_S, try_s: float = 2.0) -> None:
    """Until the reader there answers; UserError with the last failure when it has not after so many seconds."""
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
    """A server for `serve_forever`; each connection has an answer of its own from `make`."""

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
