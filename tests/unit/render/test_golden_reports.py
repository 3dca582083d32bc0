"""report.md and the page: tables byte for byte, releases, a user's own app, profiles, invisible characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from built_runs import report_of
from golden import same_as
from golden_runs import FORMS
from make_run import entry, output_of, write_measurement, write_run
from places import GOLDEN
from profiled_run import RATES, STACKS_OF, write_profiled
from turns_runs import OWN_SPEEDS, measured, own_app_run, ranking_texts, service_of, table, write_turns

from bench.analysis.findings import findings_of
from bench.analysis.profiles.stacks import parse_stacks
from bench.render.in_turns import own_app_tables
from bench.render.page import document
from bench.render.page.data import tree_of
from bench.render.report import Report
from bench.run.facts import AppFacts, RunFacts
from bench.run.reader import read_run


def built(folder: Path) -> tuple[str, str]:
    return report_of(folder), (folder / "index.html").read_text()


@pytest.mark.parametrize("make", FORMS, ids=lambda make: make.__name__)
def test_report(make: Callable[[Path], Any], tmp_path: Path) -> None:
    make(tmp_path / "a-run")
    same_as(GOLDEN / f"{make.__name__}.md", report_of(tmp_path / "a-run"))


def test_report_of_tables_in_turns(tmp_path: Path) -> None:
    same_as(GOLDEN / "turns.md", write_turns(tmp_path / "a-run"))


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
    rankings = ranking_texts(source.facts, records)
    report = Report(source, {}, findings_of(records, source.facts), rankings, {})
    told = report.markdown()
    assert "uvicorn from 0.51.0 to 0.53.0: 0.53.0 is slower than 0.52.0: it needs 26 % more CPU per request" in told
    assert "### json wrk c16: uvicorn-asgi by release of uvicorn\n" in told
    assert "| 0.53.0 | " in told and " | slower |\n" in told
    assert "- package: uvicorn==0.51.0 on py313: a &lt;b&gt;; wheel abababababab\n" in told
    page = document.html(source, {}, [], windows=[], latencies={}, report=report, rankings=rankings)
    ladder = page[page.index('<figure class="ladder">') :]
    assert ladder.count("<svg") == 1 and "1 is 0.51.0, 2 is 0.52.0, 3 is 0.53.0" in ladder
    assert "a &lt;b&gt;; wheel" in page


def test_a_row_has_what_a_million_requests_cost() -> None:
    facts, text, services = own_app_run()
    text, name = replace(text, waits={}), service_of("waitress-wsgi")
    [plain] = own_app_tables(facts, [text], {}, services | {name: replace(services[name], start_s=0.51)})
    [priced] = own_app_tables(own_app_run(cpu_hour_price=0.36)[0], [text], {}, services)
    assert [row[1] for row in plain.rows] == [*OWN_SPEEDS]
    assert [row[plain.columns.index("start-up")] for row in plain.rows] == ["–", "0.510 s", "–", "–"]
    # On a phone, the first columns are the figures.
    assert plain.columns[2] == "requests/s" and plain.columns[-2:] == ("workers", "own default")
    assert len(priced.columns) == len(plain.columns) + 1 == len(priced.rows[0])
    # 100 µs per request are 100 CPU seconds per million requests; 3,600 seconds cost 0.36.
    price = AppFacts(cpu_hour_price=0.36).price(100)
    assert price is not None and abs(price - 0.01) < 1e-12
    assert AppFacts().price(100) is None
    assert own_app_tables(RunFacts(), [text], {}, {}) == []


def test_each_row_of_ones_own_app_says_what_can_wait() -> None:
    facts, text, services = own_app_run()
    [found] = own_app_tables(facts, [text], {}, services)
    rows = {row[1]: dict(zip(found.columns, row, strict=True)) for row in found.rows}
    assert {name: (row["requests at once"], row["own default"]) for name, row in rows.items()} == {
        "granian-wsgi": ("2 workers x 8 threads = 16", "512 threads"),
        "waitress": ("2 workers x 8 threads = 16", "4 threads"),
        "gunicorn-sync": ("2 (= workers)", "1 request"),
        "gunicorn-gevent": ("no limit", "1,000 connections"),
    }
    assert any("Requests at once" in note for note in found.notes)


HOSTILE = "</script><script>window.hit=1</script> `x` [a](b) \u202e"


def test_the_report_names_the_function_that_costs_more_first(tmp_path: Path) -> None:
    report, page = built(write_profiled(tmp_path / "a-run"))
    why = report[report.index("## Why") : report.index("## Setup")]
    assert re.search(r"### json wrk c16: tornado beside aiohttp \(slower\)", why)
    rows = [line.split(" | ") for line in why.splitlines() if line.startswith("| ") and "---" not in line]
    assert rows[0][0] == "| function" and rows[0][1:3] == ["aiohttp, µs", "tornado, µs"]
    assert rows[1][0] == "| app.py:slow" and rows[1][1] == "0" and rows[1][2].startswith("93.")
    assert rows[1][3].startswith(f"+{rows[1][2]} (+")
    assert "By package: app.py" in why and "aiohttp 299 µs, 2,000 samples" in why
    assert '<section id="why"' in page and '"n":"app.py:slow"' in page and "flamegraph={}" in page


def test_a_report_without_profiles_has_neither_section_nor_library(tmp_path: Path) -> None:
    report, page = built(write_profiled(tmp_path / "a-run", profile=False, profiles=False))
    assert "## Why" not in report and 'id="why"' not in page and "flamegraph={}" not in page


def test_noise_is_no_finding_and_a_missing_profile_has_its_cause(tmp_path: Path) -> None:
    same = dict.fromkeys(STACKS_OF, STACKS_OF["aiohttp"])
    report, _ = built(write_profiled(tmp_path / "same", same, dict.fromkeys(RATES, 3000.0)))
    assert "No function differs beyond chance (3 were compared)." in report
    report, page = built(write_profiled(tmp_path / "one", {"aiohttp": STACKS_OF["aiohttp"]}))
    assert "json wrk c16: tornado-py313-debian was not sampled: its window was not made." in report
    assert '"service":"aiohttp-py313-debian","load":"json wrk c16"' in page


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    stacks = STACKS_OF | {"tornado": STACKS_OF["tornado"].replace("slow (app.py:40)", f"{HOSTILE} (app.py:40)")}
    report, page = built(write_profiled(tmp_path / "a-run", stacks))
    assert "<script>window.hit" not in report + page and "\u202e" not in page
    assert "app.py:&lt;/script&gt;" in report


def test_a_tree_has_every_sample_once_and_leaves_out_what_is_too_narrow() -> None:
    tree = tree_of(parse_stacks("a (x.py:1);b (x.py:2) 990\na (x.py:7) 9\nc (x.py:1) 1\nprocess 7 1000\n"))
    assert tree["v"] == 2000 and [node["n"] for node in tree["c"]] == ["(no Python code)", "x.py:a"]
    assert tree["c"][1] == {"n": "x.py:a", "v": 999, "c": [{"n": "x.py:b", "v": 990}]}
    deep = tree_of(parse_stacks(";".join(f"f{place} (x.py:1)" for place in range(900)) + " 5"))
    assert json.dumps(deep).count('"v"') == 201


HIDDEN = "\u202egnp.exe\u202c \u2066x\u2069 a\u200bb \u200f \x1b[31m \x00 \x85 \ufeff"
SHOWN = "⟨U+202E⟩gnp.exe⟨U+202C⟩ ⟨U+2066⟩x⟨U+2069⟩ a⟨U+200B⟩b ⟨U+200F⟩ ⟨U+001B⟩"


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """A run with invisible and direction-changing characters everywhere that its files may have text."""
    line, failed = entry("aiohttp"), entry("tornado", number=2)
    write_run(
        tmp_path / "a-run",
        [line, failed],
        title=f"title {HIDDEN}",
        preset=f"preset {HIDDEN}",
        engine=f"engine {HIDDEN}",
        containers=f"containers {HIDDEN}",
        host={"cpu": f"cpu {HIDDEN}", "kernel": f"kernel {HIDDEN}"},
        harness={"version": f"version {HIDDEN}", "hash": HIDDEN},
        skipped=[{"service": f"service {HIDDEN}", "scenario": None, "tool": None, "cause": f"cause {HIDDEN}"}],
        expected=[f"expected {HIDDEN}"],
    )
    write_measurement(tmp_path / "a-run", line, output_of(line, 4000), tool={"argv": ["wrk", HIDDEN]})
    write_measurement(tmp_path / "a-run", failed, HIDDEN, meta={"outcome": "died", "detail": f"detail {HIDDEN}"})
    for name in ("packages.txt", "python.txt", "limits.txt", "os-release.txt"):
        for saved in (tmp_path / "a-run/raw/services").iterdir():
            (saved / name).write_text(f"a==1 {HIDDEN}\nPRETTY_NAME={HIDDEN}\n")
    image = [{"Id": "sha256:" + "ab" * 32, "Config": {"Labels": {"bench.base.made": f"base {HIDDEN}"}}}]
    (tmp_path / "a-run/raw/services" / line["service"] / "image.json").write_text(json.dumps(image))
    return tmp_path / "a-run"


def test_no_hidden_mark_is_in_a_report(hidden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, page = built(hidden)
    assert {mark for mark in capsys.readouterr().err if not mark.isprintable()} == {"\n"}
    for where in ("title", "cpu", "cause", "detail"):
        assert f"{where} {SHOWN}" in report.replace("&lt;", "<").replace("\\[", "[")
    assert {mark for mark in report if not mark.isprintable()} == {"\n"}
    body = page.partition("<body")[2].partition("<script")[0]
    assert f"title {SHOWN}" in body
    assert {mark for mark in body if not mark.isprintable()} <= {"\n"}
    assert "\u202e" not in page and "\u2066" not in page
