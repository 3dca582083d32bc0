"""A synthetic run with one measurement of each tool, and the records that `build` writes for a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from make_run import entry, output_of, write_measurement, write_run

from bench.cli.report import build_verb
from bench.records.record import Record, load


def write_a_run_of_each_tool(folder: Path) -> Path:
    """Writes a run without faults."""
    levels = {"wrk": "c64", "hey": "c64", "ab": "c16n1000", "vegeta": "r500"}
    lines = [entry(tool=tool, level=level, number=number) for number, (tool, level) in enumerate(levels.items(), 1)]
    write_run(folder, lines)
    for line in lines:
        write_measurement(folder, line, output_of(line, 500 if line["rate"] else 4000))
    return folder


def build(folder: Path) -> list[Record]:
    assert build_verb([str(folder)]) == 0
    return list(load((folder / "records.jsonl").read_text().splitlines()))


def only_record(folder: Path) -> Record:
    """The record of a run with one measurement."""
    (record,) = build(folder)
    return record


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
