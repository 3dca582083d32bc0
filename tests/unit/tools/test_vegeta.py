"""Output of vegeta beyond the samples: durations, status codes, errors, and binary results."""

from __future__ import annotations

import stat
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from parse_samples import named
from places import SAMPLES

from bench.tools import parse, vegeta

VEGETA = """\
Requests      [total, rate, throughput]         {requests}
Duration      [total, attack, wait]             {duration}, {duration}, 0s
Latencies     [min, mean, 50, 90, 95, 99, max]  {duration}, 1ms, 1ms, 1ms, 1ms, 1ms, 1ms
Bytes In      [total, mean]                     15200, {mean}
Bytes Out     [total, mean]                     0, 0.00
Success       [ratio]                           {success}%
Status Codes  [code:count]                      {codes}
Error Set:
{errors}"""


def attack(**changes: str) -> Any:
    texts = {"requests": "400, 200.47, 200.45", "duration": "2s", "mean": "38.00", "success": "100.00"}
    texts |= {"codes": "200:400  ", "errors": ""}
    return parse("vegeta", VEGETA.format(**texts | changes).encode())


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [("0s", 0.0), ("1ns", 1e-9), ("260.963µs", 0.000260963), ("260.963μs", 0.000260963), ("29.754us", 2.9754e-05),
     ("1.996s", 1.996), ("995.38ms", 0.99538), ("1m2.5s", 62.5), ("5m0s", 300.0), ("1h2m3.004s", 3723.004),
     ("2562047h47m16.854s", 9223372036.854), ("29.99908055s", 29.99908055), ("1h0m0s", 3600.0)],
)  # fmt: skip
def test_vegeta_durations(printed: str, seconds: float) -> None:
    if printed.startswith("2562047h"):  # longer than any attack: not a valid number
        assert attack(duration=printed).duration_s is None
        return
    parsed = attack(duration=printed)
    assert parsed.report == "complete"
    assert (parsed.duration_s, parsed.latency_s.min, parsed.extra["attack_s"]) == (seconds, seconds, seconds)


@pytest.mark.parametrize(
    "printed", ["", "1", "1m", "1h", "1.5m", "1 s", "s", "1.s", "1s1s", "1ms1s", "1m1", "1e3s", "+1s"]
)
def test_what_is_no_duration(printed: str) -> None:
    parsed = attack(duration=printed)
    assert (parsed.report, parsed.duration_s) == ("partial", None)


def test_vegeta_codes_and_errors() -> None:
    parsed = attack(
        requests="40, 41.03, 6.78",
        codes="0:7  200:10  204:1  301:2  404:10  503:10  ",
        errors='503 Service Unavailable\n404 Not Found\nGet "http://h/": EOF\n'
        'Get "http://h/": read tcp 1:2->3:4: read: connection reset by peer\n',
    )
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 40, 33, 11)
    errors = parsed.errors
    assert (errors.non2xx, errors.read, errors.connect, errors.timeout, errors.write) == (22, 7, 0, 0, None)


def test_vegeta_kinds_that_share_a_count_are_unknown() -> None:
    parsed = attack(codes="0:400", errors='Get "h": EOF\nGet "h": dial tcp: lookup h: no such host\n')
    assert (parsed.errors.read, parsed.errors.connect, parsed.errors.timeout) == (None, None, 0)


@pytest.mark.parametrize(
    ("codes", "errors"), [("0:400", ""), ("500:400", ""), ("0:1 500:399", "500 Internal Server Error\n")]
)
def test_vegeta_errors_that_must_follow_are_missed(codes: str, errors: str) -> None:
    parsed = attack(codes=codes, errors=errors)
    assert (parsed.report, parsed.errors.connect) == ("partial", None)


def test_vegeta_without_a_request() -> None:
    parsed = attack(requests="0, 0.00, 0.00", duration="0s", mean="NaN", success="NaN", codes="")
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 0, 0, 0)
    assert set(asdict(parsed.latency_s).values()) == {None}


def test_vegeta_json_without_a_request() -> None:
    data = named("vegeta/ramp-json").data
    for old, new in ((b'"requests":200', b'"requests":0'), (b'{"200":200}', b"{}")):
        data = data.replace(old, new)
    parsed = parse("vegeta", data)
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 0, 0, 0)
    assert set(asdict(parsed.latency_s).values()) == {None}


def test_vegeta_older_rows_give_what_they_hold() -> None:
    text = VEGETA.format(
        requests="400, 200.47, 200.45", duration="2s", mean="1.00", success="100.00", codes="200:400", errors=""
    )
    old = text.replace("[min, mean, 50, 90, 95, 99, max]  2s, 1ms, 1ms, 1ms,", "[mean, 50, 95, 99, max]  3ms, 1ms,")
    parsed = parse("vegeta", old.encode())
    assert parsed.report == "complete"
    assert (parsed.latency_s.mean, parsed.latency_s.min, parsed.latency_s.p90) == (0.003, None, None)


def test_vegeta_warnings_before_the_report_are_passed_over() -> None:
    for name in ("vegeta/ramp-json", "vegeta/ramp-text"):
        data = named(name).data
        warned = b"2026/11/20 a warning\n" + data
        assert parse("vegeta", warned).as_dict() == parse("vegeta", data).as_dict()


def fake_vegeta(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "vegeta"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.fixture
def binary() -> bytes:
    return (SAMPLES / "vegeta/ramp-results.bin").read_bytes()


def test_binary_results_without_vegeta_are_absent(
    binary: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    parsed = parse("vegeta", binary)
    assert (parsed.report, parsed.format, parsed.requests) == ("absent", "gob", None)
    assert "not installed" in str(parsed.failure)


def test_binary_results_are_what_vegeta_says(binary: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sample = named("vegeta/ramp-json")
    (tmp_path / "report.json").write_bytes(sample.data)
    fake_vegeta(
        tmp_path, f'test "$*" = "report -type=json" && cat > {tmp_path}/in && cat {tmp_path}/report.json', monkeypatch
    )
    assert parse("vegeta", binary).as_dict() == parse("vegeta", sample.data).as_dict() | {"format": "gob"}
    assert (tmp_path / "in").read_bytes() == binary


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("cat >/dev/null; echo bad gob >&2; exit 1", "bad gob"),
        ("exec sleep 9", "longer than 0.5 s"),
        ("exit 0", "no complete line"),
    ],
)
def test_binary_results_that_vegeta_cannot_read(
    body: str, failure: str, binary: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(vegeta, "_GOB_TIMEOUT_S", 0.5)
    fake_vegeta(tmp_path, body, monkeypatch)
    parsed = parse("vegeta", binary)
    assert (parsed.report, parsed.requests) == ("absent", None)
    assert failure in str(parsed.failure)


def test_binary_results_through_vegeta_itself(binary: bytes) -> None:
    parsed, truth = parse("vegeta", binary).as_dict(), named("vegeta/ramp-json").truth
    assert {key: parsed[key] for key in ("requests", "ok", "duration_s", "extra")} == {
        key: truth[key] for key in ("requests", "ok", "duration_s", "extra")
    }
    assert parse("vegeta", binary[: len(binary) // 2]).report == "absent"
