"""What a table in turns says, in words: one sentence on its ranking, and one on each question that its services raise.

Pure, and from the verdicts alone: what is not told apart is said to be so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from bench.analysis.tables.ladder import ladder_of, ladder_sentence
from bench.analysis.tables.ranking import Ranking
from bench.analysis.words.conclusions import Coordinates, Question, coordinates_of, question
from bench.analysis.words.scenarios import BARE, framework_words, wait_words
from bench.analysis.words.settings import setting_question, setting_words
from bench.analysis.words.tables.order import Told, listed
from bench.analysis.words.tables.sweeps import in_order, sweep_sentence
from bench.core.files import mapping
from bench.matrix.knobs import REF
from bench.plan.measurement import settings_of
from bench.plan.running import UNKNOWN
from bench.records.record import Record

MOST = 6
"""How many of the questions get a sentence."""
KINDS = ("settings", "workers", "framework", "server", "package", "python", "base")
"""What the services of a question differ in, in the order of their sentences; workers are gunicorn's worker models."""
FIRST = {"workers": 2, "settings": MOST}
"""How many sentences of a kind come before a second one of another kind; of all others one."""
MODELS = ("gevent", "gthread")
"""The worker models of which everybody asks."""
WORKERS = "gunicorn"
WORKER_REFERENCE = "gunicorn-sync"
"""The worker model with which the others are compared."""
Places = Mapping[str, Coordinates]


def places_of(facts: Mapping[str, Any], records: Iterable[Record]) -> dict[str, Coordinates]:
    """What each service of a run is made of, from run.json, else from its records."""
    found = {record.service: coordinates_of(record) for record in records if record.mode != "null"}
    for name, entry in mapping(facts.get("services")).items():
        words = {key: value for key, value in mapping(entry).items() if isinstance(value, str)}
        if {"server", "framework", "python", "base"} <= words.keys():
            server, framework, python, base = (words[key] for key in ("server", "framework", "python", "base"))
            found[name] = Coordinates(server, framework, python, base, words.get("package"), words.get("settings"))
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
    known = [places[name] for name in services if name in places and places[name].python != UNKNOWN]
    differs = _differs(services, places)
    if not known or not differs:
        return "Which service?"
    if differs == {"settings"}:
        asked = setting_question(known[0].stack, [settings_of(place.settings) for place in known])
        return f"{asked}? (Python {known[0].python}, {known[0].base})"
    words = {"server": "server", "framework": "framework", "python": "Python", "base": "base image"}
    words["settings"] = "setting"
    listed_words = [words.get(name, "package version") for name in Coordinates.__slots__ if name in differs]
    same = [*([f"Python {known[0].python}"] * ("python" not in differs)), *([known[0].base] * ("base" not in differs))]
    return f"Which {listed(listed_words)}?" + (f" ({', '.join(same)})" if same else "")


def sentences(ranking: Ranking, places: Places) -> tuple[str, ...]:
    """The sentence on the whole table, then one for each question that two or more of its services raise."""
    told = Told(ranking)
    ranked = [row.service for row in ranking.rows if row.rank is not None]
    absent = [row for row in ranking.rows if row.rank is None]
    left_out = ""
    if absent:
        why = [f"{row.label} ({row.note.partition(':')[0]})" for row in absent]
        left_out = f" Not ranked: {listed(why)}."
    if ranking.look is None or len(ranked) < 2:
        return (_capital(told.order(ranked, _names(ranking, places))) + "." + left_out,)
    found = _answers(told, ranked, places)
    if len(ranked) == 2 and found:
        # The answer to the only question of two services is the sentence on the table.
        return (f"{found[0].sentence}{left_out}",)
    first = _capital(told.order(ranked, _names(ranking, places))) + "."
    kept = _most_important(found)
    left = len(found) - len(kept)
    more = (f"The answers to {left} more questions of this kind are in verdicts.jsonl.",) if left > 0 else ()
    return (first + left_out, *(one.sentence for one in kept), *more)


@dataclass(frozen=True, slots=True)
class _Answer:
    """One sentence; those of a kind are in the order of `rank`."""

    kind: str
    rank: tuple[int, ...]
    sentence: str


def _answers(told: Told, ranked: Sequence[str], places: Places) -> list[_Answer]:
    """The answer to every question of two or more services, the important kinds first."""
    groups: dict[Question, list[str]] = {}
    for a, b in combinations(ranked, 2):
        topic = question(a, b, places)
        if topic.by in ("server", "framework", "python", "base", "package", "settings"):
            groups.setdefault(topic, []).extend((a, b))
    differs, found = _differs(ranked, places), list[_Answer]()
    for number, (topic, members) in enumerate(groups.items()):
        services = [name for name in ranked if name in members]
        context = _context(places[services[0]], topic.by, differs)
        swept = _sweep(told, services, places, differs) if topic.by == "settings" else ""
        ladder = ladder_of(services, places) if topic.by == "package" else None
        if ladder:
            found.append(
                _Answer("package", (-len(services), number), _sentence(context, ladder_sentence(told, ladder)))
            )
        elif swept:
            found.append(_Answer("settings", (-len(services), number), _sentence("", swept)))
        elif topic.by == "server" and only_gunicorn([places[name] for name in services]):
            found += _workers(told, services, places, context, number)
        elif len(services) < len(ranked):
            names = {name: _prose(places[name], topic.by) for name in services}
            # First what is compared with a bare app, or has one on every server.
            bare = any(places[name].framework in BARE for name in services)
            rank = (not bare, -len(services), number)
            found.append(_Answer(topic.by, rank, _sentence(context, told.order(services, names))))
    return sorted(found, key=lambda one: (KINDS.index(one.kind), one.rank))


def _sweep(told: Told, services: Sequence[str], places: Places, differs: set[str]) -> str:
    """The sentence on services that differ in one knob whose values are numbers; empty for any others."""
    settings = {name: settings_of(places[name].settings) for name in services}
    first = settings[services[0]]
    varied = [knob for knob in first if len({own.get(knob) for own in settings.values()}) > 1]
    if len(varied) != 1 or any(own.keys() != first.keys() for own in settings.values()):
        return ""
    ordered = in_order(services, varied[0], settings)
    if ordered is None:
        return ""
    place = places[services[0]]
    who = _coordinate(place, "server") if differs <= {"settings", "server"} else _label(place, differs - {"settings"})
    same = {knob: value for knob, value in first.items() if knob not in varied}
    who += f" ({setting_words(same)})" if same else ""
    return sweep_sentence(told, ordered, varied[0], settings, who)


def only_gunicorn(places: Iterable[Coordinates]) -> bool:
    """Whether these differ in nothing but gunicorn's worker model, as far as their servers go."""
    return {place.server.partition("-")[0] for place in places} == {WORKERS}


def _workers(told: Told, services: Sequence[str], places: Places, context: str, number: int) -> Iterator[_Answer]:
    """The worker models of one app, each against the synchronous one."""
    reference = next((name for name in services if places[name].server == WORKER_REFERENCE), services[0])
    for other in services:
        if other != reference:
            models = {name: _worker(places[name]) for name in (other, reference)}
            after = under(told.ranking, (places[other], places[reference]))
            model = models[other]
            bare = places[other].framework in BARE
            rank = (not bare, number, MODELS.index(model) if model in MODELS else len(MODELS))
            yield _Answer("workers", rank, _sentence(context, told.workers(other, reference, models) + after))


def under(ranking: Ranking, pair: Sequence[Coordinates]) -> str:
    """The conditions on which the order of gunicorn's worker models depends, as the end of a sentence."""
    waits, kept = wait_words(ranking.scenario), ranking.connections_kept
    found = [f"with {waits} to wait for"] if waits else []
    if kept is not None:
        closes = " (which sync closes)" if WORKER_REFERENCE in {place.server for place in pair} else ""
        found.append(f"on kept connections{closes}" if kept else "with a new connection for each request")
    varied = any("WORKERS" in settings_of(place.settings) for place in pair)
    found += [f"with {ranking.workers} workers each"] if not varied and (ranking.workers or 1) > 1 else []
    return "".join(f", {words}" for words in found)


def _most_important(found: Sequence[_Answer]) -> list[_Answer]:
    """As many as a reader takes in, of every kind the first ones; their order stays."""
    seen: Counter[str] = Counter()
    late = []
    for one in found:
        late.append(seen[one.kind] >= FIRST.get(one.kind, 1))
        seen[one.kind] += 1
    chosen = sorted(range(len(found)), key=lambda number: late[number])[:MOST]
    return [found[number] for number in sorted(chosen)]


def _names(ranking: Ranking, places: Places) -> dict[str, str]:
    """The names of the sentence on the whole table: those of its rows, or of frameworks in words."""
    differs = _differs([row.service for row in ranking.rows], places)
    if differs == {"settings"}:
        return {row.service: f"{places[row.service].server} with {row.label}" for row in ranking.rows}
    frameworks = not {"server", "python", "base", "package", "settings"} & differs
    return {row.service: framework_words(row.label) if frameworks else row.label for row in ranking.rows}


def _sentence(context: str, words: str) -> str:
    return f"{_capital(f'{context}, {words}' if context else words)}."


def _differs(services: Iterable[str], places: Places) -> set[str]:
    """The coordinates in which services differ, as far as these are known."""
    known = [places[name] for name in services if name in places]
    return {name for name in Coordinates.__slots__ if len({getattr(place, name) for place in known} - {UNKNOWN}) > 1}


def _label(place: Coordinates, differs: set[str]) -> str:
    stack = {"server", "framework"} & differs
    parts = [_coordinate(place, stack.pop()) if len(stack) == 1 else place.stack] if stack else []
    told = [name for name in ("python", "base", "package") if name in differs and place.python != UNKNOWN]
    parts += [_coordinate(place, name) for name in told]
    if "settings" not in differs or not place.settings:
        return ", ".join(parts)
    own = settings_of(place.settings)
    parts = [*filter(None, [own.pop(REF, "")]), *parts]
    words = setting_words(own)
    return " with ".join(filter(None, (", ".join(parts), words)))


def _coordinate(place: Coordinates, name: str) -> str:
    if name == "python":
        return f"Python {place.python}"
    if name == "package":
        return place.package.replace("==", " ") if place.package else "the locked version"
    return str(getattr(place, name))


def _context(place: Coordinates, by: str, differs: set[str]) -> str:
    """What the services of a question have in common, as far as others of the table have not."""
    shared = {"server": f"with {framework_words(place.framework)}", "framework": f"on {place.server}"}
    own = shared.get(by, f"with {place.stack}")
    also = [f"on {_coordinate(place, name)}" for name in ("python", "base") if name in differs and name != by]
    if "settings" in differs and by != "settings" and place.settings:
        also.append(f"with {setting_words(settings_of(place.settings))}")
    return " ".join([*([own] if {"server", "framework"} & differs - {by} else []), *also])


def _prose(place: Coordinates, name: str) -> str:
    return framework_words(place.framework) if name == "framework" else _coordinate(place, name)


def _worker(place: Coordinates) -> str:
    return place.server.partition("-")[2]


def _capital(words: str) -> str:
    """The sentence as it begins a line: names of services are spelt as they are."""
    first = words.partition(" ")[0].rstrip(",")
    begins = first in _OWN_WORDS or words.startswith(tuple(BARE.values()))
    return words[:1].upper() + words[1:] if begins else words


_OWN_WORDS = frozenset({"with", "on", "no", "only", "not", "these"})
