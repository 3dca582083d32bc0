"""Lines of records.jsonl that are damaged or from other versions: read, or refused with the line and the reason."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from built_runs import build, write_a_run_of_each_tool
from fuzz import as_bytes, damaged_json, fuzz
from hypothesis import strategies as st

from bench.__main__ import main
from bench.analysis.runs.compatibility import read_compared
from bench.core.errors import UserError
from bench.records.file import read_records
from bench.records.record import BadRecord, Record, dump, from_line, load

SCHEMA = Record.SCHEMA


@cache
def run() -> Path:
    folder = Path(tempfile.mkdtemp()) / "a-run"
    build(write_a_run_of_each_tool(folder))
    return folder


@cache
def lines() -> list[str]:
    return (run() / "records.jsonl").read_text().split("\n")[:-1]


def exported(format: str) -> int:
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())), patch.object(sys, "stderr", io.StringIO()):
        return main(["export", format, str(run())])


CASES = st.deferred(lambda: st.integers(0, 3).flatmap(lambda at: st.tuples(st.just(at), damaged_json(lines()[at]))))


@fuzz(CASES, examples=40)
def test_fuzz_a_damaged_line(case: tuple[int, str]) -> None:
    at, line = case
    text = as_bytes("\n".join([*lines()[:at], line, *lines()[at + 1 :]]) + "\n")
    (run() / "records.jsonl").write_bytes(text)
    try:
        records = read_records(run())
    except UserError as error:
        assert "rebuild it with: scripts/report.sh a-run" in str(error)
        assert exported("csv") == 2
        assert [record.id for record in read_compared(str(run())).records] == [
            json.loads(line)["id"] for line in lines()
        ]
        return
    # Reading loses nothing: a record that is written again is the same.
    assert list(load("".join(dump(records)).split("\n"), Record)) == records
    assert {exported(format) for format in ("csv", "gobench")} == {0}


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1, str(SCHEMA), True, None, float(SCHEMA)])
def test_a_record_of_another_schema_is_refused_with_its_version_and_made_again_from_the_raw_files(
    schema: object,
) -> None:
    other = json.dumps(json.loads(lines()[1]) | {"schema": schema})
    (run() / "records.jsonl").write_text("\n".join([lines()[0], other]) + "\n")
    words = f"records.jsonl: line 2: a record of schema {schema}, this version reads {SCHEMA}; rebuild it with: "
    with pytest.raises(UserError, match=words):
        read_records(run())
    assert len(read_compared(str(run())).records) == 4


def test_separators_that_only_python_knows_do_not_end_a_line() -> None:
    value = json.loads(lines()[0])
    value["command"] = ["wrk", "\u2028", "\x85", "\x1c"]
    (run() / "records.jsonl").write_text(json.dumps(value, ensure_ascii=False) + "\n")
    assert read_records(run())[0].command == ("wrk", "\u2028", "\x85", "\x1c")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goodput": "fast"}, "goodput: expected 'float | null', got 'str'"),
        ({"valid": 1}, "valid: expected 'bool', got 'int'"),
        ({"round": 1.0}, "round: expected 'int', got 'float'"),
        ({"round": 0}, "round: expected 'int' >= 1"),
        ({"requests": 2**63}, "requests: expected 'int' <= 9223372036854775807"),
        ({"errors": []}, "errors: expected 'object', got 'array'"),
        ({"command": "wrk"}, "command: expected 'array | null', got 'str'"),
        ({"nulls": {"x": 1}}, "nulls[...]: expected 'str', got 'int'"),
        ({"mood": "good"}, "unknown key 'mood'"),
        ({"valid": False, "causes": [{"cause": "x"}]}, "causes[0]: missing key 'detail'"),
        ({"valid": False, "causes": [{"cause": "x", "detail": "y", "mood": 1}]}, "causes[0]: unknown key 'mood'"),
    ],
)
def test_a_wrong_type_is_named(changes: dict[str, object], words: str) -> None:
    with pytest.raises(BadRecord) as refused:
        from_line(json.dumps(json.loads(lines()[0]) | changes), Record)
    assert str(refused.value) == f"not a record of schema {SCHEMA}: {words}"
