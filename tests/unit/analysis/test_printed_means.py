"""A printed mean is that of all windows of all rounds, never of those that came out well."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from built_runs import build
from make_run import entry, output_of, write_measurement, write_run
from places import ROOT
from printed_means import means_of_a_part

from bench.analysis.cells.cell import Cell
from bench.export.judged_run import judge_run
from bench.records.file import read_records
from bench.records.record import Cause
from bench.run.published import unpacked
from bench.words.cells import rate_words


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published run in which the load generator was busy, judged by today's rules."""
    folder = unpacked(ROOT / "results/published/quick", tmp_path_factory.mktemp("published"))
    judge_run(folder)
    return folder


def test_a_mean_of_the_slow_windows_is_found(quick: Path, tmp_path: Path) -> None:
    """Without the fastest window of each service, as where windows above a limit are left out."""
    assert not [*means_of_a_part(quick)]
    shutil.copy(quick / "records.jsonl", tmp_path)
    lines = [json.loads(text) for text in (quick / "verdicts.jsonl").read_text().splitlines()]
    records = read_records(quick)
    for line in lines:
        if line["kind"] == "service":
            row = (line["scenario"], line["service"], "turns")
            own = sorted(one.goodput or 0.0 for one in records if (one.scenario, one.service, one.mode) == row)
            line["goodput"]["mean"] = sum(own[:-1]) / len(own[:-1])
    (tmp_path / "verdicts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert len([*means_of_a_part(tmp_path)]) == 16


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Cell:
    """Three rounds of a service measured alone."""
    folder = tmp_path_factory.mktemp("run")
    lines = [entry(number=number, round=number) for number in (1, 2, 3)]
    write_run(folder, lines)
    for line, rate in zip(lines, (1000, 1100, 1500), strict=True):
        write_measurement(folder, line, output_of(line, rate))
    return Cell(tuple(build(folder)))


RATES = [
    (None, "1,200 (1,000 to 1,500)"),
    ("host", "1,200 (noisy: 1,000 to 1,500)"),
    ("loadgen-bound", "1,200 (1,000 to 1,500), or more"),
    ("errors", "1,000 to 1,100 in 2 of 3 rounds"),
    ("not run", "1,050 (1,000 to 1,100) †2/3"),
]


@pytest.mark.parametrize(("cause", "words"), RATES)
def test_a_service_alone_has_the_mean_of_all_its_rounds_or_none(alone: Cell, cause: str | None, words: str) -> None:
    *others, last = alone.records
    if cause:
        outcome = cause if cause == "not run" else last.outcome
        last = replace(last, valid=False, outcome=outcome, causes=(Cause(cause, "as made up"),))
    cell = Cell((*others, last))
    assert rate_words(cell) == words
    assert (cell.goodput is None) is (cause == "errors")
