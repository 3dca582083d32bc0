"""`build` gives a record for each planned measurement, whatever bytes a run's files contain."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from built_runs import build, lines_of, write_a_run_of_each_tool
from make_run import output_of, services_of, write_measurement


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_a_run_of_each_tool(tmp_path / "a-run")


HOSTILE = [
    *(b"", b"\x00" * 4096, b"null", b"[]", b'"x"', b"{", b"[" * 100_000),
    *(b'{"schema":1}', "⚡".encode() * 9, b"\xff\xfe"),
]
SERVICE = "raw/services/aiohttp-py313-debian"
COUNTERS = ("aiohttp-py313-debian.before", "aiohttp-py313-debian.after")
OF_EACH = ("meta.json", "tool.json", *COUNTERS, "output")
OF_A_SERVICE = ("image.json", "os-release.txt", "python.txt", "jit.txt", "packages.txt", "failure.json")


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", [*OF_EACH, *(f"{SERVICE}/{name}" for name in OF_A_SERVICE), "run.json"])
def test_any_bytes_in_a_file_give_every_record(name: str, data: bytes, folder: Path) -> None:
    for line in lines_of(folder) if name in OF_EACH else ():
        file = {"vegeta": "output.json"}.get(line["tool"], "output.txt") if name == "output" else name
        place = services_of(folder, line) if name in COUNTERS else folder / line["dir"]
        (place / file).write_bytes(data)
    if name not in OF_EACH:
        (folder / name).write_bytes(data)
    records = build(folder)
    assert len(records) == 4
    if name in {"meta.json", "tool.json", "output"}:
        assert not any(record.valid for record in records)
    elif name == "run.json":
        assert all(record.valid for record in records)


ENDS = [[], {"loadgen": 3}, {"loadgen": {"cpuacct.usage": "-3"}}, {"proc_stat": "cpu " + "9 " * 3}]
WRONG_TYPES = {
    "exit_status": (["exit_status"], [None, "x", [], {}, True, 1e300]),
    "argv": (["command"], ["wrk", [], [1], [["x"]], None]),
    "start_ns": (["loadgen_busy_ratio", "loadgen_wait_ratio"], ["x", None, 10**40, []]),
    "before": (["loadgen_cpu_s", "steal_ratio", "foreign_ratio"], ENDS),
    "tool_version": (["tool_version"], [3, "", None, ["4.1.0"]]),
}


@pytest.mark.parametrize("key", WRONG_TYPES)
def test_wrong_types_in_tool_json_are_null_with_a_reason(key: str, folder: Path) -> None:
    line, (names, values) = lines_of(folder)[0], WRONG_TYPES[key]
    for value in values:
        write_measurement(folder, line, output_of(line, 4000), tool={key: value})
        record = build(folder)[0]
        assert [getattr(record, name) for name in names] == [None] * len(names)
        assert all(record.nulls[name] for name in names)


@pytest.mark.parametrize(
    ("health", "valid"), [([], True), ("200", True), ({"status": "200"}, False), ({"status": [200]}, False)]
)
def test_malformed_health_check_and_status(health: Any, valid: bool, folder: Path) -> None:
    line = lines_of(folder)[0]
    write_measurement(folder, line, output_of(line, 4000), tool={"health_after": health})
    record = build(folder)[0]
    assert record.valid is valid
    assert [cause.cause for cause in record.causes] == ([] if valid else ["server"])


def test_lines_of_the_plan_that_are_none_are_named(folder: Path) -> None:
    good = (folder / "plan.jsonl").read_text()
    line = json.loads(good.splitlines()[0])
    changes = [{"id": 7}, {"id": "r09", "connections": "64"}, {"id": "r10", "dir": "../../etc"}]
    changes += [{"id": "r11", "tool": "siege"}, {"id": "r12", "service": "../x"}, {"id": "r13", "round": 0}]
    bad = ["{", *(json.dumps(line | change) for change in changes), json.dumps(line)]
    (folder / "plan.jsonl").write_text(good + "\n".join(bad) + "\n")
    assert len(build(folder)) == 4
    report = (folder / "report.md").read_text()
    assert report.count("plan.jsonl, line ") == len(bad) and "r01-0001 is planned twice" in report


def test_a_pipe_or_a_huge_file_in_the_folder_is_no_output(folder: Path) -> None:
    wrk, hey, *_ = lines_of(folder)
    (folder / wrk["dir"] / "output.txt").unlink()
    os.mkfifo(folder / wrk["dir"] / "output.txt")
    with (folder / hey["dir"] / "output.txt").open("r+b") as file:
        file.truncate(1 << 40)
    assert [record.valid for record in build(folder)] == [False, False, True, True]


def test_a_hostile_detail_stays_in_its_cell(folder: Path) -> None:
    line = lines_of(folder)[0]
    detail = "x | y\n\n# A heading\n<script>alert(1)</script> ![](http://x) `" + "z" * 10_000
    write_measurement(folder, line, output_of(line, 4000), meta={"outcome": "died", "detail": detail})
    build(folder)
    report = (folder / "report.md").read_text()
    assert "<script>" not in report and "\n# A heading" not in report and "![](" not in report
    assert max(map(len, report.splitlines())) < 1000
