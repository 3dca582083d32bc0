"""Output of ab beyond the samples: optional lines, kinds of failure, rates and times."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from places import OUTPUTS

from bench.tools import parse

AB = (OUTPUTS / "odd-ab.txt").read_text()
AB_RATES = (OUTPUTS / "odd-ab-rates.txt").read_text()
AB_TIMES = (OUTPUTS / "odd-ab-times.txt").read_text()
AB_SERVED = (OUTPUTS / "odd-ab-served.txt").read_text()


def ab(complete: int = 60, failed: int = 0, optional: str = "", rest: str = AB_RATES + AB_TIMES + AB_SERVED) -> Any:
    return parse("ab", AB.format(complete=complete, failed=failed, optional=optional, rest=rest).encode())


def test_ab_optional_lines() -> None:
    parsed = ab(
        failed=25,
        optional="   (Connect: 4, Receive: 5, Length: 10, Exceptions: 6)\n"
        "Write errors:           3\nNon-2xx responses:      20\nKeep-Alive requests:    0\n",
    )
    assert parsed.report == "complete"
    errors = parsed.errors
    assert (errors.connect, errors.read, errors.write, errors.non2xx) == (4, 5, 3, 20)
    assert errors.other == {"length": 10, "exceptions": 6}
    assert (parsed.ok, parsed.ok_range) == (None, (60 - 20 - 5 - 10 - 6, 60 - 20 - 5))
    assert parsed.extra == {"failed": 25, "keepalive_requests": 0}
    assert (parsed.duration_s, parsed.tool_version) == (61.25, "2.4-dev")
    latency = parsed.latency_s
    assert (latency.mean, latency.stdev, latency.max) == (12.345, 1234.5674, 1234.567)
    assert (latency.p50, latency.p95, latency.p99) == (0.001, 12.345, 1234.567)


def test_ab_2_0_does_not_count_receive_failures() -> None:
    parsed = ab(failed=2, optional="   (Connect: 1, Length: 1, Exceptions: 0)\nWrite errors:           0\n")
    assert (parsed.report, parsed.errors.connect, parsed.errors.read) == ("complete", 1, None)
    assert (parsed.requests, parsed.ok_range, parsed.latency_s.p99) == (60, (59, 60), 1234.567)


def test_ab_receive_failures_alone_leave_ok_certain() -> None:
    parsed = ab(failed=8, optional="   (Connect: 0, Receive: 5, Length: 0, Exceptions: 3)\n")
    assert (parsed.ok, parsed.ok_range) == (55, None)


def test_ab_failures_without_their_kinds_are_not_a_report() -> None:
    parsed = ab(failed=8)
    assert (parsed.report, parsed.requests, parsed.ok, parsed.errors.read) == ("partial", 60, None, None)


def test_ab_that_completed_nothing() -> None:
    parsed = ab(complete=0, rest="")
    assert (parsed.report, parsed.requests, parsed.ok, parsed.rps) == ("complete", 0, 0, None)
    assert set(asdict(parsed.latency_s).values()) == {None}


def test_ab_without_percentiles() -> None:
    """A single request has none; with more, -d looks like truncated output, and the existing figures are kept."""
    assert ab(complete=1, rest=AB_RATES + AB_TIMES).report == "complete"
    parsed = ab(rest=AB_RATES + AB_TIMES)
    assert (parsed.report, parsed.ok, parsed.latency_s.mean, parsed.latency_s.p50) == ("partial", 60, 12.345, None)


def test_ab_columns_that_ran_together_are_not_split() -> None:
    times = "\nConnection Times (ms)\n              min   avg   max\nTotal:         11   5612345\n"
    parsed = ab(rest=AB_RATES + times + AB_SERVED)
    assert (parsed.report, parsed.latency_s.mean, parsed.latency_s.max) == ("partial", None, None)


@pytest.mark.parametrize(
    ("text", "failure", "requests"),
    [
        ("Benchmarking h (be patient)...apr_pollset_poll: The timeout specified has expired (70007)\n"
         "Total of 12 requests completed\n", "timeout", 12),
        ("Test aborted after 10 failures\n\napr_socket_connect(): Cannot assign requested address (99)\n",
         "cannot assign requested address", None),
        ("socket: Too many open files (24)\napr_socket_recv: Connection reset by peer (104)\n",
         "connection reset by peer", None),
        ("apr_sockaddr_info_get() for h: Name or service not known (670002)\n", "name or service not known", None),
    ],
)  # fmt: skip
def test_ab_that_gave_up(text: str, failure: str, requests: int | None) -> None:
    parsed = parse("ab", text.encode())
    assert (parsed.report, parsed.failure, parsed.requests) == ("absent", failure, requests)


@pytest.mark.parametrize(
    ("output", "format"),
    [
        (b"Percentage served,Time in ms\n0,10.624\n", "csv"),
        (b"starttime\tseconds\tctime\tdtime\tttime\twait\nFri\t1\t0\t10\t11\t10\n", "gnuplot"),
    ],
)
def test_ab_second_outputs_are_named(output: bytes, format: str) -> None:
    parsed = parse("ab", output)
    assert (parsed.report, parsed.format) == ("absent", format)


def test_ab_1_3_has_neither_percentiles_nor_units() -> None:
    parsed = parse("ab", (OUTPUTS / "ab-1.3.txt").read_bytes())
    assert (parsed.report, parsed.failure) == ("partial", "cut off before the percentiles")
    assert (parsed.tool_version, parsed.requests, parsed.rps) == ("1.3d", 500, 200.0)
    assert (parsed.bytes_read, parsed.duration_s) == (800_000, 2.5)
    errors, latency = parsed.errors, parsed.latency_s
    assert (errors.connect, errors.read, errors.write, errors.non2xx, parsed.ok_range) == (1, None, 0, 4, (494, 496))
    assert (latency.min, latency.mean, latency.max, latency.stdev) == (0.002, 0.025, 0.097, None)


def test_ab_with_workers_says_more_of_the_load() -> None:
    parsed = parse("ab", (OUTPUTS / "ab-workers.txt").read_bytes())
    assert (parsed.report, parsed.requests, parsed.ok, parsed.rps) == ("complete", 2000, 2000, 500.0)
    assert (parsed.extra, parsed.latency_s.p99) == ({"keepalive_requests": 1990}, 0.061)


def test_ab_tables_of_html_are_named() -> None:
    text = "<p>\n This is ApacheBench, Version 2.3 <i>&lt;$Revision$&gt;</i><br>\n</p>\n\n<table >\n</table>\n"
    parsed = parse("ab", text.encode())
    assert (parsed.report, parsed.format, parsed.tool_version) == ("absent", "html", None)
