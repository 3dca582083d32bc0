"""A port that does not speak HTTP, or never finishes a response, fails the checks after few timeouts."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fake import FakeService
from fake_dependencies import FakeDatabase, FakeUpstream
from served import served
from simulated_clock import SimulatedClient, SimulatedClock

from bench.contract.answers import ROUTES, Mismatch, check_headers, expected
from bench.contract.checks import Target
from bench.contract.client import Client, NoAnswer, Request, TimedOut
from bench.contract.verify import MOST_TIMEOUTS, Result, verify
from bench.exchange import checks

TIMEOUT = 30
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = b'{"message":"Hello, World!"}'

Behaviour = Callable[[socket.socket, SimulatedClock], object]


def drips(data: bytes) -> Behaviour:
    """One byte every 0.1 s."""

    def behave(connection: socket.socket, clock: SimulatedClock) -> None:
        connection.recv(65536)
        for byte in data:
            connection.sendall(bytes([byte]))
            clock.sleep(0.1)

    return behave


def says(data: bytes, then_waits: float = 0) -> Behaviour:
    def behave(connection: socket.socket, clock: SimulatedClock) -> None:
        connection.recv(65536)
        connection.sendall(data)
        clock.sleep(then_waits)

    return behave


LATE = "no complete answer within 30 s"
TOO_LONG = "LineTooLong: got more than 65536 bytes when reading header line"
ABSURD = "Sun, 06 Nov 99999999999999999999 08:49:37 GMT"
INCOMPLETE = "an incomplete body of {} bytes"
NO_ANSWER: dict[str, tuple[Behaviour, str]] = {
    "hangs": (says(b"", 1000), LATE),
    "drips headers": (drips(HEAD + b"X: " + b"y" * 1000), LATE),
    "drips a body without a length": (drips(HEAD + b"\r\n" + b"y" * 1000), LATE),
    "hangs in mid-body": (says(HEAD + b"Content-Length: 9\r\n\r\n{", 1000), LATE),
    "closes after reading": (lambda connection, clock: connection.recv(65536), "connection closed without an answer"),
    "garbage": (says(b"\x00\xff garbage\r\n\r\n"), r"not HTTP: '\x00ÿ garbage\r\n'"),
    "another protocol": (says(b"SSH-2.0-OpenSSH\r\n"), r"not HTTP: 'SSH-2.0-OpenSSH\r\n'"),
    "closes in mid-body": (says(HEAD + b"Content-Length: 99\r\n\r\n{}"), INCOMPLETE.format(2)),
    "closes in mid-chunk": (says(CHUNKED + b"9\r\n{}"), INCOMPLETE.format(0)),
    "an invalid chunk size": (says(CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"), INCOMPLETE.format(0)),
    "a thousand headers": (says(HEAD + b"X: y\r\n" * 1000 + b"\r\n"), "HTTPException: got more than 100 headers"),
    "an endless header": (says(HEAD + b"X: " + b"y" * 200_000), TOO_LONG),
    "an invalid status": (says(b"HTTP/1.1 20x OK\r\n\r\n"), r"not HTTP: 'HTTP/1.1 20x OK\r\n'"),
    "status 999999": (says(b"HTTP/1.1 999999 OK\r\n\r\n"), r"not HTTP: 'HTTP/1.1 999999 OK\r\n'"),
}
"""Ports that never give a complete HTTP response, and the message of every check."""

WRONG_ANSWER: dict[str, tuple[Behaviour, str, str]] = {
    "closes in mid-head": (says(HEAD), "Status", "an empty body ('Expecting value: line 1 column 1 (char 0)')"),
    "an invalid length": (says(HEAD + b"Content-Length: -1\r\n\r\n{}"), "Status", "{}"),
    "headers of bytes": (says(HEAD + b"\xff\xfe: \x00\r\nDate\r\n\r\n{}"), "Content-Type", "0: []"),
    "an absurd Date": (says(HEAD + f"Date: {ABSURD}\r\n\r\n{{}}".encode()), "Date", ABSURD),
}
"""Ports that answer nonsense, and the message of the check whose name begins like that."""


@contextmanager
def port(behave: Behaviour, clock: SimulatedClock) -> Iterator[str]:
    def serve(connection: socket.socket) -> None:
        behave(connection, clock)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65536)

    with served(serve) as number:
        yield f"http://127.0.0.1:{number}"


def verified(url: str, clock: SimulatedClock) -> tuple[Result, float]:
    """The result of all checks, and how many seconds they took."""
    target = Target(SimulatedClient(url, TIMEOUT, clock), FakeDatabase(), FakeUpstream(), True)
    return verify(target, ROUTES, checks(), lambda _: None), clock.monotonic_ns() / 1e9


def verified_port(behave: Behaviour) -> tuple[Result, float]:
    clock = SimulatedClock()
    with port(behave, clock) as url:
        return verified(url, clock)


@pytest.mark.parametrize("behaviour", NO_ANSWER)
def test_a_port_without_answers_is_given_up_after_one_request(behaviour: str) -> None:
    behave, got = NO_ANSWER[behaviour]
    result, seconds = verified_port(behave)
    assert {(outcome.expected, outcome.got) for outcome in result.failures} == {("an answer", got)}
    assert len(result.failures) == len(result.outcomes) > len(ROUTES)
    assert (result.late, seconds) == ((True, TIMEOUT) if got == LATE else (False, 0))


def test_a_port_that_closes_at_once_is_given_up() -> None:
    """What the client sees depends on who is faster, but it is neither a response nor a timeout."""
    result, seconds = verified_port(lambda connection, clock: connection.close())
    [got] = {outcome.got for outcome in result.outcomes}
    assert got in ("connection reset by peer", "broken pipe", "connection closed without an answer")
    assert (result.late, seconds) == (False, 0)


@pytest.mark.parametrize("behaviour", WRONG_ANSWER)
def test_a_wrong_answer_fails_every_check(behaviour: str) -> None:
    behave, check, got = WRONG_ANSWER[behaviour]
    result, _ = verified_port(behave)
    assert len(result.failures) == len(result.outcomes) > len(ROUTES) and not result.late
    of_root = [outcome for outcome in result.outcomes if outcome.route == "root"]
    assert {outcome.got for outcome in of_root if outcome.check.startswith(check)} == {got}


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    result, seconds = verified(url, SimulatedClock())
    assert {(outcome.ok, outcome.got) for outcome in result.outcomes} == {(False, "connection refused")}
    assert (result.late, seconds) == (False, 0)


def test_gives_up_on_a_service_that_stops_answering() -> None:
    """It answers only the first request: a few checks wait for the timeout, and the others fail at once."""
    answered = []

    def once(connection: socket.socket, clock: SimulatedClock) -> None:
        connection.recv(65536)
        if answered:
            clock.sleep(1000)
        answered.append(True)
        connection.sendall(HEAD + b"Content-Length: 0\r\n\r\n")

    result, seconds = verified_port(once)
    waited, given_up = result.outcomes[:MOST_TIMEOUTS], result.outcomes[MOST_TIMEOUTS:]
    assert [(outcome.got, outcome.seconds) for outcome in waited] == [(LATE, TIMEOUT)] * MOST_TIMEOUTS
    reason = "no request, because 3 before it timed out"
    assert {(outcome.got, outcome.seconds) for outcome in given_up} == {(reason, 0.0)}
    assert (result.late, seconds) == (True, MOST_TIMEOUTS * TIMEOUT)


def test_a_body_that_the_deadline_ended_is_no_answer() -> None:
    """With the real clock: a body without a length ends with the connection, which the client itself closes here."""

    def drip(connection: socket.socket, _: object) -> None:
        connection.sendall(HEAD + b"\r\n")
        while True:
            connection.sendall(b"y")
            time.sleep(0.05)

    with port(drip, SimulatedClock()) as url, pytest.raises(TimedOut, match=r"within 0\.4 s"):
        Client(url, 0.4).get("/json")


def test_an_endless_body_ends() -> None:
    with FakeService("endless") as service, pytest.raises(NoAnswer, match="a body of more than 4194304 bytes"):
        SimulatedClient(service.url, TIMEOUT, service.clock).get("/json")


def test_an_answer_before_the_body_is_read_counts() -> None:
    """A server may refuse a large body and close the connection: its response counts if it arrived."""
    clock, asked = SimulatedClock(), threading.Event()

    def refuse(connection: socket.socket, clock: SimulatedClock) -> None:
        connection.recv(1024)
        connection.sendall(b"HTTP/1.1 413 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        asked.wait(60)  # closing with unread data would reset the connection before the response is read

    with port(refuse, clock) as url:
        answer = SimulatedClient(url, TIMEOUT, clock).ask(Request("/echo", "POST", b"x" * 65537))
        asked.set()
    assert (answer.status, answer.body) == (413, b"{}")


def test_a_damaged_answer_is_right_or_wrong_but_never_a_crash() -> None:
    """A good response with bytes changed, dropped and doubled."""
    head = HEAD + b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: x\r\nContent-Length: 27\r\n\r\n"
    good = head + BODY
    chance = random.Random(7)

    def damage(answer: bytes) -> bytes:
        begin, length = chance.randrange(len(answer)), chance.randrange(12)
        middle = chance.choice([b"", chance.randbytes(length), answer[begin : begin + length] * 2])
        return answer[:begin] + middle + answer[begin + length :]

    damaged = [good, *(damage(damage(good)) if number % 2 else damage(good) for number in range(300))]
    answers, clock = iter(damaged), SimulatedClock()

    def problem(client: SimulatedClient) -> str | None:
        try:
            answer = client.get("/json")
            expected("json").check(answer)
            check_headers(answer)
        except (Mismatch, NoAnswer) as found:
            return str(found)
        return None

    def next_one(connection: socket.socket, clock: SimulatedClock) -> None:
        says(next(answers))(connection, clock)

    with port(next_one, clock) as url:
        client = SimulatedClient(url, TIMEOUT, clock)
        problems = [problem(client) for _ in damaged]
    assert problems[0] is None
    for answer, found in zip(damaged, problems, strict=True):
        if found is None:
            assert answer.startswith(b"HTTP/1.") and b" 200 " in answer and BODY in answer
            assert all(name in answer for name in (b"Content-Type: ", b"Date: ", b"Server: "))
        else:
            assert answer != good and "\n" not in found
