"""Whatever the text, a parser returns strict JSON with figures in range, at a cost linear in its length."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from cpu import cpu_of
from parse_properties import check
from parse_samples import named

from bench.tools import TOOLS, parse


def mutations(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Damage of the kinds that files suffer."""
    lines = data.split(b"\n")
    for _ in range(20):
        at, other = rng.randrange(len(data)), rng.randrange(len(data))
        yield data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        yield data[:at] + data[at + rng.randrange(1, 20) :]
        yield data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:]
        yield data[: min(at, other)] + data[max(at, other) :]
        yield re.sub(rb"[0-9]+", lambda found: found[0] if rng.random() < 0.8 else odd_number(rng), data)
        shuffled = list(lines)
        rng.shuffle(shuffled)
        yield b"\n".join(shuffled)
        first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
        yield b"\n".join([*lines[:first], lines[second], *lines[first:]])
        yield b"\n".join([*lines[:first], *lines[first + 1 :]])


def odd_number(rng: random.Random) -> bytes:
    odd = (b"-1", b"9" * 400, b"9" * 5000, b"1e999", b"NaN", b"-nan", b"inf", b"0x10", b"1,234", b"", "١٢".encode())
    return rng.choice(odd)


def test_damaged_samples(sample: Any) -> None:
    rng = random.Random(sample.name)
    for data in mutations(sample.data[:4000], rng):
        check(parse(sample.tool, data))


@pytest.mark.parametrize("tool", TOOLS)
def test_random_bytes(tool: str) -> None:
    rng = random.Random(tool)
    words = [
        b"Requests",
        b"Summary:\n",
        b"Running 1s test @ ",
        b"Server Software:",
        b'{"latencies":',
        b"[",
        b"{",
        b"\n",
        b"%",
        b"0",
    ]
    for _ in range(300):
        check(parse(tool, rng.randbytes(rng.randrange(300))))
        check(parse(tool, b" ".join(rng.choices(words, k=30))))


def test_another_tools_report_gives_no_figure(read_sample: Any) -> None:
    for tool in set(TOOLS) - {read_sample.tool}:
        parsed = parse(tool, read_sample.data)
        check(parsed)
        assert (parsed.report, parsed.requests, parsed.rps) == ("absent", None, None)


def test_two_reports_in_one_text_give_no_figure(read_sample: Any) -> None:
    if parse(read_sample.tool, read_sample.data).report == "absent":
        return
    twice = parse(read_sample.tool, read_sample.data + read_sample.data)
    assert (twice.report, twice.requests, twice.rps, twice.ok) == ("absent", None, None, None)
    assert "2" in str(twice.failure)
    cut_first = parse(read_sample.tool, read_sample.data[: len(read_sample.data) * 2 // 3] + b"\n" + read_sample.data)
    assert (cut_first.report, cut_first.requests) == ("absent", None)


@pytest.mark.parametrize(
    ("name", "old", "new", "field"),
    [
        ("wrk/basic-latency", "44285.32", "44,285.32", "rps"),
        ("wrk/basic-latency", "44285.32", "-44285.32", "rps"),
        ("wrk/basic-latency", "44285.32", "nan", "rps"),
        ("wrk/basic-latency", "44285.32", "inf", "rps"),
        ("wrk/basic-latency", "44285.32", "٤٤٢٨٥.٣٢", "rps"),
        ("wrk/basic-latency", "89573 requests", "٨٩٥٧٣ requests", "requests"),
        ("wrk/basic-latency", "89573 requests", "18446744073709551616 requests", "requests"),
        ("wrk/basic-latency", "Requests/sec:", "\x1b[1mRequests/sec:\x1b[0m", "rps"),
        ("ab/basic", "requests:      1000", "requests:      -1000", "requests"),
        ("ab/basic", "requests:      1000", "requests:      1,000", "requests"),
        ("ab/basic", "requests:      1000", "requests:      ¹⁰⁰⁰", "requests"),
        ("ab/basic", "138000 bytes", "-2147483648 bytes", "bytes_read"),
        ("hey/basic", "12702.9241", "+Inf", "rps"),
        ("hey/basic", "12702.9241", "1" * 400 + ".0", "rps"),
        ("hey/basic", "1000 responses", "1 000 responses", "requests"),
        ("hey/basic", "1000 responses", "-1 responses", "requests"),
        ("vegeta/basic-text", "200:400", "200:-400", "requests"),
        ("vegeta/basic-text", "200:400", "200:4e2", "requests"),
        ("vegeta/basic-text", "1.996s", "-1.996s", "duration_s"),
        ("vegeta/basic-text", "1.996s", "1.996 s", "duration_s"),
        ("vegeta/basic-text", "1.996s", "2562047h47m16.854775807s9", "duration_s"),
        ("vegeta/ramp-json", '"requests":200', '"requests":2e2', "requests"),
        ("vegeta/ramp-json", '"requests":200', '"requests":true', "requests"),
        ("vegeta/ramp-json", '"requests":200', '"requests":-200', "requests"),
        ("vegeta/ramp-json", '"requests":200', '"requests":' + "9" * 5000, "requests"),
        ("vegeta/ramp-json", '"throughput":95', '"throughput":NaN,"x":95', "rps"),
        ("vegeta/ramp-json", '"throughput":95.63048935863792', '"throughput":1e999', "rps"),
        ("vegeta/ramp-json", '"200":200', '"200":"200"', "requests"),
        ("vegeta/ramp-json", '"errors":[]', '"errors":{}', "requests"),
        ("vegeta/ramp-json", '"latencies":{', '"latencies":[{', "rps"),
    ],
)
def test_a_number_out_of_the_grammar_is_no_number(name: str, old: str, new: str, field: str) -> None:
    sample = named(name)
    assert sample.data.count(old.encode()) >= 1
    parsed = parse(sample.tool, sample.data.replace(old.encode(), new.encode()))
    check(parsed)
    assert parsed.report == "partial"
    assert getattr(parsed, field) is None


def test_counters_that_overflowed_are_unknown() -> None:
    data = named("wrk/mixed-200-500").data.replace(b"responses: 9097", b"responses: -9097")
    parsed = parse("wrk", data)
    assert (parsed.requests, parsed.errors.non2xx, parsed.ok) == (45486, None, None)
    data = named("wrk/resets-every-4th").data.replace(b"read 1843", b"read -1843")
    assert (parse("wrk", data).errors.read, parse("wrk", data).errors.write) == (None, 0)


def test_more_bad_answers_than_answers_leave_ok_unknown() -> None:
    wrk = named("wrk/mixed-200-500").data.replace(b"responses: 9097", b"responses: 99999")
    ab = named("ab/mixed-500-other-length").data.replace(b"responses:      100", b"responses:      999")
    assert parse("wrk", wrk).ok is None
    assert (parse("ab", ab).ok, parse("ab", ab).ok_range) == (None, None)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "unit",
    [
        b"\n",
        b" ",
        b"0",
        b"9",
        b"{",
        b"[",
        b'{"latencies":',
        b'\n{"latencies":',
        b"{\n",
        b'"',
        b"apr_",
        b"apr_socket_recv: x (",
        b"Running 1s test @ ",
        b"Summary:\n",
        b"Server Software: \n",
        b"Requests      [total, rate, throughput] 1, ",
        b"Total:  0",
        b"  [1]\tx\n",
        b"\xff",
        b"\x06Result\x01",
        "■".encode(),
        b"1h1m",
    ],
)
def test_the_cost_of_a_text_is_not_quadratic_in_its_length(tool: str, unit: bytes) -> None:
    # The refused connections of wrk and ab leave no report.
    report = named({"wrk": "wrk/basic-latency", "ab": "ab/basic"}.get(tool, f"{tool}/refused")).data

    def read(length: int) -> None:
        data = unit * (length // len(unit))
        check(parse(tool, data))
        for at in (len(report) // 3, len(report) * 9 // 10, len(report) - 1):
            check(parse(tool, report[:at] + data + report[at:]))

    # CPU time, by 10 times the length: a linear scan takes 10 times as much, a quadratic one 100 times.
    assert cpu_of(lambda: read(500_000), 1) <= 40 * max(0.001, cpu_of(lambda: read(50_000)))


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_no_report(tool: str) -> None:
    for data in (b"", b"\n", b"\n \n", b"\x00" * 100):
        parsed = parse(tool, data)
        assert parsed.report == "absent"
        assert parsed.failure
