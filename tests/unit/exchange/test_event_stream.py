"""The first event of a stream outside of a load."""

from __future__ import annotations

import pytest
from test_idle_response import HEAD, PATIENT_S, drips, port, says

from bench.core.exchange import Exchange
from bench.exchange import kind_of
from bench.exchange.kind import SILENT, Response
from bench.load.answers import is_good
from bench.tools.tool import Load

SENT = Exchange(kind="sse", path="/sse/200/20", events=200, gap_ms=20)
STREAM = HEAD + b"Content-Type: text/event-stream; charset=utf-8\r\n\r\n"
EVENT = b'id: 0\r\ndata: {"n":0,"token":" benchmark"}\r\n\r\n'


def asked(at: str, timeout_s: float = PATIENT_S) -> Response:
    return kind_of(SENT).ask(Load(exchange=SENT, at=at), timeout_s)


def test_the_first_event_is_the_answer_however_long_the_stream_goes_on() -> None:
    with port(says(STREAM, b": welcome\r\n\r\n", EVENT, then_waits=600)) as at:
        response = asked(at)
    assert is_good(Load(exchange=SENT), response) and 0 < float(response.seconds) < PATIENT_S


SILENTS = {
    "never answers": says(then_waits=600),
    "no event": says(STREAM, then_waits=600),
    "ends without an event": says(STREAM),
    "comments for ever": drips(STREAM, b": still here\n"),
    "another content": says(HEAD + b"Content-Type: text/html\r\nContent-Length: 2\r\n\r\n{}"),
    "no HTTP": says(b"data: 0\n\n"),
}


@pytest.mark.parametrize("name", SILENTS)
def test_anything_else_is_no_answer(name: str) -> None:
    with port(SILENTS[name]) as at:
        response = asked(at, 0.3)
    assert response.status == SILENT and response.error


def test_an_error_has_its_status_and_body() -> None:
    with port(says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")) as at:
        response = asked(at)
    assert (response.status, response.body) == ("404", "none")
