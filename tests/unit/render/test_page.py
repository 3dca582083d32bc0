"""The charts of index.html in a browser.

`PAGE_PICTURES=FOLDER python -m pytest tests/unit/render/test_page.py -k pictures` saves every chart there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from golden_runs import aiohttp_versions, latency, proxy_py
from make_run import entry, output_of, write_measurement, write_run
from page_browser import CHARTS, Opened, built, draw_all, rows

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


def test_ceiling_knee_and_a_discarded_round_are_drawn(made: Path, opened: Opened) -> None:
    page = opened(made)
    draw_all(page)
    ranked = page.locator("#chart-ranked")
    assert ranked.locator("text", has_text=re.compile(r"^null server 16,\d{3}/s, 2\.\d × the best")).count() == 1
    assert page.locator("#chart-timeline text", has_text="noise in round 2").count() == 1
    page.select_option("#filter-load", label="json, vegeta, knee (p99 ≤ 50 ms)")
    draw_all(page)
    assert page.locator("#chart-levels text", has_text=re.compile("^knee$")).count() >= 1
    # The rate of an open loop is given, not reached: it ranks nothing.
    for name in ("ranked", "pythons", "heat"):
        assert "goodput does not rank services" in page.locator(f"#chart-{name} .left-out").inner_text()


def test_a_chart_without_data_is_replaced_by_a_line_that_says_why(tmp_path: Path, opened: Opened) -> None:
    lines = [entry("aiohttp"), entry("tornado", number=2)]
    write_run(tmp_path, lines)
    write_measurement(tmp_path, lines[0], output_of(lines[0], 4000))
    page = opened(built(tmp_path))
    draw_all(page)
    for name in ("latency", "pythons"):
        assert page.locator(f"#chart-{name} svg:visible").count() == 0
        assert page.locator(f"#chart-{name} .left-out").inner_text().startswith("Not shown: ")
    assert "No verdict" in page.locator("#conclusions").inner_text()


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_screen(made: Path, opened: Opened, width: int) -> None:
    page = opened(made, width=width)
    draw_all(page)
    rows(page).first.get_by_role("button").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # No label of a chart may reach beyond the screen.
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
