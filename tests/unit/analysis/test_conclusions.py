"""The sentences at the head of a report: each says what its verdict says, and no more."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from bench.analysis.comparison import Comparison, Metric
from bench.analysis.conclusions import (
    MOST_QUESTIONS,
    Coordinates,
    by_question,
    conclusions,
    noise_floor_words,
    question,
)
from bench.analysis.pair_analysis import Judged, PlannedPair
from bench.analysis.verdicts import verdicts, winner
from bench.records.record import MEASURED, Record
from bench.stats.estimates import estimate

PLACES = {
    "sync": Coordinates("gunicorn-sync", "flask", "3.13", "debian", None),
    "gevent": Coordinates("gunicorn-gevent", "flask", "3.13", "debian", None),
    "bjoern": Coordinates("bjoern", "flask", "3.13", "debian", None),
    "sync314": Coordinates("gunicorn-sync", "flask", "3.14", "debian", None),
    "musl": Coordinates("gunicorn-sync", "flask", "3.13", "alpine", None),
    "bottle": Coordinates("gunicorn-sync", "bottle", "3.13", "debian", None),
    "threads1": Coordinates("gunicorn-gthread", "flask", "3.13", "debian", None, "WORKERS=2 THREADS=1"),
    "threads8": Coordinates("gunicorn-gthread", "flask", "3.13", "debian", None, "WORKERS=2 THREADS=8"),
    "waitress8": Coordinates("waitress", "flask", "3.13", "debian", None, "WORKERS=2 THREADS=8"),
    "h11": Coordinates("uvicorn-h11", "asgi", "3.13", "debian", None),
    "uvicorn": Coordinates("uvicorn", "asgi", "3.13", "debian", None),
    "aiohttp1": Coordinates("aiohttp", "aiohttp", "3.13", "debian", "aiohttp==3.13.5"),
    "aiohttp314": Coordinates("aiohttp", "aiohttp", "3.14", "debian", "aiohttp==3.13.5"),
    "aiohttp2": Coordinates("aiohttp", "aiohttp", "3.13", "debian", "aiohttp==3.14.5"),
}


class Placed:
    """The part of a record that conclusions read."""

    def __init__(self, service: str, mode: str) -> None:
        self.service, self.mode = service, mode
        place = PLACES[service]
        self.server, self.framework, self.python = place.server, place.framework, place.python
        self.base, self.package, self.outcome = place.base, place.package, MEASURED
        self.settings = place.settings


def records(names: Sequence[str], mode: str = "duet") -> list[Record]:
    return [Placed(name, mode) for name in names]  # type: ignore[misc]


def judged(table: Sequence[tuple[str, str, Sequence[float]]], cause: str | None = None) -> Judged:
    pairs = tuple(
        PlannedPair(f"p{number}", a, b, "json", "wrk", "c64", False) for number, (a, b, _) in enumerate(table, 1)
    )
    made = [Comparison(a=a, b=b, metric=Metric.GOODPUT, values=tuple(v), cause=cause) for a, b, v in table]
    found = verdicts(made)
    winners = ((("json", "wrk", "c64"), winner(made, found)),) if len(made) > 1 else ()
    return Judged(pairs, tuple(made), found, tuple({} for _ in made), (), {}, winners)


def rounds(percent: float, spread: float = 0.002, n: int = 8, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [math.log1p(percent / 100) + rng.gauss(0, spread) for _ in range(n)]


@pytest.mark.parametrize(
    "a, b, words",
    [
        ("sync", "gevent", "Which gunicorn worker model for Flask? (Python 3.13, debian)"),
        ("sync", "bjoern", "Which server for Flask? (Python 3.13, debian)"),
        ("uvicorn", "h11", "Which variant of uvicorn for a bare ASGI app? (Python 3.13, debian)"),
        ("sync", "bottle", "Which framework on gunicorn-sync? (Python 3.13, debian)"),
        ("sync", "sync314", "Which Python for gunicorn-sync-flask? (debian)"),
        ("sync", "musl", "Which base image for gunicorn-sync-flask? (Python 3.13)"),
        ("aiohttp1", "aiohttp314", "Which Python for aiohttp with aiohttp==3.13.5? (debian)"),
        ("aiohttp1", "aiohttp2", "Which package version for aiohttp? (Python 3.13, debian)"),
        ("bjoern", "bottle", "Which server and framework? (Python 3.13, debian)"),
        ("musl", "sync314", "Which service?"),
        (
            "threads1",
            "threads8",
            "How many threads for gunicorn-gthread-flask with 2 workers? (Python 3.13, debian)",
        ),
        ("threads8", "waitress8", "Which server for Flask with 2 workers and 8 threads? (Python 3.13, debian)"),
        ("threads1", "waitress8", "Which service?"),
        ("sync", "unknown", "Which service?"),
    ],
)
def test_a_question_is_what_the_services_differ_in(a: str, b: str, words: str) -> None:
    assert question(a, b, PLACES).words == words == question(b, a, PLACES).words


def test_a_pair_of_settings_is_told_with_its_server() -> None:
    found = only(judged([("threads1", "threads8", rounds(50))]), ["threads1", "threads8"])
    begins = (
        "gunicorn-gthread with 2 workers and 8 threads is faster than gunicorn-gthread with 2 workers and 1 thread: "
    )
    assert found.startswith(begins)


def only(table: Judged, names: Sequence[str]) -> str:
    (conclusion,) = conclusions(table, records(names))
    return conclusion.sentence


def test_the_better_one_comes_first_whichever_way_it_was_measured() -> None:
    forth = only(judged([("sync", "gevent", rounds(9))]), ["sync", "gevent"])
    back = only(judged([("gevent", "sync", [-value for value in rounds(9)])]), ["sync", "gevent"])
    assert forth == back
    assert forth.startswith("gunicorn-gevent is faster than gunicorn-sync: 9.")
    assert forth.endswith(" %, 8 rounds).") and "more successful responses per second (8." in forth


def test_a_python_is_named_as_one() -> None:
    assert only(judged([("sync", "sync314", rounds(5))]), ["sync", "sync314"]).startswith(
        "Python 3.14 is faster than Python 3.13: "
    )


def test_without_a_verdict_the_sentence_claims_none() -> None:
    same = only(judged([("sync", "gevent", rounds(0.1))]), ["sync", "gevent"])
    assert same.startswith("No difference shown between gunicorn-sync and gunicorn-gevent (") and "faster" not in same
    wide = only(judged([("sync", "gevent", rounds(2, 0.2))]), ["sync", "gevent"])
    assert wide.startswith("Not enough data to compare gunicorn-sync and gunicorn-gevent: the interval contains 0")
    few = only(judged([("sync", "gevent", rounds(9, n=3))]), ["sync", "gevent"])
    assert few == (
        "Not enough data to compare gunicorn-sync and gunicorn-gevent:"
        " 3 of the 8 rounds that the first interim look needs."
    )
    bad = only(judged([("sync", "gevent", rounds(9))], cause="errors"), ["sync", "gevent"])
    assert bad == "No verdict on gunicorn-sync and gunicorn-gevent: invalid: errors."


def three(sync_gevent: float, sync_bjoern: float, spread: float = 0.002) -> Judged:
    return judged(
        [
            ("sync", "gevent", rounds(sync_gevent, spread, seed=1)),
            ("sync", "bjoern", rounds(sync_bjoern, spread, seed=2)),
            ("gevent", "bjoern", rounds(sync_bjoern - sync_gevent, spread, seed=3)),
        ]
    )


def test_several_services_are_several_questions_where_they_differ_in_other_things() -> None:
    found = conclusions(three(9, 40), records(["sync", "gevent", "bjoern"]))
    assert [conclusion.question.partition(" for")[0] for conclusion in found] == [
        "Which gunicorn worker model",
        "Which server",
    ]
    assert found[1].sentence.startswith(
        "bjoern is faster than all 2 others; the closest with a verdict is gunicorn-gevent: 3"
    )
    assert len(found[1].pairs) == 2 and found[1].decided


def test_there_is_no_winner_unless_one_beats_all_others() -> None:
    found = conclusions(three(9, 9.1), records(["sync", "gevent", "bjoern"]))
    assert "is faster than all" not in found[1].sentence
    assert found[1].sentence.startswith("No single winner")
    nothing = conclusions(three(0.5, 0.7, 0.3), records(["sync", "gevent", "bjoern"]))
    assert not any(conclusion.decided for conclusion in nothing)
    assert nothing[1].sentence == "No single winner; 0 of 2 pairs have a verdict."


def test_solo_windows_give_questions_and_no_conclusion() -> None:
    found = conclusions(Judged(), records(["sync", "gevent", "bjoern"], "solo"))
    assert not any(conclusion.decided for conclusion in found) and not any(
        "faster" in conclusion.sentence for conclusion in found
    )
    assert found[0].sentence.startswith("No verdict: each service was measured alone")
    assert {conclusion.question.partition(" for")[0] for conclusion in found[1:]} == {
        "Which gunicorn worker model",
        "Which server",
    }
    assert conclusions(Judged(), []) == ()
    assert len(conclusions(Judged(), records(["sync"], "solo"))) == 1


def test_only_the_first_questions_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"s{n}": Coordinates("aiohttp", f"f{n // 2}", f"3.{n % 2}", "debian", None) for n in range(40)}
    monkeypatch.setattr("test_conclusions.PLACES", PLACES | many)
    found = conclusions(Judged(), records([*many], "solo"))
    assert len(found) == MOST_QUESTIONS + 1
    assert found[0].sentence.endswith(" 22 comparisons have no verdict; the first 6:")


def test_conclusions_are_grouped_by_question() -> None:
    found = conclusions(three(9, 40), records(["sync", "gevent", "bjoern"]))
    assert [len(group) for _, group in by_question([*found, *found])] == [2, 2]


def test_the_noise_floor_is_the_largest_difference_of_an_a_a_pair() -> None:
    pair = PlannedPair("aa1", "sync", "sync", "json", "wrk", "c64", False)
    controls = [
        (pair, Metric.GOODPUT, estimate([0.002, 0.004]), 2),
        (pair, Metric.GOODPUT, estimate([-0.02, -0.02]), 2),
    ]
    assert "A/A pairs of this run differ by up to 2.0 % (goodput)." in noise_floor_words(
        Judged(controls=tuple(controls))
    )
    assert noise_floor_words(Judged()) == ""
