"""Outputs of all load tools: real ones are read correctly; damaged or foreign ones never give a wrong figure."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from cpu import cpu_of, takes_at_most
from fuzz import ODD_TEXT, as_bytes, damaged_json, damaged_text, fuzz
from hypothesis import strategies as st
from parse_samples import ALL, NOT_READ, READ, Sample, figures, named
from tables import rows

from bench.__main__ import main
from bench.cli.load import parse_verb
from bench.tools import TOOLS, parse
from bench.tools.parsed import Parsed

NOT_IN_THE_TEXT = ("tool_version", "server_seen", "notes", "exit_status", "sample")
of_every_report = pytest.mark.parametrize("sample", READ, ids=[sample.name for sample in READ])
of_every_other_format = pytest.mark.parametrize("sample", NOT_READ, ids=[sample.name for sample in NOT_READ])


REPORTS = ("complete", "partial", "absent")
COUNTS = ("requests", "attempts", "ok", "bytes_read")
RATES = ("duration_s", "rps")


def check(parsed: Parsed) -> None:
    out = parsed.as_dict()
    # Strict JSON: every figure is finite.
    assert json.loads(json.dumps(out, allow_nan=False)) == out
    assert out["report"] in REPORTS
    assert (out["failure"] is None) == (out["report"] == "complete")
    counts = [out[key] for key in COUNTS] + [
        out["errors"][key] for key in ("connect", "read", "write", "timeout", "non2xx")
    ]
    assert all(value is None or (type(value) is int and value >= 0) for value in counts)
    assert all(out[key] is None or out[key] >= 0 for key in RATES)
    assert all(value is None or value >= 0 for value in out["latency_s"].values())
    assert len(str(out["failure"])) < 400
    check_totals(out)


def check_totals(out: dict[str, Any]) -> None:
    """There are no more good responses than responses, and each response has one status.

    Whether figures that a tool prints twice agree is checked by the validity rules.
    """
    requests, status = out["requests"], out["errors"]["status"]
    most = out["ok"] if out["ok_range"] is None else out["ok_range"][1]
    if requests is not None:
        assert most is None or most <= requests
    if out["ok_range"] is not None:
        assert 0 <= out["ok_range"][0] <= out["ok_range"][1]
    if status is not None:
        assert requests == sum(count for code, count in status.items() if code != "0")


@of_every_report
def test_a_report_is_read_as_its_truth_says(sample: Sample) -> None:
    out = parse(sample.tool, sample.data).as_dict()
    assert out.pop("tool_version") == ("2.3" if sample.tool == "ab" else None)
    truth = {"extra": None} | {key: value for key, value in sample.truth.items() if key not in NOT_IN_THE_TEXT}
    assert out == truth


@of_every_other_format
def test_another_format_is_named_and_gives_no_figure(sample: Sample) -> None:
    parsed = parse(sample.tool, sample.data)
    assert (parsed.report, parsed.format) == ("absent", sample.truth["format"])
    assert parsed.format in str(parsed.failure)
    for end in (*range(0, len(sample.data), 97), len(sample.data)):
        parsed = parse(sample.tool, sample.data[:end])
        assert (parsed.report, figures(parsed.as_dict())) == ("absent", {})


def test_the_command_prints_one_strict_json_object() -> None:
    sample, out = named("ab/mixed-500-other-length"), io.StringIO()
    assert parse_verb(["ab"], io.BytesIO(sample.data), out) == 0
    (line,) = out.getvalue().splitlines()
    assert json.loads(line, parse_constant=pytest.fail) == parse("ab", sample.data).as_dict()


@pytest.mark.parametrize(
    ("argv", "help_with"),
    rows(__file__, "no_tools"),
)
def test_the_command_helps_when_there_is_no_such_tool(
    argv: list[str], help_with: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", *argv]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert help_with in error


@pytest.mark.parametrize("name", ["hey/basic", "wrk/basic-latency", "ab/basic", "vegeta/ramp-json"])
def test_a_usual_report_may_lose_its_last_line_feeds(name: str) -> None:
    sample = named(name)
    assert parse(sample.tool, sample.data.rstrip()).report == "complete"


@pytest.mark.parametrize(
    ("tool", "text", "name"),
    rows(__file__, "other_tools"),
)
def test_reports_of_other_tools_are_named(tool: str, text: str, name: str) -> None:
    parsed = parse(tool, text.encode())
    assert (parsed.report, parsed.failure) == ("absent", f"this is a report of {name}, not of {tool}")
    assert figures(parsed.as_dict()) == {}


@pytest.mark.parametrize(
    ("name", "after"),
    rows(__file__, "odd_lines"),
)
def test_a_line_that_is_not_understood_is_quoted(name: str, after: str) -> None:
    sample = named(name)
    text = sample.data.decode()
    at = text.index("\n", text.index(after)) + 1 if not after.endswith("\n") else text.index(after) + len(after)
    whole, parsed = parse(sample.tool, sample.data), parse(sample.tool, f"{text[:at]}  p42: 7 ms\n{text[at:]}".encode())
    assert (parsed.report, parsed.failure) == ("partial", "'p42: 7 ms' is not understood")
    assert figures(parsed.as_dict()).items() <= figures(whole.as_dict()).items()
    assert (parsed.requests, parsed.rps) == (whole.requests, whole.rps)


@pytest.mark.parametrize(("cut", "status"), [(0, 0), (40, 3), (10_000, 1)])
def test_the_status_says_how_much_was_read(cut: int, status: int) -> None:
    data = named("wrk/basic-latency").data
    assert parse_verb(["wrk"], io.BytesIO(data[: max(0, len(data) - cut)]), io.StringIO()) == status


# vegeta's text has no end mark: if it is cut between two kinds of error, the report looks complete but lacks one. Its
# JSON, from which records are made, has an end mark.
UNMARKED_END = {"vegeta/closed-and-hung": {"/errors/read", "/errors/timeout"}}
LONGEST_END = {"wrk/lua-done-json": 300, "vegeta/closed-and-hung": 115}
"""Bytes that may be cut off without notice: a script's line after wrk's report, an error that vegeta has not counted.

For all others, at most 4."""


@of_every_report
def test_a_cut_at_any_byte_gives_no_other_figure_and_is_noticed(sample: Sample) -> None:
    expected, complete = figures(parse(sample.tool, sample.data).as_dict()), []
    for end in range(len(sample.data)):
        cut = parse(sample.tool, sample.data[:end])
        found = figures(cut.as_dict())
        wrong = {path for path, value in found.items() if expected.get(path) != value}
        assert not wrong - UNMARKED_END.get(sample.name, set()), (end, sample.data[:end][-40:])
        assert (cut.report == "complete") == (cut.failure is None)
        if cut.report == "complete":
            complete.append(end)
            assert expected.keys() - found.keys() <= {"/extra/script_json"}
    assert len(sample.data) - min(complete, default=len(sample.data)) <= LONGEST_END.get(sample.name, 4)


def test_a_line_missing_from_the_middle_is_named() -> None:
    parsed = parse("ab", named("ab/basic").data.replace(b"Total transferred:      138000 bytes\n", b""))
    assert parsed.report == "partial"
    assert (parsed.requests, parsed.ok, parsed.bytes_read) == (1000, None, None)
    assert "Total transferred" in str(parsed.failure)


@of_every_report
def test_another_tools_report_gives_no_figure(sample: Sample) -> None:
    for tool in set(TOOLS) - {sample.tool}:
        parsed = parse(tool, sample.data)
        check(parsed)
        assert (parsed.report, parsed.requests, parsed.rps) == ("absent", None, None)


@of_every_report
def test_two_reports_in_one_text_give_no_figure(sample: Sample) -> None:
    if parse(sample.tool, sample.data).report == "absent":
        return
    twice = parse(sample.tool, sample.data + sample.data)
    assert (twice.report, twice.requests, twice.rps, twice.ok) == ("absent", None, None, None)
    assert "2" in str(twice.failure)
    cut_first = parse(sample.tool, sample.data[: len(sample.data) * 2 // 3] + b"\n" + sample.data)
    assert (cut_first.report, cut_first.requests) == ("absent", None)


@pytest.mark.parametrize(
    ("name", "old", "new", "field"),
    [
        *rows(__file__, "numbers"),
        ("hey/basic", "12702.9241", "1" * 400 + ".0", "rps"),
        ("vegeta/ramp-json", '"requests":200', '"requests":' + "9" * 5000, "requests"),
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
    [b"\n", b" ", b"0", b"9", b"{", b"[", b'{"latencies":', b'\n{"latencies":', b"{\n", b'"', b"apr_",
     b"apr_socket_recv: x (", b"Running 1s test @ ", b"Summary:\n", b"Server Software: \n",
     b"Requests      [total, rate, throughput] 1, ", b"Total:  0", b"  [1]\tx\n", b"\xff", b"\x06Result\x01",
     "■".encode(), b"1h1m"],
)  # fmt: skip
def test_the_cost_of_a_text_is_not_quadratic_in_its_length(tool: str, unit: bytes) -> None:
    # The refused connections of wrk and ab leave no report.
    report = named({"wrk": "wrk/basic-latency", "ab": "ab/basic"}.get(tool, f"{tool}/refused")).data

    def read(length: int) -> None:
        data = unit * (length // len(unit))
        check(parse(tool, data))
        for at in (len(report) // 3, len(report) * 9 // 10, len(report) - 1):
            check(parse(tool, report[:at] + data + report[at:]))

    # CPU time for 10 times the length: a linear scan takes 10 times as long, a quadratic one 100 times.
    limit_s = 40 * max(0.001, cpu_of(lambda: read(10_000)))
    assert takes_at_most(limit_s, lambda: read(100_000))


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_no_report(tool: str) -> None:
    for data in (b"", b"\n", b"\n \n", b"\x00" * 100):
        parsed = parse(tool, data)
        assert parsed.report == "absent"
        assert parsed.failure


TEXTS = {tool: [s.data[:6000].decode(errors="replace") for s in ALL if s.tool == tool] for tool in TOOLS}
JSON = {tool: [s.data.decode() for s in ALL if (s.tool, s.truth["format"]) == (tool, "json")] for tool in TOOLS}
LONGEST_S, A_BYTE_S = 0.5, 10e-6
"""The most seconds for a text and for each of its bytes: a hundred times what they take."""


@st.composite
def outputs(draw: st.DrawFn) -> tuple[str, bytes]:
    """A tool, and a damaged output of this or another tool."""
    tool = draw(st.sampled_from([*TOOLS]))
    damaged = [damaged_text(text) for text in TEXTS[tool]]
    damaged += [damaged_json(text) for text in JSON[tool]]
    parts = draw(
        st.lists(
            st.one_of(st.sampled_from(damaged).flatmap(lambda found: found), st.sampled_from(ODD_TEXT)),
            min_size=1,
            max_size=2,
        )
    )
    return tool, as_bytes("".join(parts))


KEPT = [
    ("hey", next(text for text in TEXTS["hey"] if "[200]" in text).replace("[200]", "[0]")),
    ("wrk", "\U0001239a" * 80),
]
"""Responses with status 000; a first line that gets long when quoted."""


@fuzz(outputs(), examples=200, kept=[(tool, text.encode()) for tool, text in KEPT])
def test_fuzz_a_damaged_output(case: tuple[str, bytes]) -> None:
    tool, data = case
    assert takes_at_most(LONGEST_S + A_BYTE_S * len(data), lambda: check(parse(tool, data)))


@fuzz(st.tuples(st.sampled_from([*TOOLS]), st.binary(max_size=2000)), examples=100)
def test_fuzz_any_bytes(case: tuple[str, bytes]) -> None:
    check(parse(*case))
