"""What index.html must never do in a browser: execute text of a run, use the network, grow without limit."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_run import entry, output_of, write_measurement, write_run
from page_browser import MOST_BYTES, Opened, built, choose, column, draw_all, rows
from playwright.sync_api import Browser

from bench.analysis.findings import findings_of
from bench.records.file import read_records
from bench.render.page import document
from bench.render.page.windows import WindowDetails
from bench.render.page.windows import output_of as output_of_bytes
from bench.render.report import Report
from bench.run.reader import read_run

pytest_plugins = ["page_fixtures"]


def test_without_scripts_conclusions_and_tables_are_shown(made: Path, opened: Opened) -> None:
    page = opened(made, java_script_enabled=False)
    assert "No verdict: each service was measured alone" in page.locator("#conclusions").inner_text()
    assert page.locator("table.report:visible").count() > 5
    assert page.locator("#filters:visible, #charts:visible").count() == 0


HIT = "<script>window.hit=1</script>"
HOSTILE = (
    f"{HIT}</script><script>window.hit=1</script><!-- <img src=x onerror='window.hit=1'> \u202egnp.exe\u202c \u2028 "
    "{{ 7*7 }} ]]> \x1b[31m \x00 & &lt; javascript:window.hit=1"
)


def hostile(folder: Path) -> Path:
    service = {"service": "<img src=x onerror=window.hit=1>", "server": "<b>bold", "framework": '"><i onload=hit>'}
    line = entry("aiohttp", **service, dir="raw/r01/0001/json/wrk-c64/w1/hostile")
    other = entry("tornado", number=2)
    write_run(folder, [line, other], title=HOSTILE, run="../=cmd|' /C calc'!A0", command=[HOSTILE])
    write_measurement(folder, line, output_of(line, 4000) + HOSTILE + "\n" + "z" * 1_000_000, tool={"argv": [HOSTILE]})
    write_measurement(folder, other, HOSTILE, meta={"outcome": "died", "detail": HOSTILE})
    saved = folder / "raw/services" / line["service"]
    (saved / "packages.txt").write_text(f"{HOSTILE}==1\n")
    (saved / "python.txt").write_text(HOSTILE)
    checks = [{"route": HIT, "check": HOSTILE, "ok": False, "expected": HIT, "got": {"headers": {"X": HOSTILE}}}]
    (saved / "verify.json").write_text(json.dumps({"passed": 0, "failed": 1, "skipped": 0, "checks": checks}))
    return built(folder)


def test_hostile_text_is_shown_and_never_run(tmp_path: Path, opened: Opened) -> None:
    file = hostile(tmp_path)
    assert file.stat().st_size < MOST_BYTES
    page = opened(file)
    draw_all(page)
    assert (
        page.locator("h1").inner_text().startswith(HIT) and "⟨U+202E⟩gnp.exe⟨U+202C⟩" in page.locator("h1").inner_text()
    )
    for opener in page.locator(".opener").all():
        opener.click()
    for summary in page.locator("details.round > summary").all():
        summary.click()
    page.locator("pre.raw").nth(1).wait_for()
    raw = page.locator("pre.raw").all_inner_texts()
    assert all(HIT in text and "⟨U+202E⟩" in text and "⟨U+0000⟩" in text for text in raw)
    assert re.search(r"\[…[\d,]+ characters left out…\]", "".join(raw))
    assert page.locator("tr.opened", has_text="{{ 7*7 }}").count() >= 1
    assert page.locator("#rows", has_text="<b>bold").count() == 1
    assert page.evaluate("window.hit") is None
    assert page.locator("img, main b, main i, iframe, object").count() == 0


def test_the_policy_blocks_scripts_and_requests_that_escaping_missed(
    made: Path, browser: Browser, tmp_path: Path
) -> None:
    """The last line of defence: the Content-Security-Policy works even if escaping failed."""
    file = tmp_path / "broken.html"
    attack = f"{HIT}<script src='file:///tmp/x.js'></script><link rel=stylesheet href='https://example.org/x.css'>"
    file.write_text(made.read_text().replace("<main>", f"<main>{attack}<b onclick='window.hit=1'>click</b>", 1))
    violated = "addEventListener('securitypolicyviolation', e => (window.refused ??= []).push(e.effectiveDirective))"
    page = browser.new_page()
    page.add_init_script(violated)
    page.goto(f"file://{file}")
    page.locator("b", has_text="click").first.click()
    assert page.evaluate("window.hit") is None
    assert {"script-src-elem", "style-src-elem", "script-src-attr"} <= set(page.evaluate("window.refused"))
    page.close()


@pytest.fixture(scope="module")
def large(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 5,000 measurements, each with different figures and output, so that they compress badly."""
    source = read_run(str(made.parent))
    samples = [r for r in read_records(made.parent) if r.mode == "solo"]
    rng, records, windows = random.Random(1), [], []
    for number in range(5000):
        sample = samples[number % len(samples)]
        noise = 1 + rng.gauss(0, 0.02)
        figures: dict[str, Any] = {
            name: value * noise * rng.uniform(0.9, 1.1)
            for name in ("goodput", "cpu_per_success_s", "server_cpu_s", "loadgen_cpu_s", "foreign_ratio", "start_s")
            if (value := getattr(sample, name)) is not None
        }
        latency = {name: value and value * rng.uniform(0.8, 1.2) for name, value in sample.latency_s.items()}
        place = {"id": f"r{number:05}", "round": number // 84 + 1, "raw_sha256": f"{rng.getrandbits(256):064x}"}
        records.append(replace(sample, **place, **figures, latency_s=latency))
        lines = "".join(f"{name} {rng.uniform(1, 1000):.2f}\n" for name in ("Latency", "Req/Sec", "50%", "99%"))
        windows.append(WindowDetails(10**18 + number * 10**10, rng.random(), output_of_bytes((lines * 6).encode())))
    report = Report(source, {}, findings_of(records, source.facts), (), {})
    file = tmp_path_factory.mktemp("large") / "index.html"
    file.write_text(document.html(source, {}, records, windows=windows, latencies={}, report=report))
    return file


def test_a_page_of_5000_measurements_is_small_and_draws_only_what_it_shows(large: Path, opened: Opened) -> None:
    assert large.stat().st_size <= MOST_BYTES
    page = opened(large)
    assert page.locator("#count").inner_text().endswith("from 5,000 measurements.")
    draw_all(page)
    assert rows(page).count() <= 50
    # The number of elements depends on what is shown, not on what was measured.
    assert page.evaluate("document.querySelectorAll('#charts *').length") < 6000
    choose(page, "framework", "flask")
    assert set(column(page, "Framework")) == {"flask"}
