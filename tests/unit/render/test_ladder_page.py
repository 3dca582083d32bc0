"""A ladder of releases in a run's report and on its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from make_run import entry, write_run
from turns_runs import measured, table, told_tables

from bench.render.page import document
from bench.render.report import Report
from bench.run.reader import read_run

SPEEDS = {"0.51.0": 5000, "0.52.0": 4995, "0.53.0": 4000}


def test_it_is_a_table_in_the_report_and_a_line_on_the_page(tmp_path: Path) -> None:
    names = {version: f"uvicorn-asgi-{version.replace('.', '-')}-py313-debian" for version in SPEEDS}
    records = [
        replace(record, service=names[version], package=f"uvicorn=={version}")
        for seed, (version, speed) in enumerate(SPEEDS.items())
        for record in measured({"uvicorn-asgi": speed}, 8, noise=0, seed=seed)
    ]
    wheel = {"package": "uvicorn==0.51.0", "python": "py313", "from": "a <b>", "sha256": "ab" * 32, "cause": ""}
    planned = table(names.values())
    write_run(tmp_path, [entry("uvicorn-asgi")], tables_in_turns=[planned], mode="turns", rounds=0, packages=[wheel])
    source = read_run(str(tmp_path))
    rankings = told_tables(source.facts, records)
    report = Report(source, {}, records, rankings, {})
    told = report.markdown()
    assert "uvicorn from 0.51.0 to 0.53.0: 0.53.0 is slower than 0.52.0: it needs 26 % more CPU per request" in told
    assert "### json wrk c16: uvicorn-asgi by release of uvicorn\n" in told
    assert "| 0.53.0 | " in told and " | slower |\n" in told
    assert "- package: uvicorn==0.51.0 on py313: a &lt;b&gt;; wheel abababababab\n" in told
    page = document.html(source, {}, [], windows=[], latencies={}, report=report, rankings=rankings)
    ladder = page[page.index('<figure class="ladder">') :]
    assert ladder.count("<svg") == 1 and "1 is 0.51.0, 2 is 0.52.0, 3 is 0.53.0" in ladder
    assert "a &lt;b&gt;; wheel" in page
