"""Each pair without a called difference is beside the one that would have been called."""

from __future__ import annotations

from dataclasses import replace

from turns_runs import told_of

from bench.words.remarks import MOST_UNDECIDED, beside_words

ALIKE = {"uvicorn-asgi": 5400, "aiohttp": 5390, "tornado": 5380, "bjoern-wsgi": 5370, "cherrypy": 1000}


def test_every_open_pair_has_a_line_but_those_that_rows_have() -> None:
    told = told_of(ALIKE, 8)
    found = told.ranking
    best = found.rows[0].service
    open_ones = [one for one in found.contrasts if one.smallest_visible is not None]
    assert len(open_ones) == 6 and all("cherrypy" not in one.a + one.b for one in open_ones)
    beside = [one for one in open_ones if best not in (one.a, one.b)]
    assert len(told.beside) == len(beside) == 3
    assert all(line.endswith("or more would have been called nine times in ten.") for line in told.beside)
    assert told.beside[0].split(" ")[1] == "beside" and "-py313-debian" not in told.beside[0]
    in_rows = {row.service for row in found.rows if row.smallest_visible is not None}
    assert in_rows == {name for one in open_ones for name in (one.a, one.b)} - {best}


def test_of_many_pairs_the_others_are_one_line() -> None:
    told = told_of(ALIKE, 8)
    found = told.ranking
    contrasts = tuple(replace(one, smallest_visible=0.02 + 0.001 * place) for place, one in enumerate(found.contrasts))
    many = replace(found, contrasts=contrasts * 4)
    lines = [*beside_words(many, told.name)]
    assert len(lines) == MOST_UNDECIDED + 1
    assert "more pairs have no called difference: 2" in lines[-1] and " to " in lines[-1]
    assert [*beside_words(replace(many, look=None), told.name)] == []
