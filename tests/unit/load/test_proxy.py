"""Containers of one service behind a proxy; the service's name resolves to either of them."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
from asked import asked
from waiting import HANGS_S

from bench.events.rolling import load as proxy
from bench.events.rolling.load import wait_for_containers
from bench.load.failures import Failed

BOOT_S = 0.3


async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()
    writer.close()


class Late:
    """A server that listens once it has booted."""

    def __init__(self, port: int, boot_s: float) -> None:
        self.port, self.boot_s = port, boot_s
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_until_complete, args=(self._serve(),), daemon=True).start()

    async def _serve(self) -> None:
        await asyncio.sleep(self.boot_s)
        async with await asyncio.start_server(respond, "127.0.0.1", self.port) as server:
            await server.serve_forever()


def test_all_containers_are_waited_for_and_not_the_first_that_answers(
    monkeypatch: pytest.MonkeyPatch, unused_ports: list[int]
) -> None:
    first, second = unused_ports
    monkeypatch.setattr(proxy, "addresses", lambda *_: [f"127.0.0.1:{port}" for port in unused_ports])
    monkeypatch.setattr(proxy, "PATIENCE_S", HANGS_S)
    began = time.monotonic()
    Late(first, 0.0)
    Late(second, BOOT_S)
    wait_for_containers(asked(first, timeout_s=1))
    assert time.monotonic() - began >= BOOT_S


def test_one_that_never_answers_fails(monkeypatch: pytest.MonkeyPatch, unused_ports: list[int]) -> None:
    monkeypatch.setattr(proxy, "addresses", lambda *_: [f"127.0.0.1:{unused_ports[0]}"])
    monkeypatch.setattr(proxy, "PATIENCE_S", 0.2)
    with pytest.raises(Failed, match="no answer from"):
        wait_for_containers(asked(unused_ports[0], timeout_s=1))


@pytest.fixture
def unused_ports() -> list[int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (one, other)]
