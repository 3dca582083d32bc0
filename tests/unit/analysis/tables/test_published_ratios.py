"""Published ratios next to those of a table in turns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from known_rankings import place
from turns_runs import ranking_of, service_of

from bench.analysis.published import Published, Sign, along_axes, published_beside, reference_results
from bench.analysis.tables.ranking import Ranking
from bench.render.in_turns import published_table
from bench.tools.levels import Level
from bench.words.conclusions import describe_ranking

GEVENT = "gunicorn-gevent-flask"
STACKS = {service_of(stack): stack for stack in ("gunicorn-sync-flask", GEVENT, "aiohttp", "bjoern-wsgi")}


def ranked(speeds: dict[str, float], scenario: str, level: str = "c16") -> Ranking:
    return replace(ranking_of(speeds, 6, 6), scenario=scenario, level=Level.read(level))


def beside(sync: float, gevent: float, scenario: str = "simple-json", level: str = "c16") -> Published:
    """What was published beside a table of two worker models with these speeds."""
    ranking = ranked({"gunicorn-sync-flask": sync, GEVENT: gevent}, scenario, level)
    found = published_beside(ranking, reference_results()["sync-vs-gevent"], STACKS)
    assert found is not None
    return found


def test_the_load_most_like_the_tables_is_the_one_beside_it() -> None:
    for level, ratio in (("c4", 863.6 / 1133.1), ("c16", 965.3 / 1545)):
        found = beside(1000, 690, level=level)
        assert found.load == f"{level}n1000"
        (row,) = found.rows
        assert (row.published, row.sign) == (ratio, Sign.SAME)
        assert row.here is not None and 0.68 < row.here < 0.7


def test_other_signs_are_named() -> None:
    assert beside(690, 1000).rows[0].sign is Sign.OPPOSITE
    assert beside(1000, 1000).rows[0].sign is Sign.NOT_SHOWN
    assert beside(1000, 800, "simple-request-0", "c4").rows[0].sign is Sign.NONE_THERE


def test_a_stack_with_two_published_figures_has_its_higher_one() -> None:
    stacks = ("bjoern-wsgi", "gunicorn-sync-wsgi", "uvicorn-asgi")
    ranking = ranked(dict(zip(stacks, (9000.0, 1000.0, 4000.0), strict=True)), "root")
    found = published_beside(ranking, reference_results()["wsgi-asgi"], {service_of(s): s for s in stacks})
    assert found is not None
    assert [round(row.published, 3) for row in found.rows] == [0.154, 0.489]
    by_service = {service_of(stack): stack for stack in stacks}
    assert {row.sign for row in found.rows} == {Sign.SAME}
    (table,) = published_table([describe_ranking(ranking, {})], reference_results()["wsgi-asgi"], by_service)
    assert len(table.rows) == 2 and "too many open files" in table.notes[0]


def test_without_requests_per_second_the_ratio_is_that_of_the_speeds() -> None:
    ranking = ranked({"gunicorn-sync-flask": 1000, GEVENT: 690}, "simple-json", "c4")
    limited = replace(ranking, rows=tuple(replace(row, goodput=None) for row in ranking.rows))
    found = published_beside(limited, reference_results()["sync-vs-gevent"], STACKS)
    assert found is not None and found.rows[0].here is None
    assert found.rows[0].by_metric is not None and 0.68 < found.rows[0].by_metric < 0.7


def test_nothing_is_beside_what_was_not_published() -> None:
    ranking = ranked({"aiohttp": 1000, "bjoern-wsgi": 690}, "simple-json")
    assert published_beside(ranking, reference_results()["sync-vs-gevent"], STACKS) is None
    assert published_beside(ranking, None, STACKS) is None
    assert published_table([describe_ranking(ranking, {})], reference_results()["sync-vs-gevent"], STACKS) == []
    early = replace(ranked({"gunicorn-sync-flask": 1000, GEVENT: 690}, "simple-json"), look=None)
    assert published_beside(early, reference_results()["sync-vs-gevent"], STACKS) is None


def test_versions_and_pythons_are_told_along_their_axes() -> None:
    ranking = ranked({"aiohttp": 1000, "tornado": 1200, "bjoern-wsgi": 900}, "json", "c16")
    names = [row.service for row in ranking.rows]
    places = {
        service_of("aiohttp"): place("aiohttp", python="3.9", package="aiohttp==3.13.5"),
        service_of("tornado"): place("tornado", python="3.11", package="aiohttp==3.13.5"),
        service_of("bjoern-wsgi"): place("bjoern", python="3.9", package="aiohttp==3.14.5"),
    }
    assert set(names) == set(places)
    python, package = along_axes(ranking, reference_results()["aiohttp-versions"], places)
    assert (python.group.of, python.fixed, package.fixed) == ("aiohttp 3.6", "aiohttp==3.13.5", "3.9")
    assert python.there[:2] == (("Python 3.7", 1.0), ("Python 3.8", 8558 / 7140))
    assert [value for value, _ in python.here] == ["3.9", "3.11"]
    assert [value for value, _ in package.here] == ["aiohttp==3.13.5", "aiohttp==3.14.5"]
    assert [python.here[1][1], package.here[1][1]] == [pytest.approx(1.2, rel=0.05), pytest.approx(0.9, rel=0.05)]
    assert list(along_axes(ranking, None, places)) == []
