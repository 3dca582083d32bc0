"""What report.md and the page say of sampled services."""

from __future__ import annotations

import json
import re
from pathlib import Path

from profiled_run import RATES, STACKS_OF, write_profiled

from bench.analysis.profiles.stacks import parse_stacks
from bench.cli.report import build_verb
from bench.render.page.data import tree_of

HOSTILE = "</script><script>window.hit=1</script> `x` [a](b) \u202e"


def built(folder: Path) -> tuple[str, str]:
    assert build_verb([str(folder)]) == 0
    return (folder / "report.md").read_text(), (folder / "index.html").read_text()


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
