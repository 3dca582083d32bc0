"""Outputs as terminals, shells, web pages and logs leave them: the same figures, or a word on what is missing."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable

import pytest
from parse_samples import READ, Sample, figures, named

from bench.tools import TOOLS, parse

of_every_report = pytest.mark.parametrize("sample", READ, ids=[sample.name for sample in READ])
TEXT = [sample for sample in READ if sample.truth["format"] == "text"]
of_every_text = pytest.mark.parametrize("sample", TEXT, ids=[sample.name for sample in TEXT])


def each_line(change: Callable[[int, str], str]) -> Callable[[str], bytes]:
    return lambda text: "".join(change(at, line) for at, line in enumerate(text.splitlines(keepends=True))).encode()


SAME = {
    "as it is": str.encode,
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "spaces for tabs": lambda text: text.expandtabs().encode(),
    "other spaces": lambda text: text.replace("\t", "\xa0 ").replace("  ", " \xa0").encode(),
    "a markdown block": each_line(lambda _, line: f"    {line}"),
    "no indentation": each_line(lambda _, line: line.lstrip(" \t") or "\n"),
    "more of it": each_line(lambda at, line: f"{'   ' * (at % 3)}{line}"),
    "fences": lambda text: (
        f"My result:\n\n```console\n$ tool -x 9 http://h/ 7 secs\n{text}```\n\nAll 5 done.\n".encode()
    ),
    "a terminal's colours": each_line(lambda _, line: f"\x1b[1;32m{line[:-1]}\x1b[0m\x1b[K\n"),
    "UTF-16 of a shell": lambda text: text.encode("utf-16"),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "remarks": each_line(lambda at, line: f"{line[:-1]}{('', '  // 7', '  # 8 ms')[at % 3] if line.strip() else ''}\n"),
    "blanks at the ends of lines": each_line(lambda _, line: f"{line[:-1]}   \n"),
}
QUOTED = {
    "a quote": each_line(lambda _, line: f"> {line}"),
    "a comment": each_line(lambda _, line: f"# {line}"),
    "Compose": each_line(lambda _, line: f"bench_1  | {line}"),
    "a log with times": each_line(lambda at, line: f"2026-11-28T12:54:33.{9633315 + at}Z {line}"),
    "line numbers": each_line(lambda at, line: f"{at + 1:6}\t{line}"),
}


@pytest.mark.parametrize("form", SAME)
@of_every_text
def test_a_pasted_report_has_all_of_its_figures(sample: Sample, form: str) -> None:
    whole, parsed = parse(sample.tool, sample.data), parse(sample.tool, SAME[form](sample.data.decode()))
    expected = figures(whole.as_dict())
    # What follows wrk's report is not its own.
    assert figures(parsed.as_dict()) in (expected, {k: v for k, v in expected.items() if k != "/extra/script_json"})
    assert parsed.report == whole.report


@pytest.mark.parametrize("form", QUOTED)
@pytest.mark.parametrize(
    "name", ["wrk/basic-latency", "wrk/mixed-200-500", "ab/mixed-500-other-length", "hey/basic", "vegeta/basic-text"]
)
def test_what_stands_before_each_line_is_passed_over(name: str, form: str) -> None:
    sample = named(name)
    text = sample.data.decode()
    parsed, whole = parse(sample.tool, QUOTED[form](text)), parse(sample.tool, sample.data)
    assert (parsed.report, figures(parsed.as_dict())) == ("complete", figures(whole.as_dict()))


@of_every_text
def test_wrapped_lines_give_no_other_figure(sample: Sample) -> None:
    expected = figures(parse(sample.tool, sample.data).as_dict())
    lines = sample.data.decode().splitlines()
    for width in range(60, 133):
        wrapped = "\n".join(line[at : at + width] for line in lines for at in range(0, len(line) or 1, width))
        found = figures(parse(sample.tool, f"{wrapped}\n".encode()).as_dict())
        assert found.items() <= expected.items(), width


GROUPS = {
    "1,234": lambda number: f"{int(number):,}",
    "1 234": lambda number: f"{int(number):,}".replace(",", " "),
    "1.234": lambda number: f"{int(number):,}".replace(",", "."),
    "1\u202f234": lambda number: f"{int(number):,}".replace(",", "\u202f"),
    "1'234": lambda number: f"{int(number):,}".replace(",", "'"),
}


@pytest.mark.parametrize("form", GROUPS)
@of_every_report
def test_a_number_in_groups_is_no_other_number(sample: Sample, form: str) -> None:
    """One at a time: people who write so do not write all numbers so."""
    text = sample.data.decode()
    expected = figures(parse(sample.tool, sample.data).as_dict())
    for number in re.finditer(r"(?<![\d.])[1-9]\d{3,}(?![\d%])", text):
        other = f"{text[: number.start()]}{GROUPS[form](number[0])}{text[number.end() :]}"
        assert figures(parse(sample.tool, other.encode()).as_dict()).items() <= expected.items(), number


@of_every_report
def test_a_decimal_comma_is_no_other_number(sample: Sample) -> None:
    text = sample.data.decode()
    expected = figures(parse(sample.tool, sample.data).as_dict())
    for point in re.finditer(r"(?<=\d)\.(?=\d)", text):
        other = f"{text[: point.start()]},{text[point.end() :]}"
        assert figures(parse(sample.tool, other.encode()).as_dict()).items() <= expected.items(), point


@pytest.mark.parametrize(
    ("name", "head"),
    [("wrk/basic-latency", "  Thread Stats"), ("wrk/basic-latency", "  2 threads"), ("ab/basic", "Concurrency Level")],
)
def test_a_report_without_its_first_lines_has_all_of_its_figures(name: str, head: str) -> None:
    sample = named(name)
    text = sample.data.decode()
    parsed, whole = parse(sample.tool, text[text.index(head) :].encode()), parse(sample.tool, sample.data)
    assert (parsed.report, figures(parsed.as_dict())) == ("complete", figures(whole.as_dict()))


def test_a_headless_report_after_another_is_a_second_one() -> None:
    text = named("wrk/basic-latency").data.decode()
    parsed = parse("wrk", f"{text}{text[text.index('  Thread Stats') :]}".encode())
    assert (parsed.report, parsed.failure) == ("absent", "2 wrk reports in one output")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_word_before_the_first_line_is_no_report(tool: str) -> None:
    """Prose that mentions a report, before it."""
    name = {"wrk": "wrk/basic-latency", "vegeta": "vegeta/basic-text"}.get(tool, f"{tool}/basic")
    text = named(name).data.decode()
    first = next(
        line for line in text.splitlines() if line.startswith(("Running", "Server S", "Summary", "Requests", "{"))
    )
    prose = textwrap.dedent(f"""\
        We saw this: {first}
        old {first}
    """)
    assert figures(parse(tool, f"{prose}\n{text}".encode()).as_dict()) == figures(parse(tool, text.encode()).as_dict())


@pytest.mark.parametrize("form", sorted(SAME.keys() - {"remarks"}))
def test_a_pasted_json_report_has_all_of_its_figures(form: str) -> None:
    """As jq prints it."""
    report = json.dumps(json.loads(named("vegeta/ramp-json").data), indent=2) + "\n"
    assert parse("vegeta", SAME[form](report)) == parse("vegeta", named("vegeta/ramp-json").data)


def test_a_figure_in_another_form_is_not_that_of_a_later_line() -> None:
    text = named("wrk/basic-latency").data.decode()
    text = (
        text.replace("Requests/sec:  44285.32", "Requests/sec: 44,285.32")
        + "Requests/sec: 1.00\nTransfer/sec: 1.00KB\n"
    )
    parsed = parse("wrk", text.encode())
    assert (parsed.rps, parsed.requests) == (None, 89573)
    assert parsed.failure == "'Requests/sec: 44,285.32' instead of the Requests/sec line"


def test_bold_figures_are_read() -> None:
    data = named("wrk/basic-latency").data
    assert parse("wrk", data.replace(b"  89573 requests", b"  **89573** requests")) == parse("wrk", data)


def test_an_optional_line_in_another_form_is_not_a_zero() -> None:
    wrk = named("wrk/mixed-200-500").data.replace(b"responses: 9097", b"responses: 9,097")
    ab = named("ab/mixed-500-other-length").data.replace(b"responses:      100", b"responses:      1,00")
    for tool, data in (("wrk", wrk), ("ab", ab)):
        parsed = parse(tool, data)
        assert (parsed.report, parsed.errors.non2xx, parsed.ok, parsed.ok_range) == ("partial", None, None, None)
        assert "Non-2xx" in str(parsed.failure)
        assert parsed.rps is not None
