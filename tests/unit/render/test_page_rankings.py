"""The answers at the top of the page of a run in turns: text, table with bars, and what the first screen shows.

`python tests/support/ranking_run.py FOLDER` writes the pages to look at.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_browser import Opened, draw_all
from playwright.sync_api import Locator, Page
from ranking_run import ERRORS, SENTENCES, WAITING, changed, many_services, page, ranking, two_tables

from bench.analysis.tables.ranking import Figure
from bench.render.page.data import pairs_data
from bench.render.page.rankings import FIRST_ROWS, MOST_CHARACTERS, MOST_SENTENCES, Answer, rankings_of
from bench.tools.levels import Level
from bench.words.names import level_words
from bench.words.picture import narrow_words

pytest_plugins = ["page_fixtures"]


def rows_of(answer: Answer) -> dict[str, dict[str, str]]:
    """The text of each cell by service and heading."""
    titles = [head.title for head in answer.heads]
    return {row.cells[1].text: dict(zip(titles, (cell.text for cell in row.cells), strict=True)) for row in answer.rows}


def test_rows_say_what_they_are_against_the_best() -> None:
    cpu, goodput = rankings_of(two_tables())
    rows = {name: row["CPU against the best"] for name, row in rows_of(cpu).items()}
    assert rows["bjoern-wsgi"] == "best"
    assert rows["uvicorn-asgi"] == "+42 % (+38 to +47 %)"
    assert rows["gunicorn-sync-flask"] == "+304 % (+292 to +317 %)"
    rows = {name: row["requests/s against the best"] for name, row in rows_of(goodput).items()}
    assert rows["aiohttp"] == "equal (-3.5 to +2.5 %)"
    assert rows["gunicorn-sync-flask"] == "-94 % (-94 to -93 %)"
    assert rows["werkzeug-flask"] == "not ranked"
    assert [row["tier"] for row in rows_of(goodput).values()] == ["1"] * 4 + ["2"] * 3 + ["–"]
    assert cpu.notes[0].startswith("No service of a tier is shown to be slower than its first. 6 rounds, 95 % conf")
    assert "may separate" in goodput.notes[0] and "may separate" not in cpu.notes[0]


def test_rows_can_be_compared_with_any_other_one() -> None:
    text = two_tables()[1]
    (pairs,) = pairs_data([text])
    names = [text.labels[row.service] for row in text.ranking.rows if row.rank]
    against = {
        base: dict(zip(names, lines.split("\n"), strict=True))
        for base, lines in zip(names, pairs["against"], strict=True)
    }
    written = rows_of(rankings_of([text])[0])["aiohttp"]["requests/s against the best"]
    assert against["uvicorn-asgi"]["aiohttp"] == written
    assert against["aiohttp"]["uvicorn-asgi"] == "equal (-2.4 to +3.6 %)" and against["aiohttp"]["aiohttp"] == "–"
    assert against["gunicorn-sync-flask"]["bjoern-wsgi"] == "equal (-3.2 to +2.8 %)"


def test_a_bar_has_the_figure_and_its_interval_and_the_largest_one_has_the_whole_width() -> None:
    (cpu, goodput) = rankings_of(two_tables())
    requests, used, memory = (cpu.rows[0].cells[at] for at in (3, 4, 5))
    assert (requests.text, requests.interval, requests.narrow) == ("10,543", "10,333 to 10,754", "±2.0 %")
    assert narrow_words(Figure(20.8, 4.64, 93.3), "4.64 to 93.3") == "4.64 to 93.3"
    assert requests.ends == "--v:10543;--l:10333;--h:10754"
    assert used.ends == "--v:92;--l:91.08;--h:92.92" and memory.ends == "--v:5.3477e+07;--l:5.3477e+07;--h:5.3477e+07"
    assert cpu.scale == "--m3:10754;--b3:10543;--m4:1252.4;--b4:92;--m5:6.0817e+07;--b5:5.3477e+07;"
    # A service without a figure has no bar, and its reason is a footnote.
    last = goodput.rows[-1]
    assert {cell.ends for cell in last.cells} == {""} and last.note == 1 and goodput.footnotes == {ERRORS: 1}


def test_the_question_is_that_of_the_load() -> None:
    (found,) = rankings_of([replace(two_tables()[0], question="Which server? (Python 3.13)")])
    assert found.question == "Least CPU per json response, 8 services: wrk, 16 connections"
    assert found.asked == "Which server? (Python 3.13)"
    (own,) = rankings_of(two_tables()[1:])
    assert own.question == "Most requests/s of delay-20, 8 services: wrk, 16 connections" and not own.asked


def test_before_the_first_look_there_are_no_tiers() -> None:
    early = changed(two_tables()[0], look=None, rounds=2)
    assert rankings_of([early])[0].notes[0] == "No tiers yet: 2 rounds; the first verdicts come after 4."


@pytest.mark.parametrize("value", [0.0, None, float("nan"), -1.0, -2.0])
def test_a_table_with_little_in_it_still_has_words(value: Any) -> None:
    text = ranking({"a": 100.0}, "json", False, ())
    bounds = None if value is None else (value, value)
    row = {"difference": value, "interval": bounds, "goodput": None}
    (found,) = rankings_of([replace(changed(text, 0, row, level=Level.read("c1")), question="")])
    assert found.question == "Most requests/s of json, 1 service: wrk, 1 connection"
    assert rows_of(found)["a"]["service"] == "a" and "requests/s" not in rows_of(found)["a"]
    (none,) = rankings_of([ranking({"a": None, "b": 1.0}, "json", False, ())])
    assert rows_of(none)["a"] == rows_of(none)["a"] | {"requests/s against the best": "not ranked", "requests/s": "–"}
    assert none.rows[1].note == none.footnotes[ERRORS]


def test_a_long_ranking_shows_its_first_rows_and_the_footnotes_of_these() -> None:
    (found,) = rankings_of(many_services())
    assert [row.later for row in found.rows] == [False] * FIRST_ROWS + [True] * (60 - FIRST_ROWS)
    assert found.footnotes == {ERRORS: 1} and found.shown_footnotes == {None}
    # Long sentences are folded first, so that the table begins on the first screen of a phone.
    assert sum(map(len, found.sentences)) <= MOST_CHARACTERS and (len(found.sentences), len(found.more)) == (4, 5)
    (brief,) = rankings_of([replace(many_services()[0], sentences=("Short.",) * 9)])
    assert len(brief.sentences) == MOST_SENTENCES + 2 and len(brief.more) == 3


def test_a_level_in_words() -> None:
    words = {"c16": "16 connections", "c1n1000": "1 connection, 1,000 requests", "r500": "500/s target rate"}
    words |= {"c16close": "16 connections, a new connection for each request"}
    words |= {"share50close": "50 % of the slowest service's speed, a new connection for each request"}
    assert {level: level_words(Level.read(level)) for level in words} == words
    assert level_words(Level.read("knee-p99-50ms")) == "knee-p99-50ms"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page(tmp_path_factory.mktemp("turns") / "a-run", two_tables())


def ends_at(found: Locator) -> float:
    return float(found.evaluate("element => element.getBoundingClientRect().bottom"))


def on_the_first_screen(opened: Page) -> str:
    """The text of all elements that end within the first 900 px."""
    return str(
        opened.evaluate(
            "[...document.querySelectorAll('#answers li, #answers h3, #answers .bars tr > *')]"
            ".filter(e => e.getBoundingClientRect().bottom <= 900 && e.checkVisibility())"
            ".map(e => e.innerText).join('\\n')"
        )
    )


@pytest.mark.parametrize("width", [1280, 400])
def test_the_first_screen_names_the_fastest_the_ties_and_what_gevent_costs(
    two: Path, opened: Opened, width: int
) -> None:
    made = opened(two, width=width)
    told = on_the_first_screen(made)
    for sentence in (*SENTENCES, *WAITING):
        assert sentence in told
    assert re.search(r"bjoern-wsgi\nbest\n10,543", told)
    rows = made.locator("#ranking-1 .bars tbody tr")
    # The whole first table is on the first screen, on a phone its first rows with their figures.
    assert ends_at(rows.nth(7 if width == 1280 else 3)) <= 900
    assert "+347 %" in told or width == 400
    assert made.evaluate("document.documentElement.scrollWidth") <= width
    outside = made.evaluate(
        "[...document.querySelectorAll('#answers .bars tr > *')].filter(e => {"
        " const box = e.getBoundingClientRect(); return box.right > innerWidth || box.left < 0 }).length"
    )
    assert outside == 0


def cells(made: Page, column: str, table: int = 1) -> list[str]:
    """The first line of each row's cell in a column."""
    heads = made.locator(f"#ranking-{table} .bars thead th").all_inner_texts()
    matches = [at for at, head in enumerate(heads, 1) if head == column or head.startswith(f"{column} ")]
    number = heads.index(column) + 1 if column in heads else matches[0]
    rows = made.locator(f"#ranking-{table} .bars tbody tr:visible > :nth-child({number})").all_inner_texts()
    return [text.strip().split("\n")[0] for text in rows]


def numbers(texts: list[str]) -> list[float]:
    return [float(text.replace(",", "")) for text in texts if text != "–"]


def test_the_table_sorts_by_each_column_and_by_rank_again(two: Path, opened: Opened) -> None:
    made = opened(two, width=1280)
    heads = made.locator("#ranking-2 .bars thead")
    before = cells(made, "service", 2)
    heads.get_by_role("button", name="requests/s").focus()
    made.keyboard.press("Enter")
    assert heads.locator("[aria-sort=descending]").inner_text() == "requests/s"
    served = cells(made, "requests/s", 2)
    assert served[-1] == "–" and numbers(served) == sorted(numbers(served), reverse=True)
    made.keyboard.press("Enter")
    served = cells(made, "requests/s", 2)
    assert heads.locator("[aria-sort=ascending]").count() == 1 and served[-1] == "–"
    assert numbers(served) == sorted(numbers(served)) and cells(made, "service", 2)[0] == "bjoern-wsgi"
    memory = heads.get_by_role("button", name="memory under load, MB")
    memory.click()
    assert numbers(cells(made, "memory", 2)) == sorted(numbers(cells(made, "memory", 2)))
    by_memory = cells(made, "service", 2)
    heads.get_by_role("button", name="tier").click()
    assert cells(made, "service", 2) == before
    # What is compared is no order of its own.
    assert heads.locator(".against button").count() == 0
    # A link shows all tables in the same order, which going back takes away again.
    made.evaluate("location.hash = '#order=memory-under-load-mb'")
    made.locator("#ranking-1 [aria-sort=ascending]").wait_for()
    assert cells(made, "service", 2) == by_memory
    made.evaluate("location.hash = '#order=no-such-column'")
    made.wait_for_function("!document.querySelector('#answers [aria-sort]')")
    assert cells(made, "service", 2) == before


def test_a_picked_row_is_what_others_are_compared_with(two: Path, opened: Opened) -> None:
    made = opened(two, width=1280)
    best = cells(made, "requests/s against", 2)
    name = made.locator("#ranking-2").get_by_role("button", name="aiohttp", exact=True)
    name.focus()
    made.keyboard.press("Enter")
    head = made.locator("#ranking-2 thead .against")
    head.get_by_text("requests/s against aiohttp").wait_for()
    # Not told apart: the verdict says so, whatever the bars are.
    shown = dict(zip(cells(made, "service", 2), cells(made, "requests/s against", 2), strict=True))
    assert shown["aiohttp"] == "picked" and shown["uvicorn-asgi"] == "equal (-2.4 to +3.6 %)"
    assert shown["gunicorn-sync-flask"] == "-94 % (-94 to -93 %)" and shown["werkzeug-flask 1"] == "not ranked"
    mark = "document.querySelector('#ranking-2 .bars').style.getPropertyValue('--b3')"
    assert made.evaluate(mark) == "760" and name.get_attribute("aria-pressed") == "true"
    assert made.locator("#ranking-2 tr.base").get_attribute("data-service") == "aiohttp-py313-debian"
    assert made.evaluate("location.hash") == "#pick=aiohttp-py313-debian"
    # The other table has the same service; a link shows the same.
    assert made.locator("#ranking-1 thead .against").inner_text() == "CPU against aiohttp"
    again = opened(two, "#pick=aiohttp-py313-debian", width=1280)
    again.locator("#ranking-2 thead .against", has_text="aiohttp").wait_for()
    assert cells(again, "requests/s against", 2) == [*shown.values()]
    made.get_by_role("button", name="What it is, and its rounds").click()
    assert made.locator("#rows .opened:visible", has_text="aiohttp-py313-debian").count() == 1
    name.click()
    head.get_by_text("requests/s against the best").wait_for()
    assert cells(made, "requests/s against", 2) == best and made.locator("tr.base").count() == 0


def test_filters_compare_with_the_best_that_is_shown(two: Path, opened: Opened) -> None:
    made = opened(two, "#framework=flask", width=1280)
    made.locator("#ranking-1 thead .against", has_text="CPU against the best shown").wait_for()
    shown = dict(zip(cells(made, "service"), cells(made, "CPU against"), strict=True))
    assert list(shown) == ["gunicorn-sync-flask", "gunicorn-gevent-flask", "werkzeug-flask"]
    assert shown["gunicorn-sync-flask"] == "best shown" and shown["werkzeug-flask"].startswith("+233 % (+2")
    # The largest bar shown is as wide as its column.
    widths = made.locator("#ranking-1 td.f3:visible").evaluate_all(
        "all => all.map(one => getComputedStyle(one, '::after').backgroundSize.split(', ')[2])"
    )
    assert widths[0].startswith("100%") and len({*widths}) == 3
    made.get_by_role("button", name="Clear filters").click()
    made.locator("#ranking-1 thead .against", has_text=re.compile("the best$")).wait_for()
    assert cells(made, "CPU against")[0] == "best" and len(cells(made, "CPU against")) == 8


def test_a_known_cause_is_a_footnote_at_the_row(tmp_path: Path, opened: Opened) -> None:
    (text, other) = two_tables()
    slow = text.ranking.rows[-1].service
    cause = "with keep-alive, responses wait up to 40 ms for delayed TCP acknowledgements, a known defect: its source"
    notes = {**text.notes, slow: cause, text.ranking.rows[0].service: cause}
    made = opened(page(tmp_path / "a-run", [replace(text, notes=notes), other]), width=1280)
    row = made.locator("#ranking-1 tbody tr", has_text="werkzeug-flask")
    row.get_by_role("link", name="Note 1").click()
    assert made.evaluate("document.activeElement.textContent") == cause
    assert made.locator("#ranking-1 .footnotes li").count() == 1
    # It changes no filter.
    assert made.evaluate("location.hash") == ""


def test_what_comes_after_the_answers(two: Path, opened: Opened) -> None:
    made = opened(two)
    order = made.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert order == ["pair", "answers", "charts", "measurements", "tables", "missing", "run"]
    draw_all(made)
    charts = made.locator("#charts figure.chart:not(.missing) h3").all_inner_texts()
    # The table has requests/s and costs, so no chart repeats them.
    assert charts == ["Goodput by server and framework"]
    assert made.locator("#charts .left-out", has_text="ranking").count() == 0
    made.select_option("#filter-load", label="delay-20, wrk, 16 connections")
    draw_all(made)
    assert "uvicorn with asgi 764/s" in (made.locator("#chart-heat .plot > *").get_attribute("aria-label") or "")
    # Noise is smaller, and opens on demand.
    noise = made.locator("#noise")
    assert not noise.locator("figure").is_visible()
    noise.locator("summary").first.focus()
    made.keyboard.press("Enter")
    noise.locator("svg").first.wait_for()
    tallest = made.locator("#noise svg").evaluate_all("all => Math.max(...all.map(one => one.clientHeight))")
    assert tallest < made.locator("#ranking-1 .bars").evaluate("one => one.clientHeight")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (1280, True), (390, True)])
def test_axe_finds_nothing_in_the_answers(two: Path, opened: Opened, width: int, dark: bool) -> None:
    made = opened(two, "#pick=aiohttp-py313-debian", width=width, dark=dark)
    made.locator("#ranking-2 thead .against", has_text="aiohttp").wait_for()
    made.evaluate("document.querySelectorAll('#answers details').forEach(one => (one.open = true))")
    # The dark theme differs only in colours.
    options = {"runOnly": ["color-contrast"]} if dark else {}
    part = "#ranking-2" if dark else "header, #filters, #answers, #noise"
    found = Axe().run(made, context=part, options=options).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []


def test_the_table_has_its_memory_in_view(two: Path, opened: Opened) -> None:
    made = opened(two, width=1280)
    head = made.locator("#ranking-1 th", has_text="memory under load")
    assert head.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
    assert made.locator("#ranking-1 .scroll").evaluate("one => one.scrollWidth <= one.clientWidth")


def test_answers_need_no_script_and_the_skip_link_leads_to_them(two: Path, opened: Opened) -> None:
    made = opened(two, java_script_enabled=False)
    assert SENTENCES[0] in made.locator("#answers").inner_text()
    assert made.locator("#ranking-1 .bars tbody tr:visible").count() == 8
    assert made.locator("#ranking-2 .footnotes li:visible").count() == 1 and not made.get_by_role("button").all()
    made = opened(two)
    made.keyboard.press("Tab")
    made.keyboard.press("Enter")
    assert made.evaluate("document.activeElement.id") == "answers"


SHOWN = "<img src=x onerror=window.hit=1><b>⟨U+202E⟩</span></li>{{ 7*7 }}"


def test_sixty_services_fit_a_phone_and_hostile_names_stay_text(tmp_path: Path, opened: Opened) -> None:
    hit = "<img src=x onerror=window.hit=1><b>\u202e</span></li>{{ 7*7 }}"
    (text,) = many_services()
    first, last = (text.ranking.rows[number].service for number in (0, -1))
    text = replace(
        changed(text, scenario=hit),
        question=hit,
        sentences=(hit, *text.sentences[1:]),
        labels={**text.labels, first: hit},
        notes={**text.notes, first: hit, last: hit},
    )
    made = opened(page(tmp_path, [text]), width=400)
    rows = made.locator(".bars tbody tr:visible")
    assert rows.count() == FIRST_ROWS and made.locator(".footnotes li:visible").all_inner_texts() == [SHOWN]
    made.get_by_role("button", name="Show 40 other services").focus()
    made.keyboard.press("Enter")
    assert rows.count() == 60 and made.locator(".footnotes li:visible").count() == 2
    assert made.get_by_role("button", name=re.compile("^Show .* services")).count() == 0
    assert made.evaluate("document.documentElement.scrollWidth") <= 400
    assert made.locator("#answers .bars .name").first.inner_text() == SHOWN
    assert made.locator("#answers", has_text=SHOWN).count() == 1
    assert made.evaluate("window.hit") is None and made.locator("main img, main b b").count() == 0


@pytest.mark.parametrize("tables", [0, 1])
def test_a_run_without_rankings_has_no_answers(tmp_path: Path, tables: int) -> None:
    empty = replace(two_tables()[0], ranking=replace(two_tables()[0].ranking, rows=()))
    text = page(tmp_path, [empty] * tables).read_text()
    assert 'id="answers"' not in text and 'class="ranked"' not in text and "figure.ranking" not in text
    assert text.index('id="conclusions"') < text.index('id="charts"') and "Missing results</h2>" in text
