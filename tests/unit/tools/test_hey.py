"""Output of hey beyond the samples: status codes and kinds of error."""

from __future__ import annotations

from typing import Any

import pytest
from parse_samples import figures, named
from places import OUTPUTS
from tables import rows

from bench.tools import parse
from bench.tools.reading import go_error_kind

HEY = (OUTPUTS / "odd-hey.txt").read_text()


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


def test_hey_statuses_of_fewer_digits_are_no_good_answers() -> None:
    """A server may send 002 or 000 as status, which hey prints as numbers."""
    parsed = hey("  [2]\t13 responses\n  [200]\t2 responses\n  [0]\t3 responses\n")
    assert (parsed.requests, parsed.ok, parsed.errors.non2xx) == (18, 2, 16)
    assert parsed.errors.status == {"002": 13, "200": 2, "000": 3}


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
    """After a million results, hey continues to count but reports the codes of only the first million."""
    kept = hey("  [200]\t1000000 responses\n", total="60.0000", rps="30000.0000")
    assert kept.extra == {"results_kept": 1_000_000}
    assert hey("  [200]\t1000000 responses\n", total="50.0000", rps="20000.0000").extra is None


@pytest.mark.parametrize(
    ("text", "kind"),
    rows(__file__, "go_errors"),
)
def test_go_errors(text: str, kind: str) -> None:
    assert go_error_kind(text) == kind


def test_hey_0_1_5_prints_two_percent_signs() -> None:
    text = (OUTPUTS / "hey.txt").read_text()
    assert text.count("% in") == 7
    assert parse("hey", text.replace("% in", "%% in").encode()) == parse("hey", text.encode())


@pytest.mark.parametrize(
    ("rps", "report"),
    [("7.5000", "complete"), ("8.0000", "partial"), ("7.0000", "partial"), ("75000.0000", "complete")],
)
def test_hey_without_its_last_lines_is_complete_if_its_rate_counts_the_same_requests(rps: str, report: str) -> None:
    count = 150_000 if rps.startswith("75") else 15
    text = HEY.format(status=f"  [200]\t{count} responses\n", errors="", total="2.0000", rps=rps)
    assert parse("hey", text.rstrip().encode()).report == report


BOOM = (OUTPUTS / "boom.txt").read_text()


def test_boom_prints_the_status_codes_first() -> None:
    parsed = parse("hey", BOOM.encode())
    assert (parsed.report, parsed.requests, parsed.ok, parsed.rps) == ("complete", 1000, 990, 50.0)
    assert (parsed.errors.status, parsed.errors.non2xx) == ({"200": 990, "503": 10}, 10)
    latency = parsed.latency_s
    assert (latency.mean, latency.max, latency.p50, latency.p99) == (1.95, 2.9, 1.5, 1.99)
    # Errors may follow: its rate does not count them.
    assert (parsed.attempts, parsed.errors.connect) == (None, None)


def test_errors_of_boom_are_read_if_something_follows_them() -> None:
    text = BOOM + "\nError distribution:\n  [7]\tGet http://h/: EOF\n"
    assert parse("hey", text.encode()).failure == "cut off before the end of the errors"
    parsed = parse("hey", f"{text}\n".encode())
    assert (parsed.report, parsed.attempts, parsed.errors.read, parsed.errors.connect) == ("complete", 1007, 7, 0)


def test_boom_cut_at_any_line_gives_no_other_figure() -> None:
    text = BOOM + "\nError distribution:\n  [7]\tGet http://h/: EOF\n  [8]\tGet http://h/: dial tcp: x\n\n"
    expected = figures(parse("hey", text.encode()).as_dict())
    lines = text.splitlines(keepends=True)
    cuts = [parse("hey", "".join(lines[:end]).encode()) for end in range(len(lines))]
    assert all(figures(cut.as_dict()).items() <= expected.items() for cut in cuts)
    # Nothing tells that errors are missing, which are not counted.
    complete = [end for end, cut in enumerate(cuts) if cut.report == "complete"]
    assert complete == [BOOM.count("\n"), BOOM.count("\n") + 1]


def test_hey_0_1_0_prints_its_details_before_the_status_codes() -> None:
    details = "Detailed Report:\n\n\tDNS+dialup:\n  \t\tAverage:\t0.0100 secs\n  \t\tFastest:\t0.0001 secs\n"
    details += "\n\tRequest Write:\n  \t\tSlowest:\t0.0002 secs\n\n"
    text = BOOM.replace("secs.", "secs").replace("  Speed index:\tHahahaha\n", "")
    text = text.replace("Status code", f"{details}Status code")
    assert parse("hey", text.encode()) == parse("hey", BOOM.encode())


def test_hey_without_sections_that_were_left_out_has_the_others() -> None:
    text = named("hey/basic").data.decode()
    at, end = text.index("Response time histogram"), text.index("Status code")
    parsed, whole = parse("hey", f"{text[:at]}[...]\n\n{text[end:]}```\n".encode()), parse("hey", text.encode())
    assert (parsed.report, parsed.failure) == ("partial", "no Latency distribution; '[...]' is not understood")
    assert (parsed.requests, parsed.attempts, parsed.rps) == (whole.requests, whole.attempts, whole.rps)
    assert (parsed.latency_s.p50, parsed.errors.read) == (None, whole.errors.read)


def test_reports_of_ghz_are_named() -> None:
    parsed = parse("hey", b"Summary:\n  Count:\t200\n  Total:\t89.54 ms\n")
    assert (parsed.report, parsed.failure) == ("absent", "this is a report of ghz, not of hey")
