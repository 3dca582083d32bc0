"""The client of events against a scripted server on a real socket: it reports what the server did to each request."""

from __future__ import annotations

import asyncio
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.load.client import MOST_BODY, Asked, Client, Request, _Answer
from bench.load.event import attempts, due_times, load_by_vegeta, rates_of, rows
from bench.load.idle_close import Keeper
from bench.plan.event import Phase
from bench.plan.events import EVENTS
from bench.records.event import KEPT, Fate
from bench.tools.tool import Load
from bench.tools.tool import Request as ToolRequest

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Worker: 7\r\n\r\nhello"
HEAD = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
Scripted = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]
"""What the server does with a request, numbered from 0; returns whether the connection stays open."""


def answers(data: bytes, *, stays: bool = True) -> Scripted:
    async def do(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        return stays

    return do


def resets(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def loaded(script: Scripted, count: int = 20, **asked: object) -> Client:
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
    port = server.sockets[0].getsockname()[1]
    usual = {"expected": b"hello", "timeout_s": 0.5, "pool": 4, "look_s": 0.0, "long_head": HEAD}
    client = Client(Asked(host="127.0.0.1", port=port, head=HEAD, **(usual | asked)))  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    await client.load([number / 1000 for number in range(count)], round(loop.time() * 1e9), lambda: False)
    client.close()
    server.close()
    return client


def fates(client: Client) -> dict[str, int]:
    assert all(one.fate and one.end_ns and one.due_ns <= one.begun_ns <= one.end_ns for one in client.log)
    return dict(Counter(one.fate.value for one in client.log if one.fate))


def run(script: Scripted, count: int = 20, **asked: object) -> Client:
    return asyncio.run(loaded(script, count, **asked))


def some(share: Scripted, every: int) -> Scripted:
    """A script that does `share` with every N-th request, and answers the others."""

    async def do(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        return await (share if number % every == 0 else answers(HELLO))(number, reader, writer)

    return do


async def _reset(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    resets(writer)
    return False


async def _silent(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    await asyncio.sleep(1.0)
    return False


CASES = {
    "all are answered": (answers(HELLO), {"answered": 20}),
    "in chunks": (
        answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        {"answered": 20},
    ),
    "ended by the end": (answers(b"HTTP/1.1 200 OK\r\n\r\nhello", stays=False), {"answered": 20}),
    "every fifth is reset": (some(_reset, 5), {"answered": 16, "reset": 4}),
    "closed without a word": (some(answers(b"", stays=False), 4), {"answered": 15, "reset": 5}),
    "cut in the head": (some(answers(b"HTTP/1.1 200 O", stays=False), 4), {"answered": 15, "cut_short": 5}),
    "cut in the body": (
        some(answers(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel", stays=False), 10),
        {"answered": 18, "cut_short": 2},
    ),
    "a chunk without its end": (
        some(answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", stays=False), 10),
        {"answered": 18, "cut_short": 2},
    ),
    **{
        f"a chunk of {size.decode()!r}": (
            some(
                answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello\r\n0\r\n\r\n"), 10
            ),
            {"answered": 18, "wrong": 2},
        )
        for size in (b"-6", b"+5", b"0x5", b"5_0", b" 5", b"", b"3", b"fffffffffffffffff")
    },
    "a trailer": (
        answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"),
        {"answered": 20},
    ),
    "10 GB": (
        some(answers(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\nhello"), 10),
        {"answered": 18, "wrong": 2},
    ),
    "503": (some(answers(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), 2), {"answered": 10, "status_503": 10}),
    "500": (some(answers(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), 2), {"answered": 10, "other_status": 10}),
    "another body": (some(answers(HELLO.replace(b"hello", b"hullo")), 10), {"answered": 18, "wrong": 2}),
    "no HTTP": (some(answers(b"hello hello\r\n\r\n", stays=False), 10), {"answered": 18, "other_status": 2}),
    "silent": (some(_silent, 10), {"answered": 18, "timed_out": 2}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pool", [0, 4])
def test_each_request_has_the_fate_that_the_server_gave_it(case: str, pool: int) -> None:
    script, known = CASES[case]
    assert fates(run(script, pool=pool)) == known


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
        port = server.sockets[0].getsockname()[1]
        client = Keeper(Asked(host="127.0.0.1", port=port, head=HEAD, expected=b"hello", timeout_s=1, pool=1, look_s=0))
        connection, _ = await client.opened(time.monotonic_ns())
        assert connection
        request = Request(time.monotonic_ns(), KEPT)
        await client.again(connection, request)
        server.close()
        return request.fate

    assert [asyncio.run(load(body)) for body in (b"hello", b"hullo")] == [Fate.ANSWERED, Fate.WRONG]


def test_connecting_takes_its_part_of_the_timeout() -> None:
    async def load() -> float:
        loop, connect = asyncio.get_running_loop(), asyncio.get_running_loop().create_connection

        async def slowly(*given: Any) -> Any:
            await asyncio.sleep(0.8)
            return await connect(*given)

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        loop.create_connection = slowly  # type: ignore[assignment]
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(Asked(host="127.0.0.1", port=port, head=HEAD, expected=None, timeout_s=1, pool=0, look_s=0))
        await client.load([0.0], round(loop.time() * 1e9), lambda: False)
        (only,) = client.log
        assert only.fate is Fate.TIMED_OUT
        server.close()
        return (only.end_ns - only.begun_ns) / 1e9

    # With a timeout of 1 s; counted from the connection on, it would be 1.8 s.
    assert asyncio.run(load()) < 1.6


def test_where_nobody_listens_all_are_refused() -> None:
    async def load(port: int) -> Client:
        client = Client(Asked(host="127.0.0.1", port=port, head=HEAD, expected=None, timeout_s=1, pool=2, look_s=0))
        await client.load([0.0, 0.001, 0.002], round(asyncio.get_running_loop().time() * 1e9), lambda: False)
        return client

    with refusing() as port:
        assert fates(asyncio.run(load(port))) == {"refused": 3}


def test_a_connection_that_closes_between_the_look_and_the_request_has_lost_it() -> None:
    async def closes_soon(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(HELLO)
        await asyncio.sleep(0.03)
        return False

    async def load() -> dict[str, int]:
        # The second request checks the connection 20 ms after the first response, and is sent 40 ms after that.
        client = await loaded_at([0.0, 0.06], closes_soon, look_s=0.04)
        return fates(client)

    async def loaded_at(due: list[float], script: Scripted, **asked: object) -> Client:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(4096)
            await script(0, reader, writer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(Asked(host="127.0.0.1", port=port, head=HEAD, expected=None, timeout_s=1, pool=2, look_s=0.04))
        await client.load(due, round((asyncio.get_running_loop().time() + 0.05) * 1e9), lambda: False)
        client.close()
        server.close()
        return client

    assert asyncio.run(load()) == {"answered": 1, "reset": 1}


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
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async def load(kind: str) -> Client:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(Asked(host="127.0.0.1", port=port, head=HEAD, expected=None, timeout_s=1, pool=2, look_s=0))
        ended = asyncio.Event()
        await client.slow(kind, 2, ended)
        await client.slow(kind, 3, ended)
        await asyncio.sleep(0.2)
        ended.set()
        await asyncio.sleep(0.05)
        server.close()
        return client

    silent = asyncio.run(load("silent"))
    assert [(one.k, one.how, one.closed_ns) for one in silent.others] == [
        (2, "held", 0),
        (2, "held", 0),
        (3, "held", 0),
    ]
    slow = asyncio.run(load("header"))
    assert all(one.how in ("eof", "reset") and one.closed_ns > one.opened_ns for one in slow.others)


def test_a_slow_body_and_a_slow_reader_hold_up_the_server_as_they_say() -> None:
    head = b"POST /echo HTTP/1.1\r\nContent-Length: 40\r\n\r\n"
    arrived, left = list[bytes](), list[int]()

    async def takes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.append(await reader.readuntil(b"\r\n\r\n"))
        arrived.append(await reader.read(99))
        writer.write(b"HTTP/1.1 408 Late\r\n\r\n")
        writer.close()

    async def sends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(10 << 20))
        await asyncio.sleep(0.3)
        left.append(writer.transport.get_write_buffer_size())
        resets(writer)

    async def load(kind: str, serve: Callable[..., Awaitable[None]], seconds: float) -> Client:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        asked = Asked(host="127.0.0.1", port=port, head=HEAD, expected=None, timeout_s=1, pool=0, look_s=0)
        client, ended = Client(replace(asked, slow_head=head + b"a" * 40)), asyncio.Event()
        await client.slow(kind, 1, ended)
        await asyncio.sleep(seconds)
        ended.set()
        await asyncio.sleep(0.05)
        server.close()
        return client

    (body,) = asyncio.run(load("body", takes, 0.3)).others
    assert arrived[0] == head and arrived[1] == b"a"
    assert (body.how, body.status) == ("eof", 408)
    # The reset is noticed before the rest of the response, which it has not read yet.
    (read,) = asyncio.run(load("read", sends, 1.5)).others
    assert (read.how, read.status) == ("reset", 200) and left[0] > 1 << 20
    assert 0.9e9 < read.closed_ns - read.opened_ns < 1.45e9


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
def test_vegeta_counts_the_same_of_a_server_that_is_killed(tmp_path: Path) -> None:
    """vegeta makes loads that are too fast for Python; for others, both must report the same."""
    made = "ThreadingHTTPServer(('127.0.0.1', {port}), SimpleHTTPRequestHandler)"
    serve = f"from http.server import *; {made}.serve_forever()"
    found = []
    for by_vegeta in (False, True):
        with refusing() as port:
            pass
        server = subprocess.Popen(
            [sys.executable, "-c", serve.format(port=port)], cwd=tmp_path, stderr=subprocess.DEVNULL
        )
        wait_for(port)
        threading.Timer(1.2, server.kill).start()
        event = replace(EVENTS["overload"].cases[0], phases=(Phase(1.0, 2.0),), timeout_s=1.0)
        rates, t0_ns = [(50.0, 2.0)], time.monotonic_ns() + 10**8
        if by_vegeta:
            load = Load(url=f"http://127.0.0.1:{port}/", request=ToolRequest(), timeout_s=1.0, keepalive=False)
            log = load_by_vegeta(load, event, rates, t0_ns)
        else:
            asked = Asked(
                **{"host": "127.0.0.1", "port": port, "head": HEAD, "expected": None, "timeout_s": 1, "pool": 0},
                look_s=0.0,
            )
            client = Client(asked)
            asyncio.run(client.load([*due_times(rates)], t0_ns, lambda: False))
            log = client.log
        server.wait()
        found.append(Counter(one.fate for one in log))
    ours, theirs = found
    assert ours.total() == 100 and ours[Fate.REFUSED] > 30
    # Without enough CPU, vegeta ends in time but sends fewer requests.
    assert 80 <= theirs.total() <= 100
    # On a busy machine the timer that kills the server may be 0.4 s late for one of them.
    assert abs(ours[Fate.ANSWERED] - theirs[Fate.ANSWERED]) <= 20, found
    assert abs(ours[Fate.REFUSED] - theirs[Fate.REFUSED]) <= 20, found


def wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)


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


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_without_an_end_is_wrong_and_small_chunks_take_time_only_once(chunked: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"\r\n")
    answer, part = _Answer(), b"1\r\nx\r\n" * 1000
    assert answer.feed(head) is None
    for _ in range(100):
        assert answer.feed(part) is None
    assert not chunked or answer.body == b"x" * 100_000
    with pytest.raises(ValueError, match="too long"):
        for _ in range(MOST_BODY // len(part) + 1):
            answer.feed(part)
    assert len(answer.data) < 2 * MOST_BODY
