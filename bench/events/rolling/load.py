"""A proxy in front of two containers of a service during a load: nginx or HAProxy, as packaged by Debian.

It runs in the client's container. On request by the driver, it takes a container out of rotation and puts it back
(driver/messages.py).
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.core.files import write_file
from bench.load.client import Asked
from bench.load.event import EventLoad, RunLoad
from bench.load.failures import NO_ANSWER, TOOL_FAILED, Failed
from bench.plan.event import Event
from bench.tools.sockets import PROXY
from driver.messages import PROXY_ASKED, PROXY_TOLD

TEMPLATES = Path(__file__).parent / "proxies"
HERE = "127.0.0.1"
CONTAINERS = 2
PATIENCE_S, TRY_S, POLL_S = 20.0, 1.0, 0.02


class Proxy(ABC):
    """A proxy; it listens on `port` and logs each request to `log`."""

    argv: Sequence[str] = ()
    """The command that runs it in the foreground, with the names of its files."""
    template = ""
    line, line_out = "", ""
    """The lines in its configuration for a container that gets requests, and for one that does not."""

    def __init__(self, folder: Path, servers: Sequence[str]) -> None:
        self.folder, self.servers, self.out = folder, servers, set[str]()
        self.file, self.log = folder / self.template, folder / "log"
        with closing(socket.socket()) as free:
            free.bind((HERE, 0))
            self.port: int = free.getsockname()[1]
        self.configure()

    def configure(self) -> None:
        """Write the configuration."""
        lines = [
            (self.line_out if one in self.out else self.line).format(number=number, server=one)
            for number, one in enumerate(self.servers, 1)
        ]
        values = {"folder": self.folder, "log": self.log, "port": self.port, "servers": "\n    ".join(lines)}
        text = (TEMPLATES / self.template).read_text()
        for name, value in values.items():
            text = text.replace(f"{{{{{name}}}}}", str(value))
        self.file.write_text(text)

    def start(self) -> None:
        """Start the proxy."""
        argv = [word.format(file=self.file, folder=self.folder, log=self.log) for word in self.argv]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        """End the proxy."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()

    @abstractmethod
    def give(self, server: str, *, requests: bool) -> None:
        """Put this container into rotation, or take it out."""


class Nginx(Proxy):
    """Takes a container out of rotation by a reload with its server marked `down`."""

    argv = ("nginx", "-e", "{log}", "-p", "{folder}", "-c", "{file}")
    template, line, line_out = "nginx.conf", "server {server};", "server {server} down;"

    def give(self, server: str, *, requests: bool) -> None:
        """Reload with a new configuration; old workers finish their requests."""
        (self.out.discard if requests else self.out.add)(server)
        self.configure()
        self.process.send_signal(signal.SIGHUP)


class Haproxy(Proxy):
    """Takes a container out of rotation through its admin socket, with the state `drain`."""

    argv = ("haproxy", "-db", "-f", "{file}")
    template, line = "haproxy.cfg", "server s{number} {server} check"

    def give(self, server: str, *, requests: bool) -> None:
        """Set the server's state at once; requests already sent to it are still answered."""
        name = f"set server service/s{self.servers.index(server) + 1}"
        # The container has already answered, so do not wait for health checks: the other one may be taken out next.
        words = f"{name} state ready; {name} health up" if requests else f"{name} state drain"
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(TRY_S)
            admin.connect(str(self.folder / "admin.sock"))
            admin.sendall(f"{words}\n".encode())
            if said := admin.recv(1024).strip():
                raise Failed(TOOL_FAILED, f"HAProxy does not set a server's state: {said.decode()}")


PROXIES: Mapping[str, type[Proxy]] = MappingProxyType({"nginx": Nginx, "haproxy": Haproxy})


@contextmanager
def _proxied(event: Event, asked: Asked, name: str, folder: Path) -> Iterator[tuple[Asked, RunLoad]]:
    """Send requests to the event's proxy, which runs in this context and meanwhile does what the driver asks for."""
    servers = addresses(name, asked.port)
    if len(servers) != CONTAINERS:
        raise Failed(TOOL_FAILED, f"the service has {len(servers)} addresses instead of {CONTAINERS}")
    with before(event.proxy, servers, asked.head) as proxy:
        try:
            yield (
                replace(asked, host=HERE, port=proxy.port),
                lambda load: asyncio.run(_obeying(proxy, asked.head, folder, load)),
            )
        finally:
            write_file(folder / PROXY, proxy.log.read_bytes())


def wait_for_containers(asked: Asked) -> None:
    """Wait until all containers behind the proxy answer: the service's name may resolve to any of them."""
    for server in addresses(asked.host, asked.port):
        if not asyncio.run(answers(server, asked.head)):
            raise Failed(NO_ANSWER, f"no answer from {server} within {PATIENCE_S:g} s")


def addresses(host: str, port: int) -> list[str]:
    """HOST:PORT of each container that has this name."""
    found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    return sorted({"{}:{}".format(*address[:2]) for *_, address in found})


@contextmanager
def before(name: str, servers: Sequence[str], head: bytes) -> Iterator[Proxy]:
    """Run the proxy in front of these servers; yields it once all of them, and the proxy, answer."""
    with tempfile.TemporaryDirectory(prefix="proxy") as where:
        proxy = PROXIES[name](Path(where), servers)
        proxy.start()
        try:
            for server in (*servers, f"{HERE}:{proxy.port}"):
                if not asyncio.run(answers(server, head)):
                    said = proxy.log.read_text(errors="replace").strip().rpartition("\n")[2]
                    raise Failed(NO_ANSWER, f"no answer from {server} within {PATIENCE_S:g} s; {name} says: {said}")
            yield proxy
        finally:
            proxy.stop()


async def answers(server: str, head: bytes) -> bool:
    """Wait until the server answers well; False after `PATIENCE_S`."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(TRY_S):
                if b" 200 " in await _first_line(server, head):
                    return True
        await asyncio.sleep(POLL_S)
    return False


async def _first_line(server: str, head: bytes) -> bytes:
    host, _, port = server.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(head)
        return await reader.readline()
    finally:
        writer.transport.abort()


async def _obeying(proxy: Proxy, head: bytes, folder: Path, load: Coroutine[Any, Any, None]) -> None:
    """Run the load, and meanwhile carry out the driver's requests to the proxy."""
    task = asyncio.ensure_future(_obey(proxy, head, folder))
    try:
        await load
    finally:
        task.cancel()


async def _obey(proxy: Proxy, head: bytes, folder: Path) -> None:
    done = ""
    while True:
        with suppress(OSError):
            asked = (folder / PROXY_ASKED).read_text()
            if asked != done:
                _, verb, server = asked.split()
                if verb != "answers":
                    proxy.give(server, requests=verb == "back")
                elif not await answers(server, head):
                    continue
                done = asked
                (folder / PROXY_TOLD).write_text(asked)
        await asyncio.sleep(POLL_S)


LOAD = EventLoad(wait=wait_for_containers, before=_proxied)
