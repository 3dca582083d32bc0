"""Logs of nginx and HAProxy: who sent a bad status, and why. The lines are real."""

from __future__ import annotations

from bench.events.rolling.figures import proxy_figures

FAILED = '2026/11/25 12:46:46 [error] 47#47: *110 {} while {}, client: 127.0.0.1, upstream: "http://127.0.0.2:33447/"'
READING = "reading response header from upstream"


def test_of_nginx() -> None:
    lines = [
        "request|200|200|0.051",
        FAILED.format("recv() failed (104: Connection reset by peer)", READING),
        "request|200|502, 200|-, 0.052",
        FAILED.format("connect() failed (111: Connection refused)", "connecting to upstream"),
        FAILED.format("no live upstreams", "connecting to upstream"),
        "request|502|502, 502|-, -",
        FAILED.format("upstream prematurely closed connection", READING),
        "request|502|502|-",
        FAILED.format("upstream timed out (110: Connection timed out)", "connecting to upstream"),
        "request|504|504|-",
        "request|503|503|0.001",
        "request|499|-|-",
        "2026/11/25 12:46:46 [notice] 47#47: signal process started",
    ]
    assert proxy_figures("nginx", lines) == {
        "cause_closed": 1,
        "cause_no_container": 1,
        "cause_refused": 1,
        "cause_reset": 1,
        "cause_timed_out": 1,
        "proxy_502": 2,
        "proxy_502_closed": 1,
        "proxy_502_no_container": 1,
        "proxy_504": 1,
        "proxy_504_timed_out": 1,
        "retried": 1,
        "server_503": 1,
    }


def test_of_haproxy() -> None:
    lines = [
        "request|200|--|0",
        "request|200|--|+1",
        "request|200|--|2",
        "request|502|SH|0",
        "request|503|SC|3",
        "request|503|sC|3",
        "request|504|sH|0",
        "request|503|--|0",
        "request|-1|CD|0",
        "Server service/s1 is DOWN, reason: Layer4 connection problem",
    ]
    assert proxy_figures("haproxy", lines) == {
        "cause_closed": 1,
        "cause_refused": 1,
        "cause_timed_out": 1,
        "cause_unreachable": 1,
        "proxy_502": 1,
        "proxy_502_closed": 1,
        "proxy_503": 2,
        "proxy_503_refused": 1,
        "proxy_503_unreachable": 1,
        "proxy_504": 1,
        "proxy_504_timed_out": 1,
        "retried": 2,
        "server_503": 1,
    }


def test_of_none() -> None:
    assert not proxy_figures("", ["request|502|502|-"])
