"""A synthetic run with one measurement of each tool, and the records that `build` writes for a run."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from make_run import output_of, plan_lines, write_measured, write_measurement, write_run

from bench.__main__ import main
from bench.cli.report import build_verb
from bench.export.judged_run import judge_run
from bench.records.file import read_records
from bench.records.record import Record


def write_a_run_of_each_tool(folder: Path) -> Path:
    """Writes a run without faults."""
    loads = (("wrk", "c64"), ("hey", "c64"), ("ab", "c16n1000"), ("vegeta", "r500"))
    return write_measured(folder, plan_lines(("aiohttp", "json", *load) for load in loads), 4000)


def build(folder: Path) -> list[Record]:
    build_verb([str(folder)])
    return read_records(folder)


def only_record(folder: Path) -> Record:
    """The record of a run with one measurement, which is judged without making a report."""
    judge_run(folder)
    (record,) = read_records(folder)
    return record


def measured(folder: Path, line: Mapping[str, Any], output: str | bytes | None = None, **files: Any) -> Record:
    """The record of one measurement with these raw files; without `output`, at 4,000/s or the rate that was asked."""
    write_run(folder, [line])
    write_measurement(folder, line, output_of(line, line["rate"] or 4000) if output is None else output, **files)
    return only_record(folder)


def report_of(folder: Path) -> str:
    """The report of a run, which is built."""
    build_verb([str(folder)])
    return (folder / "report.md").read_text()


def exported(form: str, folder: Path) -> bytes:
    """What an export of a run prints."""
    out = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(out, write_through=True)) as kept:
        assert main(["export", form, str(folder)]) == 0
        kept.detach()
    return out.getvalue()


def causes(record: Record) -> list[str]:
    return [cause.cause for cause in record.causes]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
