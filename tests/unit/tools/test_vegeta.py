"""Output of vegeta beyond the samples: durations, status codes, errors, earlier releases, and binary results."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from parse_samples import named
from places import OUTPUTS, SAMPLES

from bench.tools import parse


def attack(codes: str, errors: list[str], *redirects: int) -> Any:
    """What is read of the sample's report with these responses by status, and errors, instead of its own."""
    data = named("vegeta/ramp-json").data
    for old, new in ((b'{"200":200}', codes.encode()), (b'"errors":[]', f'"errors":{json.dumps(errors)}'.encode())):
        assert old in data
        data = data.replace(old, new)
    return parse("vegeta", data, redirects)


def test_redirects_are_good_responses_only_where_they_are_expected() -> None:
    codes, errors = '{"0":7,"200":10,"301":2,"302":5,"404":9}', ["404 Not Found", 'Get "http://h/": EOF']
    found = [attack(codes, errors, *redirects) for redirects in ((), (302,), (302, 302, 301, 307))]
    assert [(one.ok, one.errors.non2xx) for one in found] == [(10, 16), (15, 11), (17, 9)]
    assert {one.requests for one in found} == {26}
    hey = parse("hey", named("hey/mixed-200-500").data, (302,))
    assert hey == parse("hey", named("hey/mixed-200-500").data)
    moved = named("hey/mixed-200-500").data.replace(b"[500]", b"[302]")
    bad = parse("hey", moved).errors.non2xx
    assert bad and parse("hey", moved, (302,)).errors.non2xx == 0
    # wrk counts them itself.
    assert parse("wrk", named("wrk/mixed-200-500").data, (302,)) == parse("wrk", named("wrk/mixed-200-500").data)


def test_vegeta_codes_and_errors() -> None:
    parsed = attack(
        '{"0":7,"200":10,"204":1,"301":2,"404":10,"503":10}',
        [
            "503 Service Unavailable",
            "404 Not Found",
            'Get "http://h/": EOF',
            'Get "http://h/": read tcp 1:2->3:4: read: connection reset by peer',
        ],
    )
    assert (parsed.report, parsed.requests, parsed.ok) == ("complete", 33, 11)
    errors = parsed.errors
    assert (errors.non2xx, errors.read, errors.connect, errors.timeout, errors.write) == (22, 7, 0, 0, None)


def test_vegeta_kinds_that_share_a_count_are_unknown() -> None:
    parsed = attack('{"0":400}', ['Get "h": EOF', 'Get "h": dial tcp: lookup h: no such host'])
    assert (parsed.errors.read, parsed.errors.connect, parsed.errors.timeout) == (None, None, 0)


def test_vegeta_failures_without_an_error_are_of_no_kind() -> None:
    parsed = attack('{"0":400}', [])
    assert (parsed.report, parsed.errors.connect, parsed.errors.read) == ("complete", None, None)


def test_vegeta_json_without_a_request() -> None:
    data = named("vegeta/ramp-json").data
    for old, new in ((b'"requests":200', b'"requests":0'), (b'{"200":200}', b"{}")):
        data = data.replace(old, new)
    parsed = parse("vegeta", data)
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 0, 0, 0)
    assert set(asdict(parsed.latency_s).values()) == {None}


def test_vegeta_warnings_before_the_report_are_passed_over() -> None:
    data = named("vegeta/ramp-json").data
    assert parse("vegeta", b"2026/11/20 a warning\n" + data).as_dict() == parse("vegeta", data).as_dict()


def test_binary_results_are_named() -> None:
    parsed = parse("vegeta", (SAMPLES / "vegeta/ramp-results.bin").read_bytes())
    assert (parsed.report, parsed.format, parsed.requests) == ("absent", "gob", None)


def test_vegeta_reports_of_earlier_releases_lack_two_latencies() -> None:
    report = json.loads(named("vegeta/ramp-json").data)
    whole = parse("vegeta", json.dumps(report).encode())
    del report["latencies"]["min"], report["latencies"]["90th"]
    parsed = parse("vegeta", json.dumps(report).encode())
    assert (whole.report, parsed.report, parsed.requests) == ("complete", "complete", whole.requests)
    assert asdict(parsed.latency_s) == asdict(whole.latency_s) | {"min": None, "p90": None}
    del report["latencies"]["99th"]
    assert parse("vegeta", json.dumps(report).encode()).failure == "the JSON has no 'latencies.99th'"


def test_vegeta_members_may_come_in_any_order() -> None:
    report = json.loads(named("vegeta/ramp-json").data)
    for members in (sorted(report.items()), [*report.items()][::-1]):
        assert parse("vegeta", json.dumps(dict(members)).encode()) == parse("vegeta", json.dumps(report).encode())


TEXT = (OUTPUTS / "odd-vegeta.txt").read_text()


def text(**changes: str) -> Any:
    texts = {"requests": "400, 200.47, 200.45", "duration": "2s", "mean": "38.00", "success": "100.00"}
    texts |= {"codes": "200:400  ", "errors": ""}
    return parse("vegeta", TEXT.format(**texts | changes).encode())


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [("0s", 0.0), ("1ns", 1e-9), ("260.963µs", 0.000260963), ("260.963μs", 0.000260963), ("29.754us", 2.9754e-05),
     ("29.754Âµs", 2.9754e-05), ("29.754\ufffds", 2.9754e-05), ("1.996s", 1.996), ("995.38ms", 0.99538),
     ("1m2.5s", 62.5), ("5m0s", 300.0), ("1h2m3.004s", 3723.004), ("29.99908055s", 29.99908055), ("1h0m0s", 3600.0),
     ("37m38.34086671s", 2258.34086671)],
)  # fmt: skip
def test_durations_of_the_text(printed: str, seconds: float) -> None:
    parsed = text(duration=printed)
    assert parsed.report == "complete"
    assert (parsed.duration_s, parsed.latency_s.min, parsed.extra["attack_s"]) == (seconds, seconds, seconds)


@pytest.mark.parametrize(
    "printed",
    ["1", "1m", "1h", "1h1m", "1h1s", "1.5m", "1 s", "s", "1.s", "1s1s", "1ms1s", "1m1", "1e3s", "+1s", "12µ",
     "2562047h47m16.854s"],
)  # fmt: skip
def test_what_is_no_duration(printed: str) -> None:
    parsed = text(duration=printed)
    assert (parsed.report, parsed.duration_s) == ("partial", None)


def test_the_text_counts_answers_by_status_and_errors_of_one_kind() -> None:
    parsed = text(
        requests="40, 41.03, 6.78",
        codes="503:10  404:10  0:7  200:10  204:1  301:2",
        errors='503 Service Unavailable\n404 Not Found\nGet "http://h/": EOF\n'
        'Get "http://h/": read tcp 1:2->3:4: read: connection reset by peer\n\nThe end.\n',
    )
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 40, 33, 11)
    errors = parsed.errors
    assert (errors.non2xx, errors.read, errors.connect, errors.timeout, errors.write) == (22, 7, 0, 0, None)


@pytest.mark.parametrize(
    ("codes", "errors"), [("0:400", ""), ("500:400", ""), ("0:1 500:399", "500 Internal Server Error\n")]
)
def test_errors_that_must_follow_are_missed(codes: str, errors: str) -> None:
    parsed = text(codes=codes, errors=errors)
    assert (parsed.report, parsed.errors.connect) == ("partial", None)


def test_the_text_of_no_request() -> None:
    parsed = text(requests="0, 0.00, 0.00", duration="0s", mean="NaN", success="NaN", codes="")
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 0, 0, 0)
    assert set(asdict(parsed.latency_s).values()) == {None}


@pytest.mark.parametrize(
    ("rows", "extra", "duration_s", "failure"),
    [
        (
            "Requests      [total, rate]            400, 200.47\n"
            "Duration      [total, attack, wait]    2.5s, 2s, 500ms\n"
            "Latencies     [mean, 50, 95, 99, max]  3ms, 2ms, 5ms, 7ms, 9ms\n",
            {"rate": 200.47, "attack_s": 2.0, "wait_s": 0.5}, 2.5, None,
        ),
        (
            "Requests      [total]              400\n"
            "Duration      [total]              2s\n"
            "Latencies     [mean, 95, 99, max]  3ms, 5ms, 7ms, 9ms\n",
            {"rate": None}, 2.0, None,
        ),
        (
            "Requests      [total]              400\n"
            "Latencies     [mean, max, 95, 99]  3ms, 9ms, 5ms, 7ms\n",
            {"rate": None}, None, "no Duration row",
        ),
    ],
)  # fmt: skip
def test_the_text_of_earlier_releases_has_fewer_values(
    rows: str, extra: Any, duration_s: float | None, failure: str | None
) -> None:
    rows += "Bytes In      [total, mean]  15200, 38.00\nBytes Out     [total, mean]  0, 0.00\n"
    rows += "Success       [ratio]  100.00%\nStatus Codes  [code:count]  200:400\nError Set:\n"
    parsed = parse("vegeta", rows.encode())
    assert (parsed.failure, parsed.duration_s, parsed.extra, parsed.rps) == (failure, duration_s, extra, None)
    latency = parsed.latency_s
    assert (latency.mean, latency.p95, latency.p99, latency.max, latency.min) == (0.003, 0.005, 0.007, 0.009, None)
    assert (parsed.requests, parsed.bytes_read) == (400, 15200)


def test_the_text_of_a_row_in_another_form_does_not_fail() -> None:
    parsed = text(requests="400, 200.47, 200.45", duration="2s")
    data = TEXT.format(requests="4", duration="2s", mean="1", success="1", codes="200:4", errors="")
    odd = parse("vegeta", data.replace("[total, rate, throughput]", "[total/rate]").encode())
    assert (parsed.report, odd.report, odd.attempts, odd.duration_s) == ("complete", "partial", None, 2.0)


def test_json_of_before_5_0_1_has_neither_a_wait_nor_rates() -> None:
    report = json.loads(named("vegeta/ramp-json").data) | {"errors": None}
    for name in ("wait", "rate", "throughput", "earliest", "latest", "end"):
        del report[name]
    for name in ("min", "90th", "total"):
        del report["latencies"][name]
    parsed = parse("vegeta", json.dumps(report).encode())
    assert (parsed.report, parsed.requests, parsed.rps) == ("complete", 200, None)
    assert parsed.extra == {"rate": None, "attack_s": report["duration"] / 1e9, "wait_s": None}
    assert parsed.duration_s == report["duration"] / 1e9
