"""Every raw sample comes out as its truth says."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from cpu import cpu_of
from parse_samples import figures, named

from bench.__main__ import main
from bench.cli.load import parse_verb
from bench.tools import TOOLS, parse

NOT_IN_THE_TEXT = ("tool_version", "server_seen", "notes", "exit_status", "sample")


def test_a_report_is_read_as_its_truth_says(read_sample: Any) -> None:
    out = parse(read_sample.tool, read_sample.data).as_dict()
    truth = {"extra": None} | {key: value for key, value in read_sample.truth.items() if key not in NOT_IN_THE_TEXT}
    assert {key: value for key, value in out.items() if key != "tool_version"} == truth


def test_a_version_is_told_by_ab_alone(read_sample: Any) -> None:
    version = parse(read_sample.tool, read_sample.data).tool_version
    assert version == ("2.3" if read_sample.tool == "ab" else None)


def test_another_format_is_named_and_gives_no_figure(other_sample: Any) -> None:
    parsed = parse(other_sample.tool, other_sample.data)
    assert parsed.report == "absent"
    assert parsed.format == other_sample.truth["format"]
    assert parsed.format in str(parsed.failure)
    assert figures(parsed.as_dict()) == {}


@pytest.mark.parametrize(
    ("tool", "output", "format"),
    [
        ("ab", b"Percentage served,Time in ms\n0,10.624\n", "csv"),
        ("ab", b"starttime\tseconds\tctime\tdtime\tttime\twait\nFri\t1\t0\t10\t11\t10\n", "gnuplot"),
    ],
)
def test_ab_second_outputs_are_named(tool: str, output: bytes, format: str) -> None:
    parsed = parse(tool, output)
    assert (parsed.report, parsed.format) == ("absent", format)


def test_the_command_prints_one_strict_json_object(sample: Any) -> None:
    out = io.StringIO()
    assert parse_verb([sample.tool], io.BytesIO(sample.data), out) == 0
    (line,) = out.getvalue().splitlines()
    printed = json.loads(line, parse_constant=pytest.fail)
    assert printed == parse(sample.tool, sample.data).as_dict()
    assert set(sample.truth) - {"server_seen", "notes", "exit_status", "sample"} <= set(printed)


@pytest.mark.parametrize("argv", [[], ["siege"], ["wrk", "ab"], ["WRK"], [""]])
def test_the_command_names_the_tools_when_there_is_no_such_one(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", *argv]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert all(tool in error for tool in TOOLS)


def test_parsing_costs_at_most_5_times_as_much_cpu_as_finding_all_numbers() -> None:
    samples = [named(f"{tool}/{name}") for tool, name in (("wrk", "basic-latency"), ("ab", "basic"), ("hey", "basic"))]
    samples.append(named("vegeta/ramp-json"))

    def parse_all() -> None:
        for sample in samples * 250:
            parse(sample.tool, sample.data)

    def numbers() -> None:
        for sample in samples * 250:
            for number in re.findall(r"\d+(?:\.\d+)?", sample.data.decode()):
                float(number)

    assert cpu_of(parse_all) <= 5 * cpu_of(numbers)  # 1.9, when this was written
