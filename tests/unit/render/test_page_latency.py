"""Latency at a common rate on the page: in the ranking's rows, in its table, and for two services side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from page_browser import Opened
from ranking_run import page, two_tables
from rated_tables import rated_ranking
from turns_runs import service_of

from bench.analysis.tables.ranking import Figure, Metric
from bench.render.page.rankings import rankings_of
from bench.words.conclusions import RankingText

pytest_plugins = ["page_fixtures"]


def with_latency(text: RankingText) -> RankingText:
    """The table with latency figures, taken from another ranking for the services that both have.

    The others have a figure too, so that rows are as full as possible.
    """
    (found,) = rated_ranking().latencies
    usual = dict.fromkeys((row.service for row in text.ranking.rows), Figure(0.0123, 0.0110, 0.0140))
    percentiles = (
        replace(one, figures=usual | {name: own for name, own in one.figures.items() if name in usual})
        for one in found.percentiles
    )
    return replace(text, ranking=replace(text.ranking, latencies=(replace(found, percentiles=tuple(percentiles)),)))


@pytest.fixture(scope="module")
def rated_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    first, second = two_tables()
    return page(tmp_path_factory.mktemp("rated") / "a-run", [with_latency(first), second])


@pytest.fixture(scope="module")
def one_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page(tmp_path_factory.mktemp("rated") / "one", [with_latency(two_tables()[0])])


def test_rows_have_p99_and_who_is_lowest() -> None:
    text = with_latency(two_tables()[0])
    (found,) = rankings_of([text])
    titles = [head.title for head in found.heads]
    rows = {row.cells[1].text: row.cells[titles.index("p99, ms")] for row in found.rows}
    assert (rows["uvicorn-asgi"].text, rows["uvicorn-asgi"].remark) == ("2.16", "lowest")
    assert (rows["aiohttp"].text, rows["aiohttp"].remark) == ("2.17", "lowest?")
    assert (rows["gunicorn-sync-flask"].text, rows["gunicorn-sync-flask"].remark) == ("10.2", "")
    assert rows["uvicorn-asgi"].interval == "2.02 to 2.31" and "p50, ms" in titles
    assert found.notes[1].startswith("Latency (p50, p99): vegeta loads the services one at a time with 1,800")


def test_without_latency_there_is_no_column_of_it() -> None:
    for found in rankings_of(two_tables()):
        assert not any(head.name for head in found.heads)
        assert not any(words.startswith("Latency") for words in found.notes)


def test_p50_where_nobody_has_p99() -> None:
    text = with_latency(two_tables()[0])
    (latency,) = text.ranking.latencies
    p50 = replace(latency, percentiles=tuple(one for one in latency.percentiles if one.metric is Metric.P50))
    (found,) = rankings_of([replace(text, ranking=replace(text.ranking, latencies=(p50,)))])
    assert [head.name for head in found.heads if head.name] == ["p50"]
    assert {row.cells[-1].unit for row in found.rows} == {" ms"}


@pytest.mark.parametrize("width", [1280, 1000, 760, 390])
@pytest.mark.parametrize("name", ["rated_page", "one_table"])
def test_rows_with_latency_fit(name: str, width: int, opened: Opened, request: pytest.FixtureRequest) -> None:
    made = opened(request.getfixturevalue(name), width=width)
    row = made.locator("#ranking-1 .bars tbody tr", has_text="uvicorn-asgi")
    assert "2.16 lowest 2.02 to 2.31 ±6.9 %" in (row.text_content() or "")
    assert made.evaluate("document.documentElement.scrollWidth") <= width
    outside = made.evaluate(
        "[...document.querySelectorAll('#answers .bars tr > *')].filter(e => {"
        " const box = e.getBoundingClientRect(); return box.right > innerWidth + 1 || box.left < 0 }).length"
    )
    assert outside == 0
    # No parts of a row overlap.
    crossed = made.evaluate(
        "[...document.querySelectorAll('#ranking-1 .bars tr')].flatMap(row => { const all = [...row.children].filter("
        "e => e.checkVisibility() && e.getBoundingClientRect().width > 2).map(e => e.getBoundingClientRect());"
        " return all.flatMap((a, i) => all.slice(i + 1).filter(b => a.left < b.right - 1 && b.left < a.right - 1 &&"
        " a.top < b.bottom - 1 && b.top < a.bottom - 1)) }).length"
    )
    assert crossed == 0


def test_memory_and_p99_are_in_view(one_table: Path, opened: Opened) -> None:
    made = opened(one_table, width=1280)
    for name in ("memory under load", "p99, ms"):
        head = made.locator("#ranking-1 thead th", has_text=name)
        assert head.evaluate("one => one.getBoundingClientRect().right <= innerWidth")


def test_two_services_are_compared_by_p99(rated_page: Path, opened: Opened) -> None:
    best, slow = service_of("uvicorn-asgi"), service_of("gunicorn-sync-flask")
    made = opened(rated_page, f"#pick={best}&pick={slow}")
    said = made.locator("#pair .findings").first
    said.get_by_text("gunicorn-sync-flask has a p99 4.7 times as high as uvicorn-asgi (4.2 to 5.3).").wait_for()
    assert "json, vegeta, 50 % of the slowest service's speed: " in said.inner_text()
