"""streams: its command lines, its report, and what it says of its own lateness."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.core.exchange import Exchange
from bench.tools import TOOLS, attempts_of, goodput_of, parse, sent_rate_of
from bench.tools.levels import Level, refusal
from bench.tools.parsed import Histogram, Latency, Timed
from bench.tools.tool import Load

ECHO = Exchange(kind="websocket", protocol="ws", path="/ws/echo", size=16)
EVENTS = Exchange(kind="sse", path="/sse/200/20", events=200, gap_ms=20)
CLOSED = Load(exchange=ECHO, at="a:8080", connections=16, duration_s=3600, timeout_s=10)
OPEN = replace(CLOSED, connections=None, rate=50, duration_s=5)
AT = {"p50": 0.001, "p75": 0.002, "p90": 0.003, "p99": 0.004, "p99.9": 0.005}


def times(ns: Sequence[int], counts: Sequence[int], **changes: Any) -> dict[str, Any]:
    told = {"count": sum(counts), "mean": 0.0012, "max": 0.006, "percentiles": AT, "ns": ns, "counts": counts}
    return told | changes


LATENCY = times([1_000_000, 6_000_000], [8000, 1000])
ERRORS = dict.fromkeys(("connect", "status", "read", "write", "timeout", "wrong", "doubled", "disorder", "missing"), 0)
REPORT: dict[str, Any] = {
    **{"kind": "websocket", "url": "ws://a:8080/ws/echo", "duration_s": 2.5, "units": 10_000, "bytes": 160_000},
    **{"errors": ERRORS, "negotiated": {"": 16}, "times": {"latency": LATENCY, "lag": None}},
}
STREAMS = {"due": 40, "begun": 38, "complete": 30, "cut": 2, "open": 6}


def printed(before: str = "", **changes: Any) -> bytes:
    return f"{before}{json.dumps(REPORT | changes)}\n".encode()


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (CLOSED, "websocket -connections 16 -size 16 -duration 3600s -timeout 10s ws://a:8080/ws/echo"),
        (
            replace(CLOSED, exchange=replace(ECHO, size=1024, deflate=True), headers=("X-A: 1",)),
            "websocket -connections 16 -size 1024 -deflate -duration 3600s -timeout 10s -header X-A: 1"
            " ws://a:8080/ws/echo",
        ),
        (OPEN, "websocket -connections 64 -size 16 -rate 50 -duration 5s -timeout 10s ws://a:8080/ws/echo"),
        (
            replace(CLOSED, exchange=EVENTS),
            "sse -events 200 -gap 20ms -rate 4 -duration 3600s -timeout 10s http://a:8080/sse/200/20",
        ),
        (
            replace(CLOSED, exchange=replace(EVENTS, path="/sse/500/10", events=500, gap_ms=10), connections=64),
            "sse -events 500 -gap 10ms -rate 12.8 -duration 3600s -timeout 10s http://a:8080/sse/500/10",
        ),
        (
            replace(CLOSED, exchange=EVENTS, duration_s=2.5),
            "sse -open 16 -events 200 -gap 20ms -duration 2.5s -timeout 10s http://a:8080/sse/200/20",
        ),
        (
            replace(CLOSED, exchange=replace(EVENTS, path="/sse/9/0", events=9, gap_ms=0)),
            "sse -open 16 -events 9 -gap 0ms -duration 3600s -timeout 10s http://a:8080/sse/9/0",
        ),
        (
            replace(OPEN, exchange=EVENTS, rate=4),
            "sse -events 200 -gap 20ms -rate 4 -duration 5s -timeout 10s http://a:8080/sse/200/20",
        ),
    ],
)
def test_the_command_line(load: Load, expected: str) -> None:
    assert " ".join(TOOLS["streams"].command(load).argv) == f"streams {expected}"


@pytest.mark.parametrize(
    ("level", "able"),
    [
        ("c16", True),
        ("r50", True),
        ("c16n100", False),
        ("c16close", False),
        ("c100r8000", False),
        ("knee:p99=50ms", False),
    ],
)
def test_what_a_plan_may_ask_for(level: str, able: bool) -> None:
    assert all((refusal("streams", Level.parse(level), sent) is None) == able for sent in (ECHO, EVENTS))


def test_it_sends_no_requests() -> None:
    assert "does not speak http over http/1.1" in str(refusal("streams", Level.parse("c16"), Exchange()))


def test_a_report_is_read() -> None:
    parsed = parse("streams", printed("streams: a remark\n"))
    assert (parsed.report, parsed.failure, parsed.format) == ("complete", None, "json")
    assert (parsed.requests, parsed.ok, parsed.attempts, parsed.bytes_read) == (10_000, 10_000, 10_000, 160_000)
    assert parsed.latency_s == Latency(mean=0.0012, max=0.006, p50=0.001, p75=0.002, p90=0.003, p99=0.004)
    assert goodput_of("streams", parsed) == 4000 and parsed.extra == {"negotiated": {"": 16}}


def test_what_was_wrong_is_no_success_and_what_did_not_come_is_none_either() -> None:
    errors = ERRORS | {"status": 1, "timeout": 2, "wrong": 3, "doubled": 4, "disorder": 5, "missing": 6, "read": 7}
    parsed = parse("streams", printed(errors=errors))
    come, lost = 10_000 + 1 + 3 + 4 + 5, 2 + 6 + 7
    assert (parsed.ok, parsed.requests, attempts_of("streams", parsed)) == (10_000, come, come + lost)
    assert parsed.errors.other == {"wrong": 3, "doubled": 4, "disorder": 5, "missing": 6}
    assert (parsed.errors.non2xx, parsed.errors.timeout, parsed.errors.read) == (1, 2, 7)


def test_streams_of_events_are_begun_at_a_rate_and_counted_by_event() -> None:
    late = LATENCY | {"percentiles": {"p50": 0.0001, "p99": 0.02}}
    parsed = parse("streams", printed(kind="sse", streams=STREAMS, times={"latency": LATENCY, "late": late}))
    assert parsed.extra and parsed.extra["streams"] == STREAMS
    assert parsed.extra["times"]["late"] == {"p50": 0.0001, "p99": 0.02, "max": 0.006, "count": 9000}
    assert (sent_rate_of("streams", 16, parsed), goodput_of("streams", parsed)) == (16, 4000)


def test_what_it_timed_is_read_whole() -> None:
    sent, late, waking = times([900_000], [9000]), times([50_000], [700]), times([60_000, 80_000], [3, 4])
    report = printed(times={"latency": LATENCY, "sent": sent})
    due = {1_000_000: 8000, 6_000_000: 1000}
    assert TOOLS["streams"].histograms(report) == {Timed.RESPONSE: Histogram({900_000: 9000}, due)}
    report = printed(kind="sse", streams=STREAMS, times={"latency": LATENCY, "late": late, "waking": waking})
    events = Histogram({50_000: 700}, {50_000: 700}, {60_000: 3, 80_000: 4})
    assert TOOLS["streams"].histograms(report) == {Timed.FIRST_EVENT: Histogram(due, due), Timed.EVENT: events}
    assert TOOLS["streams"].histograms(b"no report") == {}


@pytest.mark.parametrize(
    ("lag", "count", "late"),
    [(None, 9000, []), (0.00009, 9000, []), (0.0005, 9000, ["p50", "p90", "p99"]), (0.0005, 600, ["p50", "p90"])],
)
def test_a_client_that_was_late_says_so(lag: float | None, count: int, late: list[str]) -> None:
    lags = lag and times([round(1e9 * lag)], [count], percentiles=dict.fromkeys(AT, lag))
    output = printed(times={"latency": LATENCY, "lag": lags})
    said = [*TOOLS["streams"].other_load(output, None, 5)]
    assert [words.partition("(")[2].partition(")")[0] for words in said] == late


NOT_READ = {
    "nothing": b"",
    "another text": b"streams: dial tcp: connection refused\n",
    "two reports": printed() + printed(),
    "cut off": printed()[:-40],
    "another type": printed(units="many"),
    "a histogram of fewer": printed(times={"latency": times([1], [8999], count=9000)}),
    "a histogram without counts": printed(times={"latency": times([1, 2], [9000])}),
    "a negative count": printed(units=-1),
    "no whole number": printed(units=1.5),
    "too large": printed(units=10**30),
    "not a number": printed().replace(b"10000", b"NaN"),
    "an endless time": printed(duration_s=1).replace(b'"duration_s": 1', b'"duration_s": 1e999'),
    "without its errors": json.dumps({"kind": "websocket", "units": 1}).encode(),
    "no UTF-8": printed().replace(b'"websocket"', b'"\xff"'),
    "100,000 arrays": b'{"kind":' + b"[" * 100_000,
}


@pytest.mark.parametrize("name", NOT_READ)
def test_other_outputs_give_no_figure(name: str) -> None:
    parsed = parse("streams", NOT_READ[name])
    assert (parsed.report, parsed.ok, parsed.requests, parsed.duration_s) == ("absent", None, None, None)
    assert parsed.failure and len(parsed.failure) < 200 and parsed.failure.isprintable()
    assert [*TOOLS["streams"].other_load(NOT_READ[name], None, 5)] == []


@given(st.binary(max_size=200), st.integers(0, 600))
def test_damaged_reports_never_fail(noise: bytes, place: int) -> None:
    whole = printed(kind="sse", streams=STREAMS)
    parsed = parse("streams", whole[:place] + noise + whole[place:])
    assert parsed.ok is None or (parsed.requests is not None and 0 <= parsed.ok <= parsed.requests)
