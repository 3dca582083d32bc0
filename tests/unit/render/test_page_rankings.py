"""The answers at the top of the page of a run in turns: text, picture, and what the first screen shows.

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

from bench.render.page.rankings import MOST_CHARACTERS, MOST_SENTENCES, Answer, Place, Unranked, rankings_of
from bench.tools.levels import Level
from bench.words.names import level_words

pytest_plugins = ["page_fixtures"]


def places(found: Answer) -> list[Place]:
    return [row for tier in found.tiers + found.later for row in tier.rows]


def test_rows_say_what_they_are_against_the_best() -> None:
    cpu, goodput = rankings_of(two_tables())
    rows = {row.name: f"{row.against} {row.of} {row.interval}".strip() for row in places(cpu)}
    assert rows["bjoern-wsgi"] == "the best"
    assert rows["uvicorn-asgi"] == "+42 % CPU (+38 to +47 %)"
    assert rows["gunicorn-sync-flask"] == "+304 % CPU (+292 to +317 %)"
    rows = {row.name: f"{row.against} {row.of} {row.interval}".strip() for row in places(goodput)}
    assert rows["aiohttp"] == "-0.5 % requests/s (-3.5 to +2.5 %)"
    assert rows["gunicorn-sync-flask"] == "-94 % requests/s (-94 to -93 %)"
    assert [tier.name for tier in goodput.tiers] == ["tier 1", "tier 2"]
    assert [row.name for row in goodput.unranked] == ["werkzeug-flask"]
    assert cpu.certainty.startswith("No service of a tier is shown to be slower than its first. 6 rounds, 95 % conf")
    assert "may separate" in goodput.certainty and "may separate" not in cpu.certainty


def test_a_row_without_a_called_difference_says_what_would_have_been_called() -> None:
    beside = ("c against b: equal; differences below 2.4 % would go unnoticed.",)
    text = changed(two_tables()[1], 1, {"smallest_visible": 0.021})
    (found,) = rankings_of([replace(text, beside=beside)])
    assert [row.seen for row in places(found)][:3] == ["", "below 2.1 % unnoticed", ""]
    figures = found.figures
    assert figures.rows[1][figures.columns.index("unnoticed below")] == "2.1 %" and figures.notes == beside


def test_the_question_is_that_of_the_load() -> None:
    (found,) = rankings_of([replace(two_tables()[0], question="Which server? (Python 3.13)")])
    assert found.question == "Least CPU per json response, 8 services: wrk, 16 connections"
    assert found.asked == "Which server? (Python 3.13)"
    (own,) = rankings_of(two_tables()[1:])
    assert own.question == "Most requests/s of delay-20, 8 services: wrk, 16 connections" and not own.asked


def test_before_the_first_look_there_are_no_tiers() -> None:
    early = changed(two_tables()[0], look=None, rounds=2)
    assert rankings_of([early])[0].certainty == "No tiers yet: 2 rounds; the first verdicts come after 4."


def test_the_scale_is_logarithmic_beyond_three_and_marks_stay_on_it() -> None:
    close = ranking({"a": 100.0, "b": 101.0, "c": 120.0}, "json", True, ())
    assert not rankings_of([close])[0].logarithmic
    (cpu, goodput) = rankings_of(two_tables())
    assert cpu.logarithmic and goodput.logarithmic
    assert [tick.text for tick in cpu.ticks] == ["best", "2×", "5×", "10×"]
    assert [tick.text for tick in goodput.ticks] == ["0.1×", "0.2×", "0.5×", "best"]
    found = rankings_of([changed(close, 1, {"interval": (-0.95, 0.9)})])[0]
    _, wide, _ = places(found)
    assert wide.beyond and wide.below and (wide.left, wide.width) == (0, 100)
    for row in places(cpu) + places(goodput) + places(found):
        assert 0 <= row.left <= row.at <= row.left + row.width + 0.01 <= 100.02


@pytest.mark.parametrize("value", [0.0, None, float("nan"), -1.0, -2.0])
def test_a_table_with_little_in_it_still_has_words(value: Any) -> None:
    text = ranking({"a": 100.0}, "json", False, ())
    bounds = None if value is None else (value, value)
    row = {"difference": value, "interval": bounds, "goodput": None}
    (found,) = rankings_of([replace(changed(text, 0, row, level=Level.read("c1")), question="")])
    assert found.question == "Most requests/s of json, 1 service: wrk, 1 connection"
    assert places(found)[0].rate == ("–", "", "") and found.ticks
    (none,) = rankings_of([ranking({"a": None, "b": 1.0}, "json", False, ())])
    assert none.unranked == [Unranked("a-py313-debian", "a", "–", ERRORS)]


def test_a_long_ranking_opens_its_later_tiers() -> None:
    (found,) = rankings_of(many_services())
    shown = sum(len(tier.rows) for tier in found.tiers)
    assert shown <= 20 and shown + found.later_rows == 58 and len(found.unranked) == 2
    # Long sentences are folded first, so that the picture begins on the first screen of a phone.
    assert sum(map(len, found.sentences)) <= MOST_CHARACTERS and (len(found.sentences), len(found.more)) == (4, 5)
    (brief,) = rankings_of([replace(many_services()[0], sentences=("Short.",) * 9)])
    assert len(brief.sentences) == MOST_SENTENCES + 2 and len(brief.more) == 3
    assert len(found.figures.rows) == 60


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
            "[...document.querySelectorAll('#answers li, #answers h3, #answers .place > span')]"
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
    assert re.search(r"bjoern-wsgi\n10,543/s", told) and "tier 1" in told
    assert "+347 %" in told
    first = made.locator("figure.ranking").first
    # The whole first table is on the first screen; tables are side by side if there is room.
    assert ends_at(first.locator(".place").last) <= 900
    tops = made.locator("figure.ranking").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert (tops[0] == tops[1]) == (width == 1280)
    assert made.evaluate("document.documentElement.scrollWidth") <= width
    outside = made.evaluate(
        "[...document.querySelectorAll('#answers .marks > *, #answers .place > *')].filter(e => {"
        " const box = e.getBoundingClientRect(); return box.right > innerWidth || box.left < 0 }).length"
    )
    assert outside == 0


def test_what_comes_after_the_answers(two: Path, opened: Opened) -> None:
    made = opened(two)
    order = made.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert order == ["pair", "answers", "charts", "measurements", "tables", "missing", "run"]
    draw_all(made)
    charts = made.locator("#charts figure.chart:not(.missing) h3").all_inner_texts()
    assert charts[0] == "Requests/s" and "Cost per request" in charts and "Noise over the run" not in charts
    # The charts have the ranking's figures, over all rounds.
    made.locator("#chart-ranked > details > summary").click()
    assert made.locator("#chart-ranked tbody tr").first.inner_text().split("\t")[1:3] == ["10,543", "10,333 to 10,754"]
    made.select_option("#filter-load", label="delay-20, wrk, 16 connections")
    assert "uvicorn · asgi 764/s" in (made.locator("#chart-ranked .plot > *").get_attribute("aria-label") or "")
    # Noise is smaller, and opens on demand.
    noise = made.locator("#noise")
    assert not noise.locator("figure").is_visible()
    noise.locator("summary").first.focus()
    made.keyboard.press("Enter")
    noise.locator("svg").first.wait_for()
    heights = "#{} svg".format
    tallest = made.locator(heights("noise")).evaluate_all("all => Math.max(...all.map(one => one.clientHeight))")
    assert tallest < made.locator(heights("chart-ranked")).first.evaluate("one => one.clientHeight")


def test_axe_finds_nothing_in_the_answers(two: Path, opened: Opened) -> None:
    for dark in (False, True):
        made = opened(two, width=1280, dark=dark)
        made.evaluate("document.querySelectorAll('#answers details').forEach(one => (one.open = true))")
        # The dark theme differs only in colours.
        options = {"runOnly": ["color-contrast"]} if dark else {}
        part = "#ranking-2" if dark else "header, #answers, #noise"
        found = Axe().run(made, context=part, options=options).response["violations"]
        assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []


def test_a_table_of_all_figures_has_its_memory_in_view(two: Path, opened: Opened) -> None:
    made = opened(two, width=1280)
    made.locator("#ranking-1 > details.fold > summary").click()
    head = made.locator("#ranking-1 th", has_text="memory under load")
    assert head.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
    assert made.locator("#ranking-1 .scroll").evaluate("one => one.scrollWidth <= one.clientWidth")


def test_answers_need_no_script_and_the_skip_link_leads_to_them(two: Path, opened: Opened) -> None:
    made = opened(two, java_script_enabled=False)
    assert SENTENCES[0] in made.locator("#answers").inner_text()
    assert made.locator("#answers .dot:visible").count() == 15
    made.locator("#ranking-1 > details > summary").click()
    assert made.locator("#ranking-1 table tbody tr:visible").count() == 8
    made = opened(two)
    made.keyboard.press("Tab")
    made.keyboard.press("Enter")
    assert made.evaluate("document.activeElement.id") == "answers"


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
    later = made.locator("details.later")
    assert later.locator(".place:visible").count() == 0
    later.locator("summary").focus()
    made.keyboard.press("Enter")
    assert made.locator(".place:visible").count() == 58 and made.locator(".unranked li").count() == 2
    assert made.evaluate("document.documentElement.scrollWidth") <= 400
    shown = "<img src=x onerror=window.hit=1><b>⟨U+202E⟩</span></li>{{ 7*7 }}"
    assert made.locator("#answers .place .name").first.inner_text() == shown
    assert made.locator("#answers", has_text=shown).count() == 1
    assert made.evaluate("window.hit") is None and made.locator("main img, main b").count() == 0


@pytest.mark.parametrize("tables", [0, 1])
def test_a_run_without_rankings_has_no_answers(tmp_path: Path, tables: int) -> None:
    empty = replace(two_tables()[0], ranking=replace(two_tables()[0].ranking, rows=()))
    text = page(tmp_path, [empty] * tables).read_text()
    assert 'id="answers"' not in text and 'class="ranked"' not in text and "figure.ranking" not in text
    assert text.index('id="conclusions"') < text.index('id="charts"') and "Missing results</h2>" in text
