"""The controls of index.html in a browser: filter, sort, open rows, save them, by mouse and keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_browser import Opened, choose, column, draw_all, rows

pytest_plugins = ["page_fixtures"]


def test_filters_apply_to_rows_charts_and_tables_and_a_link_reproduces_them(made: Path, opened: Opened) -> None:
    page = opened(made)
    before = page.locator("table.report:visible").count()
    choose(page, "framework", "flask")
    choose(page, "python", "3.13")
    choose(page, "scenario", "json")
    draw_all(page)
    assert set(column(page, "Framework")) == {"flask"} and set(column(page, "Scenario")) == {"json"}
    assert "aiohttp" not in (page.locator("#chart-ranked .plot > *").get_attribute("aria-label") or "")
    assert 0 < page.locator("table.report:visible").count() < before
    assert page.locator("#tables td:visible", has_text=re.compile("^uvicorn-asgi-py313-debian$")).count() == 0
    assert page.locator("#tables td:visible", has_text="gunicorn-sync-flask-py313-debian").count() > 0
    page.fill("#find", "sync")
    told = rows(page).all_inner_texts()
    assert told and all("gunicorn-sync" in text for text in told)
    fragment = page.evaluate("location.hash")
    assert fragment == "#framework=flask&python=3.13&scenario=json&find=sync"
    other = opened(made, fragment)
    assert rows(other).all_inner_texts() == told
    other.get_by_role("button", name="Clear filters").click()
    assert rows(other).count() == 20 and other.evaluate("location.hash") == ""


def test_a_filter_takes_several_values_and_searches_every_word(made: Path, opened: Opened) -> None:
    page = opened(made, "#scenario=json")
    choose(page, "framework", "flask", "wsgi")
    assert set(column(page, "Framework")) == {"flask", "wsgi"}
    assert page.locator("#filter-framework summary").inner_text().startswith("Framework: 2 of ")
    assert page.evaluate("location.hash") == "#framework=flask&framework=wsgi&scenario=json"
    page.fill("#find", "c64 SYNC")
    assert set(column(page, "Level")) == {"c64"} and set(column(page, "Framework")) == {"flask", "wsgi"}
    assert all("gunicorn-sync" in text for text in column(page, "Server"))
    page.locator("#filter-framework summary").click()
    page.locator("#filter-framework").get_by_role("checkbox", name="flask").uncheck()
    assert set(column(page, "Framework")) == {"wsgi"}


def test_two_services_measured_alone_stand_side_by_side_without_a_verdict(made: Path, opened: Opened) -> None:
    page = opened(made, "#tool=wrk&python=3.13&scenario=json&find=c64")
    for name in ("aiohttp", "tornado"):
        page.locator("#rows .pick").and_(page.locator(f"[value='{name}-py313-debian']")).check()
    pair = page.locator("#pair")
    pair.locator("h2").wait_for()
    told = pair.inner_text()
    assert "No verdict: the two were not measured in turns" in told
    assert re.search(r"requests/s\s+4,\d{3} \(.*\)\s+2,\d{3} \(.*\)", told)
    assert "pick=aiohttp-py313-debian&pick=tornado-py313-debian" in page.evaluate("location.hash")
    again = opened(made, page.evaluate("location.hash"))
    again.locator("#pair h2").wait_for()
    assert again.locator("#pair").inner_text() == told
    again.get_by_role("button", name="Clear picks").click()
    assert not again.locator("#pair").is_visible() and again.locator(".pick:checked").count() == 0


def test_rows_sort_by_any_column_and_missing_values_come_last(made: Path, opened: Opened) -> None:
    page = opened(made, "#tool=wrk&python=3.13&scenario=json")
    for name, turn in (("Requests/s", True), ("Requests/s", False), ("Memory under load", True)):
        page.locator("#rows th", has_text=name).get_by_role("button").click()
        told = [text.split()[0].replace(",", "") for text in column(page, name)]
        # Eight stacks at two levels are valid; one stack is not.
        assert len(told) == 18 and not any(text[0].isdigit() for text in told[16:] if name == "Requests/s")
        assert [float(text) for text in told[:16]] == sorted(map(float, told[:16]), reverse=turn)
    assert page.locator("#rows th[aria-sort='descending']").inner_text().startswith("Memory under load")
    page.locator("#rows th", has_text="Level").get_by_role("button").click()
    assert column(page, "Level") == ["c16"] * 9 + ["c64"] * 9


def test_a_table_of_the_report_sorts_too(made: Path, opened: Opened) -> None:
    page = opened(made)
    fold = page.locator("details.fold", has_text="json, measured alone").first
    fold.locator("summary").click()
    table = fold.locator("table.report")
    table.get_by_role("button", name="requests/s").click()
    # Windows beside other programs count, and their mean is "about" so much.
    told = [text.removeprefix("about ").split()[0] for text in table.locator("tbody td:nth-child(4)").all_inner_texts()]
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
    cell = f"json/wrk-{column(page, 'Level')[0]}/w1/uvicorn-asgi-py313-debian"
    assert re.fullmatch(rf"raw/r01/\d{{4}}/{cell}/output\.txt", file)
    assert raw.inner_text() == (made.parent / file).read_text().rstrip("\n") + "\n"
    words = inside.inner_text()
    for text in ("Python 3.13.1 (main) [GCC]", "sha256:cdcd", "mmdebstrap, Debian trixie, minbase", "wrk -x", "nofile"):
        assert text in words
    assert "open=uvicorn-asgi-py313-debian+json+wrk+c16" in page.evaluate("location.hash")
    again = opened(made, page.evaluate("location.hash"))
    assert again.locator("tr.opened:visible").count() == 1


def test_the_dark_theme_follows_the_system_and_a_button(made: Path, opened: Opened) -> None:
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


def test_the_keyboard_reaches_everything_and_shows_where_it_is(made: Path, opened: Opened) -> None:
    page = opened(made)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(style) != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 80)")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    for wanted in ("Server: all", "filter-load", "find", "filter-valid", "Show this chart's data as a table"):
        assert wanted in reached
    assert any(text.startswith("Framework") for text in reached)
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "conclusions"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(made: Path, opened: Opened, dark: bool) -> None:
    page = opened(made, "#framework=flask&python=3.13&scenario=json", dark=dark)
    draw_all(page)
    page.locator("#chart-ranked > details > summary").click()
    page.locator("#rows .pick").first.check()
    page.locator("#rows .pick").last.check()
    page.locator("#pair h2").wait_for()
    page.locator("#filter-server summary").click()
    rows(page).first.get_by_role("button").click()
    page.locator("details.round > summary").first.click()
    page.locator("pre.raw").first.wait_for()
    # The dark theme differs only in colours. A few of the rows of the table of causes are enough, as they are alike.
    page.evaluate("document.querySelectorAll('#missing tbody tr:nth-child(n + 4)').forEach(row => row.remove())")
    options = {"runOnly": ["color-contrast"]} if dark else {}
    found = Axe().run(page, options=options).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
