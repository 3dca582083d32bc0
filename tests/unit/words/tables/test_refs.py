"""What a table of two refs is in words, and what a comment on it compares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from known_rankings import place, ranking

from bench.analysis.services import Coordinates, pairs_of
from bench.analysis.tables.ranking import Metric, NoFigure, Ranking, Unranked
from bench.words.answers import against, ref_question, ref_sentences
from bench.words.names import labels_of

SYNC = place("gunicorn-sync", settings="REF=sync")
GEVENT = place("gunicorn-gevent", settings="REF=gevent")
BOTH = {"a-sync": SYNC, "a-gevent": GEVENT}
PAIR = (("a-sync", "a-gevent"),)


def facts(**head: Any) -> dict[str, Any]:
    side = {"ref": "main", "commit": "1" * 40, "head": "1" * 40, "dirty": False}
    return {"refs": {"base": side, "head": side | {"ref": "topic"} | head, "pairs": [list(PAIR[0])]}}


def told(speeds: dict[str, float], places: dict[str, Coordinates], metric: Metric = Metric.GOODPUT) -> list[str]:
    pairs = list(zip([*places][::2], [*places][1::2], strict=True))
    return [*ref_sentences(ranking(speeds, metric), pairs, places)]


def test_the_sentence_names_both_refs_the_head_first() -> None:
    assert told({"a-gevent": 310, "a-sync": 100}, BOTH) == [
        "gevent against sync (gunicorn-gevent-flask against gunicorn-sync-flask): gevent served 3.10 times as many"
        " requests per second as sync (3.07 to 3.13)."
    ]
    slower = told({"a-sync": 100, "a-gevent": 80}, BOTH, Metric.CPU)
    assert slower[0].endswith("): gevent needs 25 % more CPU per request than sync (24 to 26 %).")
    same = told({"a-sync": 100, "a-gevent": 100.1}, BOTH)
    assert same[0].endswith("): gevent and sync cannot be told apart (at most 1.1 % apart).")


def test_one_stack_is_not_named_and_several_are() -> None:
    one = {"a-main": place("aiohttp", settings="REF=main"), "a-topic": place("aiohttp", settings="REF=topic")}
    assert told({"a-main": 100, "a-topic": 80}, one)[0].startswith("topic against main: main served 25 % more")
    two = one | {
        "t1": place("tornado", settings="REF=main THREADS=2"),
        "t2": place("tornado", settings="REF=topic THREADS=2"),
    }
    found = told({"a-main": 100, "a-topic": 80, "t1": 60, "t2": 50}, two)
    assert [sentence.partition(": ")[0] for sentence in found] == [
        f"{two['a-main'].stack}, topic against main",
        f"{two['t1'].stack}, topic against main",
    ]
    assert ": main (THREADS=2) served 20 % more requests per second than topic (THREADS=2)" in found[1]


def test_a_side_without_a_figure_is_said_to_have_none() -> None:
    found = ranking({"a-sync": 100, "a-gevent": 80}, Metric.GOODPUT)
    # What is left has a figure, and nobody to be compared with.
    lost: dict[str, dict[str, Any]] = {
        "a-gevent": {"windows": 0, "remarks": (NoFigure("build failed"),)},
        "a-sync": {"remarks": (Unranked.ALONE,)},
    }
    rows = tuple(replace(row, rank=None, **lost[row.service]) for row in found.rows)
    words = ref_sentences(replace(found, rows=rows), PAIR, BOTH)
    assert words[0].endswith(": gevent has no figure (build failed).")


def test_sides_that_were_never_in_one_window_are_not_compared() -> None:
    found = ranking({"a-sync": 100, "a-gevent": 80}, Metric.GOODPUT)
    apart = {"rank": None, "remarks": (Unranked.APART,)}
    rows = tuple(replace(row, **apart) if row.service == "a-sync" else row for row in found.rows)
    words = ref_sentences(replace(found, rows=rows), PAIR, BOTH)
    assert words[0].endswith(": sync cannot be compared (it was never in one window with the others).")


def test_before_the_first_look_no_difference_is_told() -> None:
    early: Ranking = replace(ranking({"a-sync": 100, "a-gevent": 80}, Metric.GOODPUT), look=None, rounds=2)
    assert "not enough data for a ranking: 2 rounds" in ref_sentences(early, PAIR, BOTH)[0]


def test_the_ranking_and_the_question_name_the_refs() -> None:
    assert labels_of([*BOTH], BOTH) == {"a-sync": "sync, gunicorn-sync", "a-gevent": "gevent, gunicorn-gevent"}
    same = {name: place("aiohttp", settings=f"REF={name}") for name in ("main", "topic")}
    assert labels_of([*same], same) == {"main": "main", "topic": "topic"}
    assert ref_question(PAIR, BOTH) == (
        "gevent against sync? (gunicorn-sync-flask, gunicorn-gevent-flask; Python 3.13, debian)"
    )


def test_run_json_says_what_is_compared() -> None:
    assert pairs_of(facts()) == PAIR and pairs_of({}) == () and pairs_of({"refs": {"pairs": [1, ["a"]]}}) == ()
    assert against(facts()) == "topic (1111111) against main (1111111)"
    assert against(facts(dirty=True)) == "topic (1111111 and uncommitted changes) against main (1111111)"
    assert against({}) == ""
