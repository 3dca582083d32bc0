"""The charts of index.html in a browser: of all kinds of runs, of varied settings, and flame graphs.

`PAGE_PICTURES=FOLDER python -m pytest tests/unit/render/test_page.py -k pictures` saves every chart there.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from golden_runs import aiohttp_versions, latency, proxy_py
from make_run import entry, output_of, write_measurement, write_run
from page_browser import CHARTS, Opened, built, choose, column, draw_all, rows
from profiled_run import STACKS_OF, write_profiled

pytest_plugins = ["page_fixtures"]


def test_conclusions_come_first_and_every_chart_is_drawn(made: Path, opened: Opened) -> None:
    page = opened(made)
    main = page.locator("main").inner_text()
    assert main.startswith("Conclusions")
    assert "No verdict: each service was measured alone (solo)" in main
    draw_all(page)
    for name in CHARTS:
        chart = page.locator(f"#chart-{name} .plot > *")
        assert chart.get_attribute("role") == "img" and len(chart.get_attribute("aria-label") or "") > 60, name
        assert page.locator(f"#chart-{name} svg").count() >= 1
        page.locator(f"#chart-{name} > details > summary").click()
        page.locator(f"#chart-{name} > details tbody tr").first.wait_for()


def test_results_that_are_not_valid_are_marked_and_not_ranked(made: Path, opened: Opened) -> None:
    page = opened(made)
    chart = page.locator("#chart-ranked")
    assert chart.locator("text", has_text=re.compile("✕ invalid: errors$")).count() == 3
    page.locator("#chart-ranked > details > summary").click()
    table = chart.locator("details tbody tr").all_inner_texts()
    assert len(table) == 21 and [line.split("\t")[1] for line in table[-4:]] == ["–"] * 4
    assert all("werkzeug" in line or "tornado · 3.12" in line for line in table[-4:])


def test_ceiling_and_a_discarded_round_are_drawn(made: Path, opened: Opened) -> None:
    page = opened(made)
    draw_all(page)
    ranked = page.locator("#chart-ranked")
    assert ranked.locator("text", has_text=re.compile(r"^null server 16,\d{3}/s, 2\.\d × the best")).count() == 1
    assert page.locator("#chart-timeline text", has_text="noise in round 2").count() == 1
    page.select_option("#filter-load", label="json, vegeta, knee (p99 ≤ 50 ms)")
    draw_all(page)
    # The rate of an open loop is given, so it does not rank services.
    for name in ("ranked", "heat"):
        assert "goodput does not rank services" in page.locator(f"#chart-{name} .left-out").inner_text()


def test_a_chart_without_data_is_replaced_by_a_line_that_says_why(tmp_path: Path, opened: Opened) -> None:
    lines = [entry("aiohttp"), entry("tornado", number=2)]
    write_run(tmp_path, lines)
    write_measurement(tmp_path, lines[0], output_of(lines[0], 4000))
    page = opened(built(tmp_path))
    draw_all(page)
    assert page.locator("#chart-latency svg:visible").count() == 0
    assert page.locator("#chart-latency .left-out").inner_text().startswith("Not shown: ")
    assert "No verdict" in page.locator("#conclusions").inner_text()


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_screen(made: Path, opened: Opened, width: int) -> None:
    page = opened(made, width=width)
    draw_all(page)
    rows(page).first.get_by_role("button").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # No label of a chart may extend beyond the screen.
    out = page.evaluate(
        "[...document.querySelectorAll('.plot text')].filter(t => t.textContent).map(t =>"
        " [t.textContent, t.getBoundingClientRect()]).filter(([, box]) => box.right > innerWidth + 1 || box.left < -1)"
    )
    assert out == []


@pytest.mark.parametrize("look", ["light", "dark", "narrow"])
def test_charts_can_be_saved_as_pictures(made: Path, opened: Opened, look: str, tmp_path: Path) -> None:
    wanted = os.environ.get("PAGE_PICTURES")
    folder = Path(wanted or tmp_path)
    page = opened(made, width=400 if look == "narrow" else 1200, dark=look == "dark")
    draw_all(page)
    for name in CHARTS if wanted else CHARTS[:1]:
        file = folder / f"{name}-{look}.png"
        page.locator(f"#chart-{name}").screenshot(path=file, style="#filters { position: static }")
        assert file.stat().st_size > 4000


def test_other_kinds_of_runs_open(tmp_path: Path, opened: Opened) -> None:
    for make in (aiohttp_versions, latency, proxy_py):
        folder = tmp_path / make.__name__
        make(folder)
        page = opened(built(folder))
        draw_all(page)
        assert page.locator("figure.chart:visible").count() == len(CHARTS)
        assert page.locator("#count").inner_text().startswith(f"{len(rows(page).all())} row")


VALUES = ("1", "8")


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Flask under gunicorn with one worker and with eight, three rounds."""
    folder = tmp_path_factory.mktemp("settings") / "a-run"
    plain = entry("gunicorn-sync-flask")["service"]
    lines = [
        entry("gunicorn-sync-flask", number=number, round=round, service=f"{plain}-workers{value}")
        | {"settings": f"WORKERS={value}"}
        for round in (1, 2, 3)
        for number, value in enumerate(VALUES, 1)
    ]
    made = {"server": "gunicorn-sync", "framework": "flask", "development": "it says so"}
    services = {str(line["service"]): {"settings": line["settings"]} | made for line in lines}
    write_run(folder, lines, services=services)
    texts = {
        "services/frameworks/flask/app.py": "app = 1 < 2",
        "services/servers/gunicorn-sync/start": "# Why: it says",
    }
    (folder / "sources.json").write_text(json.dumps(texts | {"services/frameworks/other/app.py": "of another"}))
    for name in services:
        command = {"argv": ["/opt/venv/bin/serve", "--name", "<b>two words</b>"]}
        (folder / f"raw/services/{name}/command.json").write_text(json.dumps(command))
    for line in lines:
        used = {"ticks_13": 560, "ticks_12": 540}
        write_measurement(folder, line, output_of(line, 1000 * int(line["settings"][-1])), after=used)
    return built(folder)


def test_settings_are_a_column_and_a_filter(varied: Path, opened: Opened) -> None:
    page = opened(varied)
    assert sorted(column(page, "Settings")) == ["WORKERS=1", "WORKERS=8"]
    choose(page, "settings", "WORKERS=8")
    assert column(page, "Settings") == ["WORKERS=8"]
    assert page.evaluate("location.hash") == "#settings=WORKERS%3D8"
    assert page.locator("#tables td:visible", has_text=re.compile("-workers1$")).count() == 0
    assert page.locator("#tables td:visible", has_text=re.compile("-workers8$")).count() > 0


def test_charts_name_the_settings(varied: Path, opened: Opened) -> None:
    page = opened(varied)
    draw_all(page)
    label = page.locator("#chart-ranked").inner_text()
    assert "gunicorn-sync · flask (WORKERS=8)" in label and "gunicorn-sync · flask (WORKERS=1)" in label


def test_a_measurements_details_have_its_processes(varied: Path, opened: Opened) -> None:
    page = opened(varied)
    rows(page).first.get_by_role("button").first.click()
    page.locator(".opened details.round summary").first.click()
    # Not wait_for_function: its second try uses eval in the page, which the page's policy blocks.
    page.locator(".opened").get_by_text("CPU seconds by process").first.wait_for()
    told = page.locator(".opened").first.inner_text()
    assert re.search(r"settings\s+WORKERS=[18]", told)
    assert re.search(r"start command\s+serve --name '<b>two words</b>'\s+app\s+services/frameworks/flask/app.py", told)
    assert re.search(r"production\s+no, as its documentation says: it says so", told)
    assert re.search(r"versions\s+flask 3.1.2, gunicorn 23.0.0, ", told) and re.search(r"memory\s+31.5 MB idle, ", told)
    assert re.search(r"CPU seconds by process\s+5\.60, 0\.400", told)


def test_a_card_has_the_start_script_and_the_source_of_the_app(varied: Path, made: Path, opened: Opened) -> None:
    page = opened(varied)
    rows(page).first.get_by_role("button").first.click()
    for summary in page.locator(".opened details:not(.round) summary").all()[:2]:
        summary.click()
    shown = page.locator(".opened pre:visible")
    shown.nth(1).wait_for()
    assert shown.all_inner_texts() == ["# Why: it says", "app = 1 < 2"]
    # A run that did not save them says where to find them.
    page = opened(made)
    rows(page).first.get_by_role("button").first.click()
    page.locator(".opened summary", has_text="Start script").first.click()
    page.locator(".opened pre:visible").first.wait_for()
    assert page.locator(".opened pre:visible").first.inner_text().startswith("git show COMMIT:services/servers/")


HOSTILE = "<img src=x onerror=window.hit=1> \u202e"


def test_a_flame_graph_is_drawn_when_it_is_opened_and_names_stay_text(tmp_path: Path, opened: Opened) -> None:
    stacks = STACKS_OF | {"tornado": STACKS_OF["tornado"].replace("slow (", f"{HOSTILE} (")}
    page = opened(built(write_profiled(tmp_path / "a-run", stacks)))
    graphs = page.locator("#flames details")
    assert graphs.count() == 2 and page.locator("#flames svg").count() == 0
    assert (
        graphs.nth(1).locator("summary").inner_text().startswith("Flame graph of tornado-py313-debian, json wrk c16: ")
    )
    graphs.nth(1).locator("summary").click()
    names = page.locator("#flames svg g.frame title").all_text_contents()
    assert len(names) == 6
    assert any(name.startswith("app.py:handle: 60.0 %, 231 µs per request") for name in names)
    assert any(name.startswith("app.py:<img src=x onerror=window.hit=1> ⟨U+202E⟩: 27.0 %") for name in names)
    assert page.evaluate("window.hit") is None
    assert "app.py:handle 60.0 %" in (page.locator("#flames svg").get_attribute("aria-label") or "")
    # The first comparison is open, with the same table as the report.
    assert (
        page.locator("#why details").first.locator("table.report td").first.inner_text()
        == "app.py:<img src=x onerror=window.hit=1> ⟨U+202E⟩"
    )


def test_without_scripts_the_tables_of_functions_are_shown(tmp_path: Path, opened: Opened) -> None:
    page = opened(built(write_profiled(tmp_path / "a-run")), java_script_enabled=False)
    assert "app.py:slow" in page.locator("#why").inner_text()
    assert page.locator("#flames:visible").count() == 0
