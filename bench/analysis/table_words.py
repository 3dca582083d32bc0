"""What a table in turns says, in words: one sentence on its ranking, and one on each question that its services raise.

Pure, and from the verdicts alone: what is not told apart is said to be so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.analysis.conclusions import Coordinates, Question, question
from bench.analysis.order_words import Told, listed
from bench.analysis.ranking import Ranking
from bench.core.files import mapping
from bench.records.record import Record

MOST = 12
"""How many of the questions get a sentence."""
WORKERS = "gunicorn"
WORKER_REFERENCE = "gunicorn-sync"
"""The worker model with which the others are compared."""
Places = Mapping[str, Coordinates]


def places_of(facts: Mapping[str, Any], records: Iterable[Record]) -> dict[str, Coordinates]:
    """What each service of a run is made of, from run.json, else from its records."""
    found = {
        r.service: Coordinates(r.server, r.framework, r.python, r.base, r.package) for r in records if r.mode != "null"
    }
    for name, entry in mapping(facts.get("services")).items():
        words = {key: value for key, value in mapping(entry).items() if isinstance(value, str)}
        if {"server", "framework", "python", "base"} <= words.keys():
            server, framework, python, base = (words[key] for key in ("server", "framework", "python", "base"))
            found[name] = Coordinates(server, framework, python, base, words.get("package"))
    return found


def labels(services: Sequence[str], places: Places) -> dict[str, str]:
    """Short names of a table's services: what they differ in; their whole names where that is not enough."""
    differs = _differs(services, places)
    found = {name: (_label(places[name], differs) if name in places else "") or name for name in services}
    return found if len(set(found.values())) == len(services) else {name: name for name in services}


def table_question(services: Sequence[str], places: Places) -> str:
    """What the ranking answers."""
    topics = {question(a, b, places) for a, b in combinations(services, 2)}
    if len(topics) == 1 and (topic := topics.pop()).by != "name":
        return topic.words
    known = [places[name] for name in services if name in places]
    differs = _differs(services, places)
    if not known or not differs:
        return "Which service?"
    words = {"server": "server", "framework": "framework", "python": "Python", "base": "base image"}
    asked = [words.get(name, "package version") for name in Coordinates.__slots__ if name in differs]
    same = [*([f"Python {known[0].python}"] * ("python" not in differs)), *([known[0].base] * ("base" not in differs))]
    return f"Which {listed(asked)}?" + (f" ({', '.join(same)})" if same else "")


def sentences(ranking: Ranking, places: Places) -> tuple[str, ...]:
    """The sentence on the whole table, then one for each question that two or more of its services raise."""
    names = {row.service: row.label for row in ranking.rows}
    told = Told(ranking)
    ranked = [row.service for row in ranking.rows if row.rank is not None]
    absent = [row for row in ranking.rows if row.rank is None]
    first = _capital(told.order(ranked, names)) + "."
    if absent:
        why = [f"{row.label} ({row.note.partition(':')[0]})" for row in absent]
        first += f" Not ranked: {listed(why)}."
    if ranking.look is None or len(ranked) < 2:
        return (first,)
    found = list(_answers(told, ranked, places))
    left = len(found) - MOST
    more = (f"The answers to {left} more questions of this kind are in verdicts.jsonl.",) if left > 0 else ()
    return (first, *found[:MOST], *more)


def _answers(told: Told, ranked: Sequence[str], places: Places) -> Iterator[str]:
    groups: dict[Question, list[str]] = {}
    for a, b in combinations(ranked, 2):
        topic = question(a, b, places)
        if topic.by in ("server", "framework", "python", "base", "package"):
            groups.setdefault(topic, []).extend((a, b))
    differs = _differs(ranked, places)
    for topic, members in groups.items():
        services = [name for name in ranked if name in members]
        context = _context(places[services[0]], topic.by, differs)
        workers = topic.by == "server" and {places[name].server.partition("-")[0] for name in services} == {WORKERS}
        if workers:
            reference = next((name for name in services if places[name].server == WORKER_REFERENCE), services[0])
            for other in services:
                if other != reference:
                    models = {name: _worker(places[name]) for name in (other, reference)}
                    yield _sentence(context, told.workers(other, reference, models))
        elif len(services) < len(ranked):
            names = {name: _coordinate(places[name], topic.by) for name in services}
            yield _sentence(context, told.order(services, names))


def _sentence(context: str, words: str) -> str:
    return f"{_capital(f'{context}, {words}' if context else words)}."


def _differs(services: Iterable[str], places: Places) -> set[str]:
    """The coordinates in which services differ."""
    known = [places[name] for name in services if name in places]
    return {name for name in Coordinates.__slots__ if len({getattr(place, name) for place in known}) > 1}


def _label(place: Coordinates, differs: set[str]) -> str:
    stack = {"server", "framework"} & differs
    parts = [_coordinate(place, stack.pop()) if len(stack) == 1 else place.stack] if stack else []
    return ", ".join([*parts, *(_coordinate(place, name) for name in ("python", "base", "package") if name in differs)])


def _coordinate(place: Coordinates, name: str) -> str:
    if name == "python":
        return f"Python {place.python}"
    if name == "package":
        return place.package.replace("==", " ") if place.package else "the locked version"
    return str(getattr(place, name))


def _context(place: Coordinates, by: str, differs: set[str]) -> str:
    """What the services of a question have in common, as far as others of the table have not."""
    own = {"server": f"with {place.framework}", "framework": f"on {place.server}"}.get(by, f"with {place.stack}")
    also = [f"on {_coordinate(place, name)}" for name in ("python", "base") if name in differs and name != by]
    return " ".join([*([own] if {"server", "framework"} & differs - {by} else []), *also])


def _worker(place: Coordinates) -> str:
    return place.server.partition("-")[2]


def _capital(words: str) -> str:
    """The sentence as it begins a line: names of services are spelt as they are."""
    first = words.partition(" ")[0].rstrip(",")
    return words[:1].upper() + words[1:] if first in _OWN_WORDS else words


_OWN_WORDS = frozenset({"with", "on", "no", "only", "not", "these"})
