"""A port that speaks no HTTP, or never to the end, gives failed checks after few waits."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fake import FakeDatabase, FakeService, FakeUpstream

from bench.contract import quick_check
from bench.contract.client import Client, NoAnswer, Request
from bench.contract.registry import STRIKES, Target
from bench.contract.routes import ROUTES
from bench.contract.verify import Result, verify

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def drip(connection: socket.socket) -> None:
    for byte in HEAD + b"X: " + b"y" * 10_000:
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


def says(data: bytes, then_waits: float = 0) -> Callable[[socket.socket], None]:
    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(data)
        time.sleep(then_waits)

    return behave


PORTS: dict[str, tuple[Callable[[socket.socket], object], str]] = {
    "hangs": (says(b"", 5), "no complete answer within 0.5 s"),
    "drips": (drip, "no complete answer within 0.5 s"),
    "hangs in mid-body": (says(HEAD + b"Content-Length: 9\r\n\r\n{", 5), "no complete answer"),
    "closes at once": (lambda c: c.close(), "connection"),
    "closes after reading": (lambda c: c.recv(65536), "connection closed without an answer"),
    "garbage": (says(b"\x00\xff garbage\r\n\r\n"), "no HTTP answer but"),
    "another protocol": (says(b"SSH-2.0-OpenSSH\r\n"), "no HTTP answer but"),
    "closes in mid-head": (says(HEAD), "an empty body"),
    "closes in mid-body": (
        says(HEAD + b"Content-Length: 99\r\n\r\n{}"),
        "closed in mid-body after 2 bytes",
    ),
    "closes in mid-chunk": (
        says(HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\n{}"),
        "closed in mid-body",
    ),
    "a chunk size that is none": (
        says(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
        "closed in mid-body",
    ),
    "a length that is none": (
        says(HEAD + b"Content-Length: -1\r\n\r\n{}"),
        "",
    ),
    "a thousand headers": (
        says(HEAD + b"X: y\r\n" * 1000 + b"\r\n"),
        "more than 100 headers",
    ),
    "an endless header": (says(HEAD + b"X: " + b"y" * 200_000), "Line"),
    "a status that is none": (says(b"HTTP/1.1 20x OK\r\n\r\n"), "no HTTP answer but"),
    "status 999999": (says(b"HTTP/1.1 999999 OK\r\n\r\n"), "no HTTP answer but"),
    "headers that are bytes": (says(HEAD + b"\xff\xfe: \x00\r\nDate\r\n\r\n{}"), ""),
    "a Date out of all bounds": (
        says(HEAD + b"Date: Sun, 06 Nov 99999999999999999999 08:49:37 GMT\r\n\r\n{}"),
        "",
    ),
}


@contextmanager
def port(behave: Callable[[socket.socket], object]) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def one(connection: socket.socket) -> None:
        with connection:
            try:
                behave(connection)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)
            except OSError:
                pass

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def verified(url: str, timeout: float = 0.5) -> Result:
    target = Target(Client(url, timeout), FakeDatabase(), FakeUpstream(), True)
    return verify(target, list(ROUTES), {}, lambda _: None)


def waits(result: Result) -> int:
    """How many checks waited to the end of their time, each for itself."""
    late = [outcome for outcome in result.outcomes if (outcome.got or "").startswith("no complete answer within")]
    return sum(outcome.seconds > 0 for outcome in late)


@pytest.mark.parametrize("behaviour", PORTS)
def test_fails_and_says_why(behaviour: str) -> None:
    behave, said = PORTS[behaviour]
    with port(behave) as url:
        result = verified(url)
        single = quick_check(f"{url}/json", "json", timeout=0.5)
    assert result.passed == 0
    assert all(said in (outcome.got or "") for outcome in result.outcomes[:1]), result.outcomes[0]
    assert single is not None
    assert "\n" not in single
    assert waits(result) <= STRIKES


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    result = verified(url)
    assert result.passed == 0
    assert {outcome.got for outcome in result.outcomes} == {"connection refused"}


def test_gives_up_on_a_service_that_stops_answering() -> None:
    """Answers the first request, then none: only so many waits, and every check fails."""
    state = {"answered": False}

    def once(connection: socket.socket) -> None:
        if state["answered"]:
            time.sleep(30)
        state["answered"] = True
        connection.recv(65536)
        connection.sendall(HEAD + b"Content-Length: 0\r\n\r\n")

    with port(once) as url:
        result = verified(url, timeout=0.3)
    assert result.passed == 0
    assert waits(result) == STRIKES
    assert "not answered in time" in (result.outcomes[-1].got or "")


def test_an_endless_body_ends() -> None:
    with FakeService("endless") as service, pytest.raises(NoAnswer, match="more than"):
        Client(service.url).get("/json")


def test_an_answer_before_the_body_is_read_counts() -> None:
    """A server may refuse a large body and close: the answer is what counts, where it arrived."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(b"HTTP/1.1 413 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        time.sleep(0.3)

    with port(refuse) as url:
        answer = Client(url).ask(Request("/echo", "POST", b"x" * 65537))
    assert (answer.status, answer.body) == (413, b"{}")


def test_any_bytes_give_a_verdict() -> None:
    """A good answer with bytes changed, dropped and doubled: right or wrong, never a crash."""
    good = HEAD + b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: x\r\nContent-Length: 27\r\n\r\n"
    good += b'{"message":"Hello, World!"}'
    chance = random.Random(7)
    damaged = [good]

    def damage(answer: bytes) -> bytes:
        begin, length = chance.randrange(len(answer)), chance.randrange(12)
        middle = chance.choice([b"", chance.randbytes(length), answer[begin : begin + length] * 2])
        return answer[:begin] + middle + answer[begin + length :]

    damaged += [damage(damage(good)) if number % 2 else damage(good) for number in range(300)]
    answers = iter(damaged)

    def next_one(connection: socket.socket) -> None:
        says(next(answers))(connection)

    with port(next_one) as url:
        verdicts = [quick_check(f"{url}/json", "json", timeout=0.5) for _ in damaged]
    assert verdicts[0] is None
    assert sum(verdict is not None for verdict in verdicts) > len(damaged) / 2
