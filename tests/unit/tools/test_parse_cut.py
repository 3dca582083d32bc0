"""A text that breaks off never gives a figure that the whole text does not give."""

from __future__ import annotations

from typing import Any

import pytest
from parse_samples import figures, named

from bench.tools import parse

# vegeta's text has no end mark: a cut between two errors of the set leaves a report that looks whole, with one
# kind of error fewer. Its JSON, which is what records are made from, has one.
UNMARKED_END = ("vegeta/closed-and-hung",)


def test_a_cut_at_any_byte_gives_no_other_figure(read_sample: Any) -> None:
    data = read_sample.data
    whole = parse(read_sample.tool, data)
    expected = figures(whole.as_dict())
    for end in range(len(data)):
        cut = parse(read_sample.tool, data[:end])
        wrong = {path: value for path, value in figures(cut.as_dict()).items() if expected.get(path) != value}
        if read_sample.name in UNMARKED_END:
            wrong = {path: value for path, value in wrong.items() if path not in ("/errors/read", "/errors/timeout")}
        assert not wrong, (end, data[:end][-40:])
        assert (cut.report == "complete") == (cut.failure is None)
        # What a cut may leave out of a complete report: bytes after the last figure.
        if cut.report == "complete":
            assert whole.report == "complete"
            assert set(expected) - set(figures(cut.as_dict())) <= {"/extra/script_json"}


def test_most_cuts_are_noticed(read_sample: Any) -> None:
    """A report counts as whole only when nothing but its last bytes can be missing."""
    data = read_sample.data
    whole = [end for end in range(len(data)) if parse(read_sample.tool, data[:end]).report == "complete"]
    # The script's line after wrk's report and an error that vegeta has not counted may be cut off unseen.
    longest = {"wrk/lua-done-json": 300, "vegeta/closed-and-hung": 115}.get(read_sample.name, 4)
    assert len(data) - min(whole, default=len(data)) <= longest


def test_a_cut_of_another_format_is_survived(other_sample: Any) -> None:
    for end in range(0, len(other_sample.data), 97):
        parsed = parse(other_sample.tool, other_sample.data[:end])
        assert parsed.report == "absent"
        assert figures(parsed.as_dict()) == {}


@pytest.mark.parametrize(
    ("name", "before", "field"),
    [
        ("wrk/basic-latency", b"Requests/sec:  442", "rps"),
        ("wrk/basic-latency", b"Requests/sec:  44285.32", "rps"),
        ("wrk/basic-latency", b"Requests/sec:  44285.32", "ok"),
        ("ab/basic", b"Complete requests:      10", "requests"),
        ("ab/basic", b"Requests per second:    8294.01 [#/sec] (mean)", "rps"),
        ("ab/mixed-500-other-length", b"Length: 100, Exceptions: 0)\n", "ok_range"),
        ("hey/basic", b"Requests/sec:\t12702.92", "rps"),
        ("hey/mixed-200-500", b"[200]\t400 responses\n", "requests"),
        ("hey/nofile-20", b"[200]\t130 responses\n\n", "attempts"),
        ("vegeta/basic-text", b"1.996s, 1.995s, 260", "duration_s"),
        ("vegeta/mixed-200-500", b"200:160", "ok"),
    ],
)
def test_the_line_at_the_cut_is_not_read(name: str, before: bytes, field: str) -> None:
    sample = named(name)
    end = sample.data.index(before) + len(before)
    assert getattr(parse(sample.tool, sample.data), field) is not None
    parsed = parse(sample.tool, sample.data[:end])
    assert parsed.report == "partial"
    assert getattr(parsed, field) is None
    assert "cut off" in str(parsed.failure)


def test_a_line_missing_from_the_middle_is_named() -> None:
    sample = named("ab/basic")
    parsed = parse("ab", sample.data.replace(b"Total transferred:      138000 bytes\n", b""))
    assert parsed.report == "partial"
    assert (parsed.requests, parsed.ok, parsed.bytes_read) == (1000, None, None)
    assert "Total transferred" in str(parsed.failure)


def test_a_cut_json_is_no_json() -> None:
    parsed = parse("vegeta", named("vegeta/ramp-json").data[:300])
    assert (parsed.report, parsed.format, parsed.requests, parsed.attempts) == ("partial", "json", None, None)
