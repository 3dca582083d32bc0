"""The client of events against a scripted server on a real socket: it reports what the server did to each request."""

from __future__ import annotations

import asyncio
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from asked import HEAD, asked
from waiting import HANGS_S, until
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websockets
from websockets.frames import Close

from bench.events.idle_close.load import Keeper
from bench.events.overload.load import attempts, load_by_vegeta
from bench.load import client as client_module
from bench.load.client import Client, Connection, Other, Request, _Answer, told_end
from bench.load.event import UPGRADE, due_times, rates_of, rows
from bench.plan.event import Phase
from bench.plan.events import EVENTS
from bench.records.event import KEPT, Fate
from bench.tools.tool import Load

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Worker: 7\r\n\r\nhello"
SERVED = 40
"""Requests that a server answers before it dies."""
Scripted = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]
"""What the server does with a request, numbered from 0; returns whether the connection stays open."""


async def comes(true: Callable[[], object]) -> None:
    """Wait for this."""
    async with asyncio.timeout(HANGS_S):
        while not true():
            await asyncio.sleep(0.005)


def answers(data: bytes, *, stays: bool = True) -> Scripted:
    async def do(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        return stays

    return do


def resets(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def loaded(script: Scripted, count: int = 20, **more: object) -> Client:
    """The client after `count` requests, a millisecond apart."""
    number = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal number
        while (await reader.read(4096)) and not writer.is_closing():
            number += 1
            if not await script(number - 1, reader, writer):
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = Client(asked(server, **{"expected": b"hello", "pool": 4, "long_head": HEAD} | more))
    loop = asyncio.get_running_loop()
    await client.load([number / 1000 for number in range(count)], round(loop.time() * 1e9), lambda: False)
    client.close()
    server.close()
    return client


def fates(client: Client) -> dict[str, int]:
    assert all(one.fate and one.end_ns and one.due_ns <= one.begun_ns <= one.end_ns for one in client.log)
    return dict(Counter(one.fate.value for one in client.log if one.fate))


def run(script: Scripted, count: int = 20, **more: object) -> Client:
    return asyncio.run(loaded(script, count, **more))


def some(share: Scripted, every: int) -> Scripted:
    """A script that does `share` with every N-th request, and answers the others."""

    async def do(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        return await (share if number % every == 0 else answers(HELLO))(number, reader, writer)

    return do


async def _reset(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    resets(writer)
    return False


async def _silent(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    await reader.read()
    return False


SILENT_S = 0.2
"""The timeout of a client that gets no response; others must not depend on how fast the machine is."""
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CUT, WRONG = {"answered": 18, "cut_short": 2}, {"answered": 18, "wrong": 2}
CASES = {
    "all are answered": (answers(HELLO), {"answered": 20}),
    "in chunks": (answers(CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), {"answered": 20}),
    "ended by the end": (answers(OK + b"\r\nhello", stays=False), {"answered": 20}),
    "every fifth is reset": (some(_reset, 5), {"answered": 16, "reset": 4}),
    "closed without a word": (some(answers(b"", stays=False), 4), {"answered": 15, "reset": 5}),
    "cut in the head": (some(answers(b"HTTP/1.1 200 O", stays=False), 4), {"answered": 15, "cut_short": 5}),
    "cut in the body": (some(answers(OK + b"Content-Length: 9\r\n\r\nhel", stays=False), 10), CUT),
    "a chunk without its end": (some(answers(CHUNKED + b"5\r\nhello\r\n", stays=False), 10), CUT),
    **{
        f"a chunk of {size.decode()!r}": (some(answers(CHUNKED + size + b"\r\nhello\r\n0\r\n\r\n"), 10), WRONG)
        for size in (b"-6", b"+5", b"0x5", b"5_0", b" 5", b"", b"3", b"fffffffffffffffff")
    },
    "a trailer": (answers(CHUNKED + b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"), {"answered": 20}),
    "10 GB": (some(answers(OK + b"Content-Length: 10737418240\r\n\r\nhello"), 10), WRONG),
    "503": (some(answers(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), 2), {"answered": 10, "status_503": 10}),
    "500": (some(answers(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), 2), {"answered": 10, "other_status": 10}),
    "another body": (some(answers(HELLO.replace(b"hello", b"hullo")), 10), WRONG),
    "no HTTP": (some(answers(b"hello hello\r\n\r\n", stays=False), 10), {"answered": 18, "other_status": 2}),
    "silent": (_silent, {"timed_out": 20}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pool", [0, 4])
def test_each_request_has_the_fate_that_the_server_gave_it(case: str, pool: int) -> None:
    script, known = CASES[case]
    assert fates(run(script, pool=pool, timeout_s=SILENT_S if case == "silent" else HANGS_S)) == known


@contextmanager
def refusing() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_second_request_on_a_kept_connection_needs_the_expected_body_too() -> None:
    async def load(body: bytes) -> Fate | None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for answer in (HELLO, HELLO.replace(b"hello", body)):
                await reader.read(4096)
                writer.write(answer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = Keeper(asked(server, expected=b"hello", pool=1))
        connection, _ = await client.opened(time.monotonic_ns())
        assert connection
        request = Request(time.monotonic_ns(), KEPT)
        await client.again(connection, request)
        server.close()
        return request.fate

    assert [asyncio.run(load(body)) for body in (b"hello", b"hullo")] == [Fate.ANSWERED, Fate.WRONG]


def test_connecting_takes_its_part_of_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    read, took = time.monotonic_ns, [0]
    monkeypatch.setattr(client_module, "time", SimpleNamespace(monotonic_ns=lambda: read() + took[0]))

    async def load() -> float:
        loop, connect = asyncio.get_running_loop(), asyncio.get_running_loop().create_connection

        async def slowly(*given: Any) -> Any:
            took[0] = round((HANGS_S - SILENT_S) * 1e9)
            return await connect(*given)

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        loop.create_connection = slowly  # type: ignore[assignment]
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        client = Client(asked(server))
        await client.load([0.0], read(), lambda: False)
        (only,) = client.log
        assert only.fate is Fate.TIMED_OUT
        server.close()
        return (only.end_ns - only.begun_ns) / 1e9

    # Counted from the connection on, it would be nearly twice as long.
    assert HANGS_S - SILENT_S < asyncio.run(load()) < 1.5 * HANGS_S


def test_where_nobody_listens_all_are_refused() -> None:
    async def load(port: int) -> Client:
        client = Client(asked(port, pool=2))
        await client.load([0.0, 0.001, 0.002], round(asyncio.get_running_loop().time() * 1e9), lambda: False)
        return client

    with refusing() as port:
        assert fates(asyncio.run(load(port))) == {"refused": 3}


def test_a_connection_that_closes_between_the_look_and_the_request_has_lost_it() -> None:
    accepted = list[asyncio.StreamWriter]()

    class ClosedAfterTheLook(Client):
        def _choose(self) -> Connection | None:
            if connection := super()._choose():
                accepted[0].get_extra_info("socket").shutdown(socket.SHUT_WR)
            return connection

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        await reader.read(4096)
        writer.write(HELLO)

    async def load() -> dict[str, int]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = ClosedAfterTheLook(asked(server, pool=2, look_s=0.1))
        for _ in range(2):
            await client.load([0.1], time.monotonic_ns(), lambda: False)
        client.close()
        server.close()
        return fates(client)

    assert asyncio.run(load()) == {"answered": 1, "reset": 1} and len(accepted) == 1


def test_one_of_so_many_requests_comes_on_a_new_connection() -> None:
    client = run(answers(HELLO), 20, new_every=5, pool=1)
    assert all(client.log[number].nth == 1 for number in range(0, 20, 5))
    assert any(one.nth > 1 for one in client.log)
    assert client.answered_by_others({8}) and not client.answered_by_others({7, 8})


def test_kept_connections_are_used_again_and_the_log_says_who_answered_where() -> None:
    client = run(answers(HELLO), 30)
    assert max(one.connection for one in client.log) < 30 and max(one.nth for one in client.log) > 1
    assert {one.worker for one in client.log} == {7}
    alone = run(answers(HELLO.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")), 10)
    assert [one.nth for one in alone.log] == [1] * 10 and all(one.told_close for one in alone.log)
    head, first, *_ = rows(client.log, client.log[0].due_ns)
    assert dict(zip(head, first, strict=True))["fate"] == "answered"


def test_slow_connections_are_held_counted_and_say_when_they_were_cut() -> None:
    accepted = list[asyncio.StreamWriter]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        await reader.read(1)
        writer.close()

    async def load(kind: str) -> Client:
        accepted.clear()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = Client(asked(server))
        ended = asyncio.Event()
        await client.slow(kind, 2, ended)
        await client.slow(kind, 3, ended)
        await comes(lambda: len(accepted) == 3 and (kind == "silent" or all(one.closed_ns for one in client.others)))
        ended.set()
        await comes(lambda: not client._tasks)
        server.close()
        return client

    silent = asyncio.run(load("silent"))
    assert [(one.k, one.how, one.closed_ns) for one in silent.others] == [(k, "held", 0) for k in (2, 2, 3)]
    slow = asyncio.run(load("header"))
    assert all(one.how in ("eof", "reset") and one.closed_ns > one.opened_ns for one in slow.others)


@pytest.mark.parametrize("code", [1001, 1012])
def test_a_websocket_is_kept_open_and_the_code_of_its_end_noted_and_answered(code: int) -> None:
    async def load() -> tuple[Other, Close | None]:
        ends = list[ServerConnection]()

        async def serve(connection: ServerConnection) -> None:
            ends.append(connection)
            # Without an answer to a ping, it would be closed before, and with another code.
            await asyncio.sleep(0.6)
            await connection.close(code, "bye")

        async with serve_websockets(serve, "127.0.0.1", 0, ping_interval=0.05, ping_timeout=0.2) as server:
            (sock,) = server.sockets
            port = sock.getsockname()[1]
            head = b"GET / HTTP/1.1\r\nHost: a" + UPGRADE + b"\r\n"
            client, ended = Client(replace(asked(port), slow_head=head)), asyncio.Event()
            await client.slow("websocket", 1, ended)
            (other,) = client.others
            await comes(lambda: other.closed_ns)
            ended.set()
            await comes(lambda: not client._tasks)
            return other, ends[0].protocol.close_rcvd

    other, answered = asyncio.run(load())
    assert (other.status, other.told, other.how) == (101, str(code), "eof")
    assert answered and answered.code == code


@pytest.mark.parametrize(("end", "told"), [(b"0\r\n\r\n", "complete"), (b"", "")])
def test_a_stream_is_complete_if_it_says_so(end: bytes, told: str) -> None:
    async def load() -> Other:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n" + end)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client, ended = Client(asked(server)), asyncio.Event()
        await client.slow("stream", 1, ended)
        (other,) = client.others
        await comes(lambda: other.closed_ns)
        ended.set()
        await comes(lambda: not client._tasks)
        server.close()
        return other

    other = asyncio.run(load())
    assert (other.status, other.told, other.how) == (200, told, "eof")


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (b"\x88\x02\x03\xe9", "1001"),
        (b"\x81\x02ab\x88\x05\x03\xf4bye", "1012"),
        (b"\x81\x04\x88\x02\x03", ""),
        (b"\x88\x02\x03", ""),
        (b"HTTP/1.1 101 Switching\r\n\r\n", ""),
        (b"", ""),
    ],
)
def test_only_a_whole_last_frame_closes_a_websocket(end: bytes, told: str) -> None:
    assert told_end("websocket", end) == told and told_end("idle", end) == ""


def test_a_slow_body_and_a_slow_reader_hold_up_the_server_as_they_say() -> None:
    head = b"POST /echo HTTP/1.1\r\nContent-Length: 40\r\n\r\n"
    arrived, left, reads = list[bytes](), list[int](), list[int]()

    async def takes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.append(await reader.readuntil(b"\r\n\r\n"))
        arrived.append(await reader.read(99))
        writer.write(b"HTTP/1.1 408 Late\r\n\r\n")
        writer.close()

    async def sends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(10 << 20))
        await comes(lambda: reads)
        left.append(writer.transport.get_write_buffer_size())
        resets(writer)

    async def load(kind: str, serve: Callable[..., Awaitable[None]]) -> Other:
        loop, receive = asyncio.get_running_loop(), asyncio.get_running_loop().sock_recv

        async def counted(own: socket.socket, most: int) -> bytes:
            data = await receive(own, most)
            reads.append(len(data))
            return data

        loop.sock_recv = counted  # type: ignore[method-assign]
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client, ended = Client(replace(asked(server), slow_head=head + b"a" * 40)), asyncio.Event()
        await client.slow(kind, 1, ended)
        (other,) = client.others
        await comes(lambda: other.closed_ns)
        ended.set()
        await comes(lambda: not client._tasks)
        server.close()
        return other

    body = asyncio.run(load("body", takes))
    assert arrived[0] == head and arrived[1] == b"a"
    assert (body.how, body.status) == ("eof", 408)
    reads.clear()
    read = asyncio.run(load("read", sends))
    assert (read.how, read.status) == ("reset", 200) and left[0] > 1 << 20
    # The reset is noticed a second later, before the rest of the response, which it has not read yet.
    assert len(reads) == 1 and read.closed_ns - read.opened_ns > 0.9e9


def test_a_schedule_is_open_and_its_rate_a_share_of_the_capacity() -> None:
    (easy, *_) = EVENTS["reload"].cases
    assert [rate for rate, _ in rates_of(easy, 80.0)] == [24.0]
    assert [rate for rate, _ in rates_of(easy, 9000.0)] == [100.0]
    overload = EVENTS["overload"].cases[0]
    assert [rate for rate, _ in rates_of(overload, 190.0)] == [95.0, 285.0, 570.0, 95.0]
    assert [*due_times([(2.0, 1.0), (4.0, 0.5)])] == [0.0, 0.5, 1.0, 1.25]


def test_it_is_calm_once_everything_of_two_seconds_is_answered() -> None:
    client = run(answers(HELLO), 5)
    assert client.is_calm()
    client.log[-1].fate = Fate.RESET
    assert not client.is_calm()


@pytest.mark.skipif(shutil.which("vegeta") is None, reason="vegeta is not installed here")
def test_vegeta_counts_the_same_of_a_server_that_dies() -> None:
    """vegeta makes loads that are too fast for Python; for others, both must report the same."""
    serve = f"""
import os
from http.server import *

class Dying(BaseHTTPRequestHandler):
    served = 0

    def do_GET(self):
        self.send_response(204)
        self.end_headers()
        Dying.served += 1
        if Dying.served == {SERVED}:
            os._exit(0)

HTTPServer(("127.0.0.1", {{port}}), Dying).serve_forever()
"""
    found = []
    for by_vegeta in (False, True):
        with refusing() as port:
            pass
        server = subprocess.Popen([sys.executable, "-c", serve.format(port=port)], stderr=subprocess.DEVNULL)
        until(lambda port=port: is_listening(port))
        event = replace(EVENTS["overload"].cases[0], phases=(Phase(1.0, 2.0),), timeout_s=HANGS_S)
        rates, t0_ns = [(50.0, 2.0)], time.monotonic_ns() + 10**8
        if by_vegeta:
            load = Load(at=f"127.0.0.1:{port}", timeout_s=HANGS_S, keepalive=False)
            log = load_by_vegeta(load, event, rates, t0_ns)
        else:
            client = Client(asked(port))
            asyncio.run(client.load([*due_times(rates)], t0_ns, lambda: False))
            log = client.log
        server.wait()
        found.append(Counter(one.fate for one in log))
    ours, theirs = found
    # Without enough CPU, vegeta ends in time but sends fewer requests.
    assert ours.total() == 100 and SERVED < theirs.total() <= 100
    for fates_of in found:
        assert fates_of[Fate.ANSWERED] == SERVED and fates_of[Fate.REFUSED] > 0
        assert fates_of[Fate.REFUSED] + fates_of[Fate.RESET] == fates_of.total() - SERVED


def is_listening(port: int) -> bool:
    with socket.socket() as free:
        return bool(free.connect_ex(("127.0.0.1", port)) == 0)


@pytest.mark.parametrize(("redirects", "fate"), [((), "other_status"), ((302,), "answered"), ((303,), "other_status")])
def test_a_redirect_is_an_answer_only_where_it_is_expected(redirects: tuple[int, ...], fate: str) -> None:
    moved = answers(b"HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nhello")
    assert fates(run(moved, redirects=redirects)) == {fate: 20}


def test_what_vegeta_says_of_an_attempt_is_one_of_the_fates() -> None:
    texts = {
        "": (200, "answered"),
        "503 Service Unavailable": (503, "status_503"),
        'Get "http://a/": dial tcp 1.2.3.4:80: connect: connection refused': (0, "refused"),
        'Get "http://a/": EOF': (0, "reset"),
        'Get "http://a/": read tcp 1.2.3.4:1->1.2.3.4:2: read: connection reset by peer': (0, "reset"),
        'Get "http://a/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)': (0, "timed_out"),
        "unexpected EOF": (0, "cut_short"),
    }
    lines = [
        f'{10**18 + n * 10**7},{code},5000000,0,0,"{text.replace(chr(34), chr(34) * 2)}",,,{n}'
        for n, (text, (code, _)) in enumerate(texts.items())
    ]
    found = [*attempts(lines, 0, 100.0)]
    assert [one.fate.value for one in found if one.fate] == [fate for _, fate in texts.values()]
    assert all(one.end_ns - one.sent_ns == 5_000_000 for one in found)
    moved = [f"{10**18},302,5000000,0,0,,,,0"]
    fates = [one.fate for redirects in ((), (302,), (303,)) for one in attempts(moved, 0, 100.0, redirects)]
    assert fates == [Fate.OTHER_STATUS, Fate.ANSWERED, Fate.OTHER_STATUS]


def test_trailers_have_an_end_and_a_worker_is_a_pid() -> None:
    answer, head = _Answer(), b"HTTP/1.1 200 OK\r\nX-Worker: 1234567890\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    assert answer.feed(head) is None and answer.worker == 0
    with pytest.raises(ValueError, match="trailers"):
        for _ in range(1000):
            answer.feed(b"X: " + b"y" * 95 + b"\r\n")


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_without_an_end_is_wrong_and_small_chunks_take_time_only_once(
    chunked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 1 << 20
    monkeypatch.setattr(client_module, "MOST_BODY", most)
    head = CHUNKED if chunked else OK + b"\r\n"
    answer, part = _Answer(), b"1\r\nx\r\n" * 1000
    assert answer.feed(head) is None
    for _ in range(100):
        assert answer.feed(part) is None
    assert not chunked or answer.body == b"x" * 100_000
    with pytest.raises(ValueError, match="too long"):
        for _ in range(most // len(part) + 1):
            answer.feed(part)
    assert len(answer.data) < 2 * most
