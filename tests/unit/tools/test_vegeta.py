"""Output of vegeta beyond the samples: status codes, errors, and binary results."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from parse_samples import named
from places import SAMPLES

from bench.tools import parse


def attack(codes: str, errors: list[str]) -> Any:
    """What is read of the sample's report with these responses by status, and errors, instead of its own."""
    data = named("vegeta/ramp-json").data
    for old, new in ((b'{"200":200}', codes.encode()), (b'"errors":[]', f'"errors":{json.dumps(errors)}'.encode())):
        assert old in data
        data = data.replace(old, new)
    return parse("vegeta", data)


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
