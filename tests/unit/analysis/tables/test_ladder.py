"""Releases of a package in order, as a table and as a line."""

from __future__ import annotations

from dataclasses import replace

from known_rankings import rungs, without_rank

from bench.analysis.tables.ladder import ladders
from bench.analysis.tables.ranking import NoFigure
from bench.render.in_turns import ladder_tables
from bench.words.conclusions import describe_ranking

SPEEDS = {"27.0.1": 950.0, "9.0": 1000.0, "22.0.0": 1001.0, "23.0.0": 900.0}


def test_two_releases_or_a_source_make_no_ladder() -> None:
    for versions in (["1", "2"], ["1", "2", "2+g1234567"], ["1", "2", "x"]):
        found, places = rungs({version: 100.0 + n for n, version in enumerate(versions)})
        assert ladders(found, places) == []


def test_releases_that_are_changed_together_with_another_package_make_one() -> None:
    found, places = rungs({"1": 100.0, "2": 101.0, "3": 102.0})
    both = {name: replace(place, package=f"{place.package} setuptools==70.0") for name, place in places.items()}
    (ladder,) = ladders(found, both)
    assert (ladder.package, [*ladder.versions.values()]) == ("gunicorn with setuptools 70.0", ["1", "2", "3"])
    assert ladders(found, both | {"3": places["3"]}) == []
    assert ladders(found, dict.fromkeys(places, replace(places["1"], package=" "))) == []


def test_the_table_has_each_release_beside_the_one_before_that_has_a_figure() -> None:
    found, places = rungs(SPEEDS)
    contrasts = tuple(one for one in found.contrasts if "22.0.0" not in (one.a, one.b))
    ranking = without_rank(found, "22.0.0", NoFigure("build: no"), goodput=None, cpu_us=None)
    ranking = replace(ranking, contrasts=contrasts)
    ((table, picture),) = ladder_tables([describe_ranking(ranking, places)])
    assert table.title.endswith("gunicorn-sync-wsgi by release of gunicorn")
    assert [(row[0], *row[3:]) for row in table.rows] == [
        ("9.0", "–", "–", "–"),
        ("22.0.0", "–", "–", "build: no"),
        ("23.0.0", "+11 % (+10 to +12 %)", "slower", "–"),
        ("27.0.1", "-5.3 % (-6.2 to -4.3 %)", "faster", "–"),
    ]
    assert picture.svg.startswith("<svg") and "1 is 9.0, 2 is 23.0.0, 3 is 27.0.1" in picture.words
    # Three levels, one for each release.
    assert picture.svg.count("#c2571a") == 3
