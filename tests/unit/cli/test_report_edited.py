"""A results folder that was edited by hand: changed files are reported, and their measurements not ranked."""

from __future__ import annotations

import json
import shutil
import tempfile
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from built_runs import build, lines_of, report_of
from edited_run import write_run_of_each_kind
from fuzz import as_bytes, damaged_json, damaged_text, fuzz
from hypothesis import strategies as st
from make_run import services_of

from bench.analysis.runs.compatibility import discrepancies_of, read_compared
from bench.cli.report import build_verb
from bench.core.errors import UserError
from bench.export.judged_run import judge_run
from bench.records.file import read_records
from bench.records.record import Record
from bench.run.reader import read_raw, read_run
from bench.words.runs import compatibility_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_run_of_each_kind(tmp_path / "a-run")


def changed(records: list[Record]) -> dict[str, str]:
    return {record.id: cause.detail for record in records for cause in record.causes if cause.cause == "changed"}


def test_what_nobody_edited_is_as_it_was(folder: Path) -> None:
    records = build(folder)
    assert changed(records) == {} and [record.valid for record in records] == [True] * 9
    assert "sha256" not in (folder / "report.md").read_text()
    metas = [json.loads((folder / line["dir"] / "meta.json").read_text())["sha256"] for line in lines_of(folder)]
    names = ("aiohttp-py313-debian", "postgres", "upstream")
    counters = {f"{name}.{when}" for name in names for when in ("before", "after")}
    turns = {"output.txt", "tool.json"}
    vegeta = {"output.json", "tool.json", "lag.json", "latencies.json"} | counters
    expected = [*[turns | counters] * 3, vegeta, vegeta | {"knee.json"}, *[turns] * 4]
    assert [set(names) for names in metas] == expected


@pytest.mark.parametrize("number", range(9))
def test_an_edited_file_is_named_and_its_measurement_is_not_ranked(number: int, folder: Path) -> None:
    line = lines_of(folder)[number]
    counters = [] if line.get("mode") == "turns" else services_of(folder, line).glob("*.[ab]*")
    for path in sorted([*(folder / line["dir"]).iterdir(), *counters]):
        if path.name == "meta.json":
            continue
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        records = judge_run(folder).records
        words = f"{path.name} was edited after the measurement (by its sha256 in meta.json)"
        assert changed(records) == {line["id"]: words}
        assert [record.id for record in records if not record.valid] == [line["id"]]
        path.write_bytes(before)
    assert changed(build(folder)) == {}
    path.write_bytes(b"x")
    assert "| changed | " in report_of(folder)


def test_a_file_that_is_gone_or_came_later_is_named(folder: Path) -> None:
    wrk, hey, *_ = lines_of(folder)
    (services_of(folder, wrk) / f"{wrk['service']}.after").unlink()
    meta = folder / hey["dir"] / "meta.json"
    told = json.loads(meta.read_text())
    del told["sha256"]["postgres.after"]
    meta.write_text(json.dumps(told))
    found = changed(build(folder))
    assert found[wrk["id"]].startswith("aiohttp-py313-debian.after was removed")
    assert found[hey["id"]].startswith("postgres.after was added")


@pytest.mark.parametrize("hashes", [None, [], "x", {}, {"output.txt": 3}])
def test_hashes_that_are_none_fit_no_file(hashes: Any, folder: Path) -> None:
    line = lines_of(folder)[0]
    meta = folder / line["dir"] / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"sha256": hashes}))
    assert [*changed(build(folder))] == [line["id"]]


def test_a_run_of_before_the_hashes_is_judged_without_them(folder: Path) -> None:
    for line in lines_of(folder):
        meta = folder / line["dir"] / "meta.json"
        told = json.loads(meta.read_text())
        del told["sha256"]
        meta.write_text(json.dumps(told))
        (folder / line["dir"] / "tool.json").write_bytes((folder / line["dir"] / "tool.json").read_bytes() + b"\n")
    assert all(record.valid for record in build(folder))


def test_a_plan_that_was_edited_is_named(folder: Path) -> None:
    plan = folder / "plan.jsonl"
    plan.write_text(plan.read_text().replace('"warmup_s"', '"warmup"') + "\n")
    said = "plan.jsonl is not what the run was planned with: its sha256 is not the one in run.json"
    assert said in report_of(folder)


@pytest.mark.parametrize("schema", [0, 2, "1", None, [1], True])
def test_a_run_of_another_schema_is_refused_with_its_version(schema: Any, folder: Path) -> None:
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"schema": schema}))
    with pytest.raises(UserError, match=r"a-run/run.json is of schema .*, this version reads 1: "):
        build_verb([str(folder)])


@cache
def whole() -> tuple[Path, tuple[str, ...]]:
    """A run's folder and its files."""
    folder = write_run_of_each_kind(Path(tempfile.mkdtemp()) / "a-run")
    return folder, tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))


@st.composite
def edits(draw: st.DrawFn) -> dict[str, bytes | None]:
    """New contents of one to three files; None: the file is deleted."""
    folder, files = whole()
    found: dict[str, bytes | None] = {}
    for name in draw(st.lists(st.sampled_from(files), min_size=1, max_size=3, unique=True)):
        text = (folder / name).read_text()
        damaged = [damaged_text(text)]
        if name == "plan.jsonl":
            lines = text.splitlines()
            damaged.append(st.tuples(*(st.one_of(st.just(line), damaged_json(line)) for line in lines)).map("\n".join))
        elif name.endswith(".json"):
            damaged.append(damaged_json(text))
        found[name] = draw(st.one_of(st.none(), *(each.map(as_bytes) for each in damaged)))
    return found


WINDOWS = ("w1/tornado", "w2/aiohttp")
KEPT: tuple[dict[str, bytes | None], ...] = (
    # More than 63 bits, too much for a column of an export.
    {"raw/r01/b1/services/aiohttp-py313-debian.after": b"running true\nmemory_bytes 9999999999999999999\n"},
    # The services of a table share no window.
    {f"raw/r01/b1/json/wrk-c16/{window}-py313-debian/output.txt": None for window in WINDOWS},
    # A character that Unicode has not assigned.
    {"raw/services/tornado-py313-debian/python.txt": b"\xef\xb7\x88Python 3.13.1 (main) [GCC]\n"},
)


@fuzz(edits(), examples=15, kept=KEPT)
def test_fuzz_an_edited_folder(edited: dict[str, bytes | None]) -> None:
    original, _ = whole()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "a-run"
        shutil.copytree(original, folder)
        for name, data in edited.items():
            if data is None:
                (folder / name).unlink()
            else:
                (folder / name).write_bytes(data)
        try:
            build_verb(["--quiet", str(folder)])
        except UserError as error:
            assert {"run.json", "plan.jsonl"} & edited.keys() and str(error)
            return
        check_built(original, folder, edited)


def check_built(original: Path, folder: Path, edited: dict[str, bytes | None]) -> None:
    """There is a record per line of the plan, edits of valid measurements are reported, and all files can be read."""
    records = read_records(folder)
    planned = {one.id: one for one in read_run(str(folder)).planned}
    assert {record.id for record in records} <= planned.keys()
    if not {"run.json", "plan.jsonl"} & edited.keys():
        assert [record.id for record in records] == [*planned]
    for record in records:
        if record.valid:
            assert 0 < record.successes <= record.requests <= record.attempts and 0 < record.goodput < 1e12
        names = {name for name in edited if name.startswith(f"{planned[record.id].dir}/")}
        raw = read_raw(str(folder), planned[record.id])
        saved = [name for name in names if name.rpartition("/")[2] in hashed(original, name)]
        if any((original / name).read_bytes() != edited[name] for name in saved):
            assert not record.valid or not raw.meta or "sha256" not in raw.meta
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert not [mark for mark in report if unicodedata.category(mark)[0] == "C" and mark != "\n"]
    assert (folder / "index.html").read_text(encoding="utf-8").endswith("</html>\n")
    found = discrepancies_of(read_compared(str(original)), read_compared(str(folder)))
    assert all("\n" not in line for line in compatibility_lines(found))


def hashed(folder: Path, name: str) -> dict[str, str]:
    """The hashes that the loop saved beside a raw file."""
    found: dict[str, str] = json.loads((folder / name).with_name("meta.json").read_text())["sha256"]
    return found
