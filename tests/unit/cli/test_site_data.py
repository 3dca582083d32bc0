"""The data in the site of published runs: the same rows as Parquet and as JSON Lines, beside each run's page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest
from places import ROOT

from bench.__main__ import main
from bench.export.columns import types

RUNS = {"threads-keepalive": "records", "one-sync-worker": "events"}
"""A run of tables and one of events alone."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of these runs, in a clone in which nothing is unpacked."""
    clone = tmp_path_factory.mktemp("clone")
    (clone / "results/published").mkdir(parents=True)
    for path in (*ROOT.iterdir(), *(ROOT / "results/published" / name for name in RUNS)):
        if path.name != "results":
            (clone / path.relative_to(ROOT)).symlink_to(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(clone)
        assert main(["site", "site"]) == 0
    return clone / "site"


def read(query: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        return database.sql(query).fetchall()


def test_measurements_have_the_same_rows_in_both_formats(site: Path) -> None:
    folder = site / "threads-keepalive"
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().split("\n") if line]
    names = ("id", "service", "valid", "goodput", "cpu_per_success_s", "memory_loaded_bytes")
    rows = read(f"SELECT {', '.join(names)} FROM '{folder}/records.parquet'")
    assert rows == [tuple(record[name] for name in names) for record in records] and len(rows) > 20
    assert rows == read(f"SELECT {', '.join(names)} FROM read_json('{folder}/records.jsonl')")
    described = read(f"DESCRIBE SELECT * FROM '{folder}/records.parquet'")
    assert [row[0] for row in described] == [*types()]
    (verdicts,) = read(f"SELECT count(verdict) FROM '{folder}/records.parquet'")[0]
    assert isinstance(verdicts, int) and verdicts > 0


def test_events_have_the_same_rows_in_both_formats(site: Path) -> None:
    folder = site / "one-sync-worker"
    records = [json.loads(line) for line in (folder / "events.jsonl").read_text().split("\n") if line]
    rows = read(f"SELECT id, sent, answered FROM '{folder}/events.parquet'")
    assert rows == [
        (record["id"], record["sent"], None if record["sent"] is None else record["fates"].get("answered", 0))
        for record in records
    ]
    assert rows and not [*folder.glob("records.*")]


def test_the_front_page_and_the_page_of_a_run_lead_to_its_data(site: Path) -> None:
    front = (site / "index.html").read_text()
    for name, kind in RUNS.items():
        files = ["raw.tar.xz", f"{kind}.parquet", f"{kind}.jsonl", "verdicts.jsonl"]
        assert re.findall(r'href="([^"]+)" download', (site / name / "index.html").read_text()) == files
        assert re.findall(rf'href="{name}/([^"]+)" download', front) == files
        assert all((site / name / file).stat().st_size for file in files)


def test_what_is_judged_already_is_not_judged_again(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.parent)
    made = [Path("results/.published") / name / f"{kind}.jsonl" for name, kind in RUNS.items()]
    before = [file.stat().st_mtime_ns for file in made]
    page = (site / "index.html").read_text()
    assert main(["site", "site"]) == 0
    assert [file.stat().st_mtime_ns for file in made] == before and (site / "index.html").read_text() == page
