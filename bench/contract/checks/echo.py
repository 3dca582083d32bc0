"""Checks of `POST /echo`: what it accepts, what it refuses, and that nothing breaks it."""

from bench.contract.answers import expected, status_of, strict_json
from bench.contract.checks.base import check, refused
from bench.contract.expect import about, brief, expect
from bench.contract.routes import request_of
from bench.contract.target import Target

LIMIT = 64 * 1024
OBJECTS = (
    b"{}",
    b'{"a":1,"b":{"c":{"d":[[],{},[{"e":null}]]}}}',
    '{"ключ":"日本語 🎉","\\u00e9":"\\ud83c\\udf89"}'.encode(),
    b'{"true":true,"one":1,"float":1.0,"big":12345678901234567890,"text":"1"}',
    b' {"spaces" : [ 1 , 2 ] }\n',
)
NOT_OBJECTS = (b'{"a":', b"hello", b"[1,2]", b"1", b"null", b'"text"', b"", b'{"a":1} x', b'{"a":"\xff"}')
HOSTILE = (
    ("30,000 nested arrays", b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}"),
    ("10,000 unclosed objects", b'{"a":' * 10_000),
    ("a number of 5,000 digits", b'{"a":' + b"9" * 5000 + b"}"),
    ("half a surrogate pair", b'{"a":"\\ud800"}'),
    ("NaN", b'{"a":NaN}'),
    ("1e999", b'{"a":1e999}'),
    ("a byte order mark", b'\xef\xbb\xbf{"a":1}'),
)


@check("echo")
def objects(target: Target, route: str) -> None:
    """Objects of every kind, with their number of keys."""
    for body in OBJECTS:
        _echoes(target, route, body)


@check("echo")
def limit(target: Target, route: str) -> None:
    """64 KiB is accepted, one byte more is refused."""
    _echoes(target, route, _sized(LIMIT))
    answer = target.client.ask(request_of(route, body=_sized(LIMIT + 1)))
    refused(answer, 400, 413, request=f"a body of {LIMIT + 1} bytes")


@check("echo")
def refuses(target: Target, route: str) -> None:
    """400 for anything but a JSON object, and the connection stays usable."""
    with target.client.session() as session:
        for body in NOT_OBJECTS:
            refused(session.ask(request_of(route, body=body)), 400, request=f"the body {brief(body) or '(empty)'}")
            expected(route).check(session.ask(request_of(route)))


@check("echo")
def survives(target: Target, route: str) -> None:
    """No server error for hostile bodies."""
    for what, body in HOSTILE:
        answer = target.client.ask(request_of(route, body=body))
        expect(answer.status < 500, f"no server error for {what}", status_of(answer))
        if answer.status == 200:
            with about(what):
                value = strict_json(answer.body)
                expect(isinstance(value, dict) and "received" in value, "an object with received", brief(value))


def _echoes(target: Target, route: str, body: bytes) -> None:
    answer = target.client.ask(request_of(route, body=body))
    with about(f"the body {brief(body)}"):
        expected(route, body=body).check(answer)


def _sized(size: int) -> bytes:
    """A JSON object of that many bytes."""
    frame = b'{"text":"%s"}'
    return frame % (b"x" * (size - len(frame % b"")))
