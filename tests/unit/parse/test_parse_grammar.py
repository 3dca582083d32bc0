"""What the tools can print beyond the samples: units, optional lines, kinds of error."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from parse_samples import named
from places import SAMPLES

from bench.parse import parse, vegeta
from bench.parse.text import go_error_kind

WRK = """\
Running 1m test @ http://[::1]:8080/json?a=1
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency {latency}
    Req/Sec     1.91M   309.35     2.29G    62.50%
{percentiles}  {requests} requests in {time}, {read} read
{optional}Requests/sec: {rps}
Transfer/sec:      1.77GB
"""


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
    assert set(parsed.latency_s.as_dict().values()) == {None}


def test_wrk_with_a_script_that_talks() -> None:
    text = WRK.format(latency=" 1.00ms 1.00ms 1.00ms 90.00%", percentiles="", requests="7", time="1.00s", read="7.00B",
                      optional="", rps="7.00")  # fmt: skip
    head, _, rest = text.partition("  Thread Stats")
    spoken = f"setup\n{head}Requests/sec: 5.00\n  9 requests in 9.00s, 9.00B read\n  Thread Stats{rest}done 12\n[1]\n"
    parsed = parse("wrk", spoken.encode())
    assert (parsed.report, parsed.requests, parsed.rps, parsed.extra) == ("complete", 7, 7.0, None)


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


AB = """\
This is ApacheBench, Version 2.4-dev <$Revision: 1 $>

Benchmarking ::1 (be patient)
Finished 60 requests


Server Software:
Server Hostname:        ::1
Server Port:            8080
SSL/TLS Protocol:       TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256

Document Path:          /x?a=1
Document Length:        Variable

Concurrency Level:      2
Time taken for tests:   61.250 seconds
Complete requests:      {complete}
Failed requests:        {failed}
{optional}Total transferred:      7420 bytes
Total body sent:        900
HTML transferred:       300 bytes
{rest}"""
AB_RATES = """\
Requests per second:    0.98 [#/sec] (mean)
Time per request:       0.948 [ms] (mean)
Time per request:       0.474 [ms] (mean, across all concurrent requests)
Transfer rate:          254.86 [Kbytes/sec] received
                        272.45 kb/s sent
                        491.92 kb/s total
"""
AB_TIMES = """
Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.1      0       0
Processing:     0 12345 1234567.4      1 1234567
Waiting:        0    1   0.2      1       1
Total:          0 12345 1234567.4      1 1234567
ERROR: The median and mean for the initial connection time are more than twice the standard
       deviation apart. These results are NOT reliable.
WARNING: The median and mean for the total time are not within a normal deviation
        These results are probably not that reliable.
"""
AB_SERVED = """
Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  75%      1
  80%      1
  90%  12345
  95%  12345
  98%  123456
  99%  1234567
 100%  1234567 (longest request)
"""


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


def test_ab_receive_failures_alone_leave_ok_certain() -> None:
    parsed = ab(failed=8, optional="   (Connect: 0, Receive: 5, Length: 0, Exceptions: 3)\n")
    assert (parsed.ok, parsed.ok_range) == (55, None)


def test_ab_failures_without_their_kinds_are_not_a_report() -> None:
    parsed = ab(failed=8)
    assert (parsed.report, parsed.requests, parsed.ok, parsed.errors.read) == ("partial", 60, None, None)


def test_ab_that_completed_nothing() -> None:
    parsed = ab(complete=0, rest="")
    assert (parsed.report, parsed.requests, parsed.ok, parsed.rps) == ("complete", 0, 0, None)
    assert set(parsed.latency_s.as_dict().values()) == {None}


def test_ab_without_percentiles() -> None:
    """One request has none; with more, -d cannot be told from a cut, and the figures that are there stay."""
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


HEY = """
Summary:
  Total:\t{total} secs
  Slowest:\t0.0480 secs
  Fastest:\t0.0000 secs
  Average:\t0.0260 secs
  Requests/sec:\t{rps}


Response time histogram:
  0.001 [1]\t|■■■■


Latency distribution:
  10% in 0.0018 secs
  50% in 0.0000 secs
  0% in 0.0000 secs
  99% in 71.0480 secs

Details (average, fastest, slowest):
  DNS+dialup:\t0.0001 secs, 0.0014 secs, 0.0480 secs

Status code distribution:
{status}
{errors}

"""


def hey(status: str, errors: str = "", total: str = "1.0000", rps: str = "100.0000") -> Any:
    if errors:
        errors = "Error distribution:\n" + errors
    return parse("hey", HEY.format(status=status, errors=errors, total=total, rps=rps).encode())


def test_hey_status_codes() -> None:
    parsed = hey(
        "  [200]\t13 responses\n  [204]\t2 responses\n  [302]\t3 responses\n"
        "  [404]\t4 responses\n  [503]\t5 responses\n"
    )
    assert (parsed.report, parsed.requests, parsed.attempts, parsed.ok) == ("complete", 27, 27, 15)
    assert (parsed.errors.non2xx, parsed.errors.status) == (12, {"200": 13, "204": 2, "302": 3, "404": 4, "503": 5})
    latency = parsed.latency_s
    assert (latency.p50, latency.p75, latency.p99, latency.min) == (0.0, None, 71.048, 0.0)


def test_hey_errors_that_differ_in_a_port_are_one_kind() -> None:
    read = 'Get "http://s:8080/": read tcp 10.0.0.1:{0}->10.0.0.2:8080: read: connection reset by peer'
    parsed = hey(
        "  [200]\t13 responses\n",
        "".join(f"  [{count}]\t{read.format(40000 + count)}\n" for count in (1, 2, 3))
        + '  [4]\tGet "http://s:8080/": dial tcp 10.0.0.2:8080: connect: connection refused\n'
        + '  [5]\tGet "http://s:8080/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)\n'
        + '  [6]\tGet "http://s:8080/": http: server gave HTTP response to HTTPS client\n'
        + '  [7]\tPost "http://s:8080/": write tcp 10.0.0.1:40000->10.0.0.2:8080: write: broken pipe\n',
    )
    errors = parsed.errors
    assert (errors.read, errors.connect, errors.timeout, errors.other, errors.write) == (6, 4, 5, 6, 7)
    assert (parsed.requests, parsed.attempts, parsed.ok) == (13, 41, 13)


def test_hey_that_stopped_keeping_results_says_so() -> None:
    """Past a million results hey counts on, but tells the codes of the first million only."""
    kept = hey("  [200]\t1000000 responses\n", total="60.0000", rps="30000.0000")
    assert kept.extra == {"results_kept": 1_000_000}
    assert hey("  [200]\t1000000 responses\n", total="50.0000", rps="20000.0000").extra is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('Get "http://h/timeout": dial tcp 1.2.3.4:80: connect: connection refused', "connect"),
        ('Get "http://h/": dial tcp [::1]:80: connect: connection refused', "connect"),
        ('Get "http://h/": dial tcp: lookup h: no such host', "connect"),
        ('Get "http://h/": dial tcp 1.2.3.4:80: socket: too many open files', "connect"),
        ('Get "http://h/": dial tcp 1.2.3.4:80: connect: cannot assign requested address', "connect"),
        ('Get "http://h/": dial tcp 0.0.0.0:0->1.2.3.4:80: connect: connection reset by peer', "connect"),
        ('Get "http://h/": dial tcp 1.2.3.4:80: i/o timeout', "timeout"),
        ('Get "http://h/": dial tcp 1.2.3.4:80: connect: connection timed out', "timeout"),
        ('Get "http://h/": net/http: request canceled (Client.Timeout exceeded while awaiting headers)', "timeout"),
        ('Get "http://h/": net/http: TLS handshake timeout', "timeout"),
        ("context deadline exceeded (Client.Timeout or context cancellation while reading body)", "timeout"),
        ('Get "http://h/dial%20": EOF', "read"),
        ("unexpected EOF", "read"),
        ('Get "http://h/": http: server closed idle connection', "read"),
        ("read tcp 1.2.3.4:5->1.2.3.4:80: read: connection reset by peer", "read"),
        ('Post "http://h/": write tcp 1.2.3.4:5->1.2.3.4:80: write: connection reset by peer', "write"),
        ('Get "http://h/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "x"', "other"),
        ("", "other"),
    ],
)
def test_go_errors(text: str, kind: str) -> None:
    assert go_error_kind(text) == kind


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
    if printed.startswith("2562047h"):  # longer than any attack: no number
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
    assert set(parsed.latency_s.as_dict().values()) == {None}


def test_vegeta_json_without_a_request() -> None:
    data = named("vegeta/ramp-json").data
    for old, new in ((b'"requests":200', b'"requests":0'), (b'{"200":200}', b"{}")):
        data = data.replace(old, new)
    parsed = parse("vegeta", data)
    assert (parsed.report, parsed.attempts, parsed.requests, parsed.ok) == ("complete", 0, 0, 0)
    assert set(parsed.latency_s.as_dict().values()) == {None}


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
