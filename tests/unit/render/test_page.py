"""index.html in a browser: what it shows, what it never runs, and that it asks the network for nothing.

`PAGE_PICTURES=FOLDER python -m pytest tests/unit/render/test_page.py` leaves every picture there, to look at.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import ARGUMENTS, CHROMIUM
from golden_runs import aiohttp_versions, latency, proxy_py
from make_run import entry, output_of, write_measurement, write_run
from page_run import write
from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

from bench.analysis.pair_analysis import Judged
from bench.cli.report import build_verb
from bench.records.record import load
from bench.render.page.document import html
from bench.render.page.windows import WindowDetails
from bench.render.page.windows import output_of as output_of_bytes
from bench.render.report import report_content
from bench.run.reader import read_run

PICTURES = ("ranked", "verdicts", "latency", "levels", "costs", "pythons", "heat", "timeline")
MOST_BYTES = 3_000_000
Opened = Callable[..., Page]

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="no browser is here")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    # Whoever runs the tests may have no home.
    environment = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home"))}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, env=environment)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(write(tmp_path_factory.mktemp("page") / "a-run"))


def built(folder: Path) -> Path:
    assert build_verb([str(folder)]) == 0
    return folder / "index.html"


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a page from the disk; afterwards nothing but that file was asked for, and nothing was complained of."""
    asked: list[str] = []
    heard: list[str] = []
    contexts: list[BrowserContext] = []
    files: set[str] = set()

    def open_page(file: Path, fragment: str = "", width: int = 1200, dark: bool = False, **more: Any) -> Page:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        files.add(f"file://{file}")
        page.goto(f"file://{file}{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []
    assert {url.partition("#")[0] for url in asked} <= files


def draw_all(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


def rows(page: Page) -> Locator:
    return page.locator("#rows > tbody > tr:not(.opened)")


def column(page: Page, name: str) -> list[str]:
    names = [text.strip() for text in page.locator("#rows > thead th").all_inner_texts()]
    return rows(page).locator(f"td:nth-child({names.index(name) + 1})").all_inner_texts()


def test_the_answer_comes_first_and_every_picture_is_drawn(made: Path, opened: Opened) -> None:
    page = opened(made)
    main = page.locator("main").inner_text()
    assert main.startswith("The answer")
    assert "gunicorn-gevent is faster than gunicorn-sync: 8.6 % more good answers from the same CPU time" in main
    assert "Not enough data to tell bjoern from gunicorn-sync" in main
    draw_all(page)
    for name in PICTURES:
        chart = page.locator(f"#picture-{name} .chart > *")
        assert chart.get_attribute("role") == "img" and len(chart.get_attribute("aria-label") or "") > 60, name
        assert page.locator(f"#picture-{name} svg").count() >= 1
        page.locator(f"#picture-{name} > details > summary").click()
        page.locator(f"#picture-{name} > details tbody tr").first.wait_for()


def test_what_is_not_valid_is_shown_as_such_and_has_no_rank(made: Path, opened: Opened) -> None:
    page = opened(made)
    chart = page.locator("#picture-ranked")
    assert chart.locator("text", has_text="✕ invalid: errors, host").count() == 3
    page.locator("#picture-ranked > details > summary").click()
    table = chart.locator("details tbody tr").all_inner_texts()
    assert len(table) == 21 and [line.split("\t")[1] for line in table[-4:]] == ["–"] * 4
    assert all("werkzeug" in line or "tornado · 3.12" in line for line in table[-4:])


def test_the_floor_the_ceiling_the_knee_and_a_void_round_are_drawn(made: Path, opened: Opened) -> None:
    page = opened(made)
    draw_all(page)
    ranked = page.locator("#picture-ranked")
    assert ranked.locator("text", has_text=re.compile(r"^null server 16,\d{3}/s, 2\.\d × the best")).count() == 1
    assert "A/A floor: a service differed from itself" in ranked.inner_text()
    assert ranked.locator("[fill='var(--band)']").count() >= 1
    assert page.locator("#picture-timeline text", has_text="round 2 void").count() == 1
    page.select_option("#filter-load", label="json, vegeta, knee at p99 of 50 ms")
    draw_all(page)
    assert page.locator("#picture-levels text", has_text=re.compile("^knee$")).count() >= 1
    # An open loop's rate is asked and not reached: nobody is ranked by it.
    for name in ("ranked", "pythons", "heat"):
        assert "ranks nobody" in page.locator(f"#picture-{name} .left-out").inner_text()


def test_filters_hold_for_rows_pictures_and_tables_and_a_link_shows_the_same(made: Path, opened: Opened) -> None:
    page = opened(made)
    before = page.locator("table.published:visible").count()
    page.select_option("#filter-framework", "flask")
    page.select_option("#filter-python", "3.13")
    page.select_option("#filter-scenario", "json")
    draw_all(page)
    assert set(column(page, "Framework")) == {"flask"} and set(column(page, "Scenario")) == {"json"}
    assert "aiohttp" not in (page.locator("#picture-ranked .chart > *").get_attribute("aria-label") or "")
    assert 0 < page.locator("table.published:visible").count() < before
    assert page.locator("#tables td:visible", has_text=re.compile("^uvicorn-asgi-py313-debian$")).count() == 0
    assert page.locator("#tables td:visible", has_text="gunicorn-sync-flask-py313-debian").count() > 0
    page.fill("#find", "sync")
    told = rows(page).all_inner_texts()
    assert told and all("gunicorn-sync" in text for text in told)
    fragment = page.evaluate("location.hash")
    assert fragment == "#framework=flask&python=3.13&scenario=json&find=sync"
    other = opened(made, fragment)
    assert rows(other).all_inner_texts() == told
    other.get_by_role("button", name="Clear").click()
    assert rows(other).count() == 50 and other.evaluate("location.hash") == ""


def test_rows_are_sorted_by_any_column_and_what_has_no_figure_is_last(made: Path, opened: Opened) -> None:
    page = opened(made, "#tool=wrk&python=3.13&scenario=json")
    for name, turn in (("Requests/s", True), ("Requests/s", False), ("Peak memory", True)):
        page.locator("#rows th", has_text=name).get_by_role("button").click()
        told = [text.split()[0].replace(",", "") for text in column(page, name)]
        # Eight stacks at two levels are valid; one stack is not, and ten sides of pairs have no rate of their own.
        assert len(told) == 28 and not any(text[0].isdigit() for text in told[16:] if name == "Requests/s")
        assert [float(text) for text in told[:16]] == sorted(map(float, told[:16]), reverse=turn)
    assert page.locator("#rows th[aria-sort='descending']").inner_text().startswith("Peak memory")
    page.locator("#rows th", has_text="Level").get_by_role("button").click()
    assert column(page, "Level") == ["c16"] * 9 + ["c64"] * 19


def test_a_published_table_is_sorted_too(made: Path, opened: Opened) -> None:
    page = opened(made)
    table = page.locator("table.published", has_text="TL;DR: json, wrk c64").first
    table.get_by_role("button", name="requests/s").click()
    told = [text.split()[0] for text in table.locator("tbody td:nth-child(2)").all_inner_texts()]
    figures = [float(text.replace(",", "")) for text in told if text != "–"]
    assert figures == sorted(figures) and told[len(figures) :] == ["–"] * (len(told) - len(figures))


def test_a_row_opens_by_keyboard_to_its_rounds_and_raw_output(made: Path, opened: Opened) -> None:
    page = opened(made, "#server=uvicorn&framework=asgi&python=3.13&scenario=json&tool=wrk")
    opener = rows(page).first.get_by_role("button")
    opener.focus()
    page.keyboard.press("Enter")
    assert opener.get_attribute("aria-expanded") == "true"
    inside = page.locator("tr.opened:visible")
    assert inside.locator("table tbody tr").count() == 3
    summary = inside.locator("details.round > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    raw = inside.locator("pre.raw").first
    raw.wait_for()
    file = inside.locator("dt:text-is('raw file') + dd").first.inner_text()
    assert file == f"raw/r01/uvicorn-asgi-py313-debian/json/wrk-{column(page, 'Level')[0]}/output.txt"
    assert raw.inner_text() == (made.parent / file).read_text().rstrip("\n") + "\n"
    words = inside.inner_text()
    for told in ("Python 3.13.1 (main) [GCC]", "sha256:cdcd", "mmdebstrap, Debian trixie, minbase", "wrk -x", "nofile"):
        assert told in words
    assert "open=uvicorn-asgi-py313-debian+json+wrk+c16" in page.evaluate("location.hash")
    again = opened(made, page.evaluate("location.hash"))
    assert again.locator("tr.opened:visible").count() == 1


def test_the_filtered_rows_are_saved_as_csv(made: Path, opened: Opened) -> None:
    page = opened(made, "#framework=flask&tool=wrk&scenario=json&sort=-goodput")
    with page.expect_download() as saved:
        page.click("#csv")
    assert saved.value.suggested_filename == "a-test.csv"
    head, *lines = Path(saved.value.path()).read_text().splitlines()
    assert head.startswith("service,server,framework,python") and "goodput_per_s" in head
    shown = page.locator("#count").inner_text().split()[0]
    assert len(lines) == int(shown) and all(",flask," in line for line in lines)
    assert lines[0].startswith("gunicorn-gevent-flask-py314-debian,")


def test_dark_is_the_systems_choice_and_a_button(made: Path, opened: Opened) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(made), opened(made, dark=True)
    assert light.evaluate(paper) == "rgb(255, 255, 255)" and dark.evaluate(paper) == "rgb(20, 23, 26)"
    light.click("#theme")
    assert light.evaluate(paper) == "rgb(20, 23, 26)"
    dark.emulate_media(media="print")
    assert dark.evaluate(paper) == "rgb(255, 255, 255)"
    light.emulate_media(media="print")
    assert light.evaluate(paper) == "rgb(255, 255, 255)"
    light.emulate_media(media="screen")
    light.click("#theme")
    assert light.evaluate(paper) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_screen(made: Path, opened: Opened, width: int) -> None:
    page = opened(made, width=width)
    draw_all(page)
    rows(page).first.get_by_role("button").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # A drawing may not stick out of its frame, and no label of it out of the screen.
    out = page.evaluate(
        "[...document.querySelectorAll('.chart text')].filter(t => t.textContent).map(t =>"
        " [t.textContent, t.getBoundingClientRect()]).filter(([, box]) => box.right > innerWidth + 1 || box.left < -1)"
    )
    assert out == []


def test_the_keyboard_reaches_everything_and_shows_where_it_is(made: Path, opened: Opened) -> None:
    page = opened(made)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answer"
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(style) != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 80)")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    for wanted in ("filter-server", "filter-load", "find", "csv", "The figures of this picture as a table"):
        assert wanted in reached
    assert any(text.startswith("Framework") for text in reached)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(made: Path, opened: Opened, dark: bool) -> None:
    page = opened(made, "#framework=flask&python=3.13&scenario=json", dark=dark)
    draw_all(page)
    page.locator("#picture-ranked > details > summary").click()
    rows(page).first.get_by_role("button").click()
    page.locator("details.round > summary").first.click()
    page.locator("pre.raw").first.wait_for()
    # The second look differs in its colours alone. A table of causes is in it once; its rows are all alike.
    page.evaluate("document.querySelectorAll('#missing tbody tr:nth-child(n + 4)').forEach(row => row.remove())")
    options = {"runOnly": ["color-contrast"]} if dark else {}
    found = Axe().run(page, options=options).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []


@pytest.mark.parametrize("look", ["light", "dark", "narrow"])
def test_every_picture_is_left_for_a_person_to_look_at(made: Path, opened: Opened, look: str, tmp_path: Path) -> None:
    wanted = os.environ.get("PAGE_PICTURES")
    folder = Path(wanted or tmp_path)
    page = opened(made, width=400 if look == "narrow" else 1200, dark=look == "dark")
    draw_all(page)
    for name in PICTURES if wanted else PICTURES[:1]:
        file = folder / f"{name}-{look}.png"
        page.locator(f"#picture-{name}").screenshot(path=file, style="#filters { position: static }")
        assert file.stat().st_size > 4000


def test_without_scripts_there_are_the_answers_and_the_tables(made: Path, opened: Opened) -> None:
    page = opened(made, java_script_enabled=False)
    assert "gunicorn-gevent is faster than gunicorn-sync" in page.locator("#answer").inner_text()
    assert page.locator("table.published:visible").count() > 5
    assert page.locator("#filters:visible, #pictures:visible").count() == 0


def test_a_picture_without_data_is_left_out_with_a_line_that_says_why(tmp_path: Path, opened: Opened) -> None:
    lines = [entry("aiohttp"), entry("tornado", number=2)]
    write_run(tmp_path, lines)
    write_measurement(tmp_path, lines[0], output_of(lines[0], 4000))
    page = opened(built(tmp_path))
    draw_all(page)
    for name in ("verdicts", "latency", "pythons"):
        assert page.locator(f"#picture-{name} svg:visible").count() == 0
        assert page.locator(f"#picture-{name} .left-out").inner_text().startswith("Not drawn: ")
    assert "No verdict" in page.locator("#answer").inner_text()
    assert "no pair of a service beside itself" in page.locator("#picture-ranked").inner_text().replace("valid ", "")


HIT = "<script>window.hit=1</script>"
HOSTILE = (
    f"{HIT}</script><script>window.hit=1</script><!-- <img src=x onerror='window.hit=1'> \u202egnp.exe\u202c \u2028 "
    "{{ 7*7 }} ]]> \x1b[31m \x00 & &lt; javascript:window.hit=1"
)


def hostile(folder: Path) -> Path:
    service = {"service": "<img src=x onerror=window.hit=1>", "server": "<b>bold", "framework": '"><i onload=hit>'}
    line = entry("aiohttp", **service, dir="raw/r01/hostile")
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
    with page.expect_download() as saved:
        page.click("#csv")
    assert "/" not in saved.value.suggested_filename
    assert page.evaluate("window.hit") is None
    assert page.locator("img, main b, main i, iframe, object").count() == 0


def test_what_gets_in_after_all_is_not_run_and_reaches_nobody(made: Path, browser: Browser, tmp_path: Path) -> None:
    """The last line of defence: with escaping gone, the page's policy still holds."""
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
    """The page of 5,000 measurements, each with figures and output of its own, which no packing makes small."""
    source = read_run(str(made.parent))
    samples = [r for r in load((made.parent / "records.jsonl").read_text().splitlines()) if r.mode == "solo"]
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
    words = report_content(source, {}, records, Judged(), {})
    file = tmp_path_factory.mktemp("large") / "index.html"
    file.write_text(html(source, {}, records, Judged(), windows=windows, latencies={}, words=words))
    return file


def test_a_page_of_5000_measurements_is_small_and_draws_no_more_than_it_shows(large: Path, opened: Opened) -> None:
    assert large.stat().st_size <= MOST_BYTES
    page = opened(large)
    assert page.locator("#count").inner_text().endswith("of 5,000 measurements.")
    draw_all(page)
    assert rows(page).count() <= 50
    # Elements grow with what is shown and not with what was measured.
    assert page.evaluate("document.querySelectorAll('#pictures *').length") < 6000
    page.select_option("#filter-framework", "flask")
    assert set(column(page, "Framework")) == {"flask"}


def test_other_forms_of_runs_open(tmp_path: Path, opened: Opened) -> None:
    for make in (aiohttp_versions, latency, proxy_py):
        folder = tmp_path / make.__name__
        make(folder)
        page = opened(built(folder))
        draw_all(page)
        assert page.locator("figure.picture:visible").count() == len(PICTURES)
        assert page.locator("#count").inner_text().startswith(f"{len(rows(page).all())} row")
