"""Output of wrk beyond the samples: units, optional lines, a run that did not start."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from places import OUTPUTS

from bench.tools import TOOLS, parse

WRK = (OUTPUTS / "odd-wrk.txt").read_text()


def wrk(**changes: str) -> Any:
    texts = {
        "latency": "    2.27ms    9.13ms  80.54ms   95.55%",
        "percentiles": "",
        "requests": "100",
        "time": "1.00m",
        "read": "1.00KB",
        "optional": "",
        "rps": "     1.67",
    }
    return parse("wrk", WRK.format(**texts | changes).encode())


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [("0.00us", 0.0), ("999.99us", 0.00099999), ("0.92ms", 0.00092), ("999.99ms", 0.99999), ("1.20s", 1.2),
     ("50.99s", 50.99), ("0.85m", 51.0), ("1.10m", 66.0), ("90.00m", 5400.0), ("1.50h", 5400.0)],
)  # fmt: skip
def test_wrk_times(printed: str, seconds: float) -> None:
    parsed = wrk(
        latency=f"{printed:>10} {printed:>9} {printed}   95.55%",
        percentiles="  Latency Distribution\n"
        + "".join(f"{percent:>7}%   {printed} \n" for percent in ("50", "99", "99.999")),
        time=printed,
    )
    assert parsed.report == "complete"
    latency = parsed.latency_s
    assert [latency.mean, latency.stdev, latency.max, latency.p50, latency.p99] == [seconds] * 5
    assert latency.p75 is None
    assert parsed.duration_s == seconds


@pytest.mark.parametrize(
    ("printed", "size", "exact"),
    [("0.00B", 0, True), ("860.00B", 860, True), ("0.85KB", 870, False), ("1.95KB", 1997, False),
     ("10.17MB", 10664018, False), ("3.55GB", 3811783475, False), ("1.00TB", 1 << 40, False),
     ("2.00PB", 1 << 51, False)],
)  # fmt: skip
def test_wrk_sizes_are_binary(printed: str, size: int, exact: bool) -> None:
    parsed = wrk(read=printed)
    assert (parsed.bytes_read, parsed.bytes_exact) == (size, exact)


def test_wrk_optional_lines() -> None:
    parsed = wrk(
        optional="  Socket errors: connect 8, read 7, write 6, timeout 5\n  Non-2xx or 3xx responses: 40\n",
        rps="123456789.12",
    )
    errors = parsed.errors
    assert (errors.connect, errors.read, errors.write, errors.timeout, errors.non2xx) == (8, 7, 6, 5, 40)
    assert (parsed.ok, parsed.rps) == (60, 123456789.12)


@pytest.mark.parametrize("share", ["-nan%", "nan%"])
def test_wrk_without_recorded_answers_has_no_latency(share: str) -> None:
    parsed = wrk(
        latency=f"    0.00us    0.00us   0.00us    {share}",
        percentiles="  Latency Distribution\n     50%    0.00us\n     99%    0.00us\n",
    )
    assert parsed.report == "complete"
    assert set(asdict(parsed.latency_s).values()) == {None}


def test_wrk_with_a_script_that_talks() -> None:
    text = WRK.format(latency=" 1.00ms 1.00ms 1.00ms 90.00%", percentiles="", requests="7", time="1.00s", read="7.00B",
                      optional="", rps="7.00")  # fmt: skip
    head, _, rest = text.partition("  Thread Stats")
    spoken = f"setup\n{head}Requests/sec: 5.00\n  9 requests in 9.00s, 9.00B read\n  Thread Stats{rest}done 12\n[1]\n"
    parsed = parse("wrk", spoken.encode())
    assert (parsed.report, parsed.failure) == ("partial", "'Requests/sec: 5.00' is not understood")
    assert (parsed.requests, parsed.rps, parsed.extra) == (7, 7.0, None)


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("unable to connect to ::1:9 Connection refused", "connection refused"),
        ("unable to connect to h:80 No route to host", "no route to host"),
        ("unable to resolve h:http Temporary failure in name resolution", "temporary failure in name resolution"),
    ],
)
def test_wrk_that_could_not_start(line: str, failure: str) -> None:
    parsed = parse("wrk", f"{line}\n".encode())
    assert (parsed.report, parsed.failure, parsed.requests) == ("absent", failure, None)


def test_a_duration_is_as_precise_as_its_unit() -> None:
    digits = [TOOLS["wrk"].duration_digit(seconds) for seconds in (1.0, 50.0, 51.0, 60.0, 3000.0, 5400.0)]
    assert digits == pytest.approx([0.005, 0.005, 0.3, 0.3, 0.3, 18.0])


def test_wrk_1_0_made_a_number_of_requests() -> None:
    parsed = parse("wrk", (OUTPUTS / "wrk-1.txt").read_bytes())
    assert (parsed.report, parsed.requests, parsed.duration_s, parsed.rps) == ("complete", 100_000, 8.0, 12_500.0)
    assert (parsed.errors.timeout, parsed.latency_s.max) == (53, 0.0265)


def test_headings_beside_a_report_do_not_name_another_tool() -> None:
    text = WRK.format(latency=" 1.00ms 1.00ms 1.00ms 90.00%", percentiles="", requests="7", time="1.00s", read="7.00B",
                      optional="", rps="7.00")  # fmt: skip
    parsed = parse("wrk", f"10 connections\n\n{text}".encode())
    assert (parsed.report, parsed.requests) == ("complete", 7)
