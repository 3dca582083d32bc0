"""The sentences at the head of a report: each says what its verdict says, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.analysis.services import Coordinates
from bench.records.record import MEASURED, Record
from bench.words.names import question
from bench.words.told import MOST_QUESTIONS, Conclusion, by_question, conclusions

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


def records(names: Sequence[str], mode: str = "solo") -> list[Record]:
    return [Placed(name, mode) for name in names]  # type: ignore[misc]


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


def test_solo_windows_give_questions_and_no_conclusion() -> None:
    found = conclusions([], records(["sync", "gevent", "bjoern"]))
    assert not any(conclusion.decided for conclusion in found) and not any(
        "faster" in conclusion.sentence for conclusion in found
    )
    assert found[0].sentence.startswith("No verdict: each service was measured alone")
    assert {conclusion.question.partition(" for")[0] for conclusion in found[1:]} == {
        "Which gunicorn worker model",
        "Which server",
    }
    assert conclusions([], []) == ()
    assert len(conclusions([], records(["sync"]))) == 1


def test_only_the_first_questions_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"s{n}": Coordinates("aiohttp", f"f{n // 2}", f"3.{n % 2}", "debian", None) for n in range(40)}
    monkeypatch.setattr("test_conclusions.PLACES", PLACES | many)
    found = conclusions([], records([*many]))
    assert len(found) == MOST_QUESTIONS + 1
    assert found[0].sentence.endswith(" 22 comparisons have no verdict; the first 6:")


def test_conclusions_are_grouped_by_question() -> None:
    found = [Conclusion(asked, where, "a is faster.", True) for where in "xy" for asked in ("Which?", "How many?")]
    assert by_question(found) == (("Which?", (found[0], found[2])), ("How many?", (found[1], found[3])))
