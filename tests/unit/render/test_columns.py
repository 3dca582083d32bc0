"""A column of a ranking in the report, on the page and on the terminal."""

from __future__ import annotations

from dataclasses import replace

from ranking_run import changed, two_tables

from bench.analysis.tables.ranking import ByLoadgen
from bench.render.columns import CPU, MEMORY, REQUESTS, against_words, ranking_columns
from bench.render.in_turns import ranking_table
from bench.render.page.rankings import rankings_of


def test_each_shows_as_much_of_a_figure_as_it_has_room_for() -> None:
    row = two_tables()[0].ranking.rows[1]
    assert CPU.whole(row) == "131 (130 to 132) µs"
    assert (CPU.on_page().name, CPU.on_page().of(row)) == ("CPU per request, µs", "131")
    assert CPU.parts(row) == ("131", "130 to 132", "") and MEMORY.figure and MEMORY.parts(row)[1:] == ("", "")
    assert (CPU.on_terminal().name, CPU.on_terminal().of(row)) == ("µs CPU\n/req.", "131")
    assert CPU.whole(replace(row, cpu_us=None)) == "–"
    bound = replace(row, remarks=(ByLoadgen(12, 12, ""),))
    assert REQUESTS.whole(bound) == "≥ 7,405 (7,256 to 7,553)" and REQUESTS.on_terminal().of(bound) == "≥ 7,405"


def test_nothing_is_the_best_before_the_first_look() -> None:
    early = changed(two_tables()[0], look=None)
    (against,) = [one for one in ranking_columns(early, str) if one.brief]
    shown = [against.in_report(), against.on_page(), against.on_terminal()]
    assert [column.of(early.ranking.rows[0]) for column in shown] == ["first"] * 3


def test_a_difference_that_names_no_winner_is_said_by_its_verdict() -> None:
    ranking = two_tables()[1].ranking
    best, second, *_, last = (row.service for row in ranking.rows if row.rank)
    (against,) = [one for one in ranking_columns(two_tables()[1], str) if one.brief]
    assert against.on_page().of(ranking.rows[1]) == "equal (-3.5 to +2.5 %)" == against_words(ranking, second, best)
    assert against_words(ranking, best, second) == "equal (-2.4 to +3.6 %)"
    assert against_words(ranking, last, best) == "-94 % (-94 to -93 %)"
    assert against_words(ranking, best, last).startswith("+1,472 % (+1,4")
    assert against_words(ranking, best, best) == "–"
    early = replace(ranking, look=None)
    assert against_words(early, second, best) == "-0.5 % (-3.5 to +2.5 %)"


def test_the_page_has_every_column_of_the_report() -> None:
    text = changed(two_tables()[0], 1, {"smallest_visible": 0.021})
    (page,) = rankings_of([text])
    names = {head.title.partition(",")[0] for head in page.heads}
    # The interval of a difference says as much, and follows the row that is compared.
    assert names == {*ranking_table(text).columns} - {"unnoticed below"}
    assert page.notes[-1] == "All 8 rows: windows: 12; left out: 0."
