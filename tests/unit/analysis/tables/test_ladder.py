"""Releases of a package in their order, in words, as a table and as a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from known_rankings import place, ranking, sentences_of

from bench.analysis.services import Coordinates
from bench.analysis.tables.ladder import ladders
from bench.analysis.tables.ranking import Figure, Metric, NoFigure, Ranking
from bench.render.tables.ladder import ladder_tables
from bench.words.told import told_ranking

SPEEDS = {"27.0.1": 950.0, "9.0": 1000.0, "22.0.0": 1001.0, "23.0.0": 900.0}


def rungs(speeds: Mapping[str, float], metric: Metric = Metric.CPU) -> tuple[Ranking, dict[str, Coordinates]]:
    """Services by their release."""
    places = {version: place("gunicorn-sync", "wsgi", package=f"gunicorn=={version}") for version in speeds}
    found = ranking(speeds, metric)
    figures = {row.service: Figure(1e6 / speeds[row.service], 990, 1010) for row in found.rows}
    rows = [replace(row, cpu_us=figures[row.service], goodput=figures[row.service]) for row in found.rows]
    return replace(found, rows=tuple(rows)), places


def test_the_steps_that_are_real_are_told_and_the_one_over_all() -> None:
    assert sentences_of(*rungs(SPEEDS))[1] == (
        "gunicorn from 9.0 to 27.0.1: 23.0.0 is slower than 22.0.0: it needs 11 % more CPU per request (10 to 12 %);"
        " 27.0.1 is faster than 23.0.0, which needs 5.6 % more CPU per request (4.5 to 6.6 %);"
        " no other step shows a difference (at most 1.1 %);"
        " in all, 27.0.1 is slower than 9.0: it needs 5.3 % more CPU per request (4.2 to 6.3 %)."
    )
    asked = sentences_of(*rungs({"1": 100, "2": 101, "3": 200}, Metric.GOODPUT))[1]
    assert asked == (
        "gunicorn from 1 to 3: 3 is faster than 2: it served 1.98 times as many requests per second (1.96 to 2.00);"
        " no other step shows a difference (at most 2.0 %);"
        " in all, 3 is faster than 1: it served 2.00 times as many requests per second (1.98 to 2.02)."
    )


def test_that_no_step_is_real_is_told() -> None:
    assert sentences_of(*rungs({"1": 100, "2": 100.1, "3": 100.2}))[1] == (
        "gunicorn from 1 to 3: no step from one release to the next is shown to be real; 2 steps show no difference"
        " (at most 1.1 %); in all, 3 and 1 cannot be told apart."
    )


def test_a_step_without_a_verdict_is_told() -> None:
    found, places = rungs({"1": 100, "2": 100.1, "3": 200})
    contrasts = [replace(one, verdict="not enough data") if one.b == "2" else one for one in found.contrasts]
    words = sentences_of(replace(found, contrasts=tuple(contrasts)), places)[1]
    assert "; of 1 step there is not enough data; in all, 3 is faster than 1" in words


def test_two_releases_or_a_source_make_no_ladder() -> None:
    for versions in (["1", "2"], ["1", "2", "2+g1234567"], ["1", "2", "x"]):
        found, places = rungs({version: 100.0 + n for n, version in enumerate(versions)})
        assert ladders(found, places) == []
        assert not any("from 1 to" in words for words in sentences_of(found, places))


def test_the_table_has_each_release_beside_the_one_before_that_has_a_figure() -> None:
    found, places = rungs(SPEEDS)
    rows = [
        replace(row, rank=None, goodput=None, cpu_us=None, remarks=(NoFigure("build: no"),))
        if row.service == "22.0.0"
        else row
        for row in found.rows
    ]
    contrasts = [one for one in found.contrasts if "22.0.0" not in (one.a, one.b)]
    ranking = replace(found, rows=tuple(rows), contrasts=tuple(contrasts))
    ((table, picture),) = ladder_tables([told_ranking(ranking, places)], places)
    assert table.title.endswith("gunicorn-sync-wsgi by release of gunicorn")
    assert [(row[0], *row[3:]) for row in table.rows] == [
        ("9.0", "–", "–", "–"),
        ("22.0.0", "–", "–", "build: no"),
        ("23.0.0", "-10.0 % (-10.9 to -9.1 %)", "slower", "–"),
        ("27.0.1", "+5.6 % (+4.5 to +6.6 %)", "faster", "–"),
    ]
    assert picture.svg.startswith("<svg") and "1 is 9.0, 2 is 23.0.0, 3 is 27.0.1" in picture.words
    # Three levels, one for each of the releases.
    assert picture.svg.count("#c2571a") == 3
