"""A column of a ranking in the report, on the page and on the terminal."""

from __future__ import annotations

from dataclasses import replace

from ranking_run import changed, two_tables

from bench.analysis.tables.ranking import ByLoadgen
from bench.render.columns import CPU, REQUESTS, ranking_columns
from bench.render.in_turns import ranking_table
from bench.render.page.rankings import rankings_of


def test_each_shows_as_much_of_a_figure_as_it_has_room_for() -> None:
    row = two_tables()[0].ranking.rows[1]
    assert CPU.whole(row) == "131 (130 to 132) µs"
    on_page = {column.name: column.of(row) for column in CPU.on_page()}
    assert on_page == {"CPU per request, µs": "131", "CPU per request, interval": "130 to 132"}
    assert (CPU.on_terminal().name, CPU.on_terminal().of(row)) == ("µs CPU\n/req.", "131")
    assert CPU.whole(replace(row, cpu_us=None)) == "–"
    bound = replace(row, remarks=(ByLoadgen(12, 12, ""),))
    assert REQUESTS.whole(bound) == "≥ 7,405 (7,256 to 7,553)" and REQUESTS.on_terminal().of(bound) == "≥ 7,405"


def test_nothing_is_the_best_before_the_first_look() -> None:
    early = changed(two_tables()[0], look=None)
    (against,) = [one for one in ranking_columns(early, str) if one.brief]
    shown = [against.in_report(), *against.on_page(), against.on_terminal()]
    assert [column.of(early.ranking.rows[0]) for column in shown] == ["first", "first", "–", "first"]


def test_the_page_has_every_column_of_the_report() -> None:
    text = changed(two_tables()[0], 1, {"smallest_visible": 0.021})
    report, page = ranking_table(text).columns, rankings_of([text])[0].figures.columns
    assert {name.partition(",")[0] for name in page} == {*report, "windows", "left out"}
