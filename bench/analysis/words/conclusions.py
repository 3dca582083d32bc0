"""Conclusions: one sentence for each question of a run, built from its verdicts alone.

A question is what two services differ in: the server under one framework, the Python, the worker model.
If a run has no verdict on it, the sentence says so: figures of solo windows never become a conclusion.
Pure; report.md and the page print the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.tables.ranking import Ranking
from bench.analysis.words.scenarios import explained, framework_words
from bench.analysis.words.settings import setting_question, setting_words
from bench.matrix.service import stack_name
from bench.plan.measurement import settings_of
from bench.records.record import MEASURED, Record
from bench.stats.table_verdicts import NOT_ENOUGH

MOST_QUESTIONS = 6
"""How many of the questions without a verdict are listed."""
ALONE = (
    "No verdict: each service was measured alone (solo), so a difference between two of them may be noise."
    " Without --mode, services are measured in turns and ranked."
)


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What a service is made of."""

    server: str
    framework: str
    python: str
    base: str
    package: str | None
    settings: str | None = None
    """What --vary gave it: `WORKERS=2 THREADS=4`."""

    @property
    def stack(self) -> str:
        """Server x framework."""
        return stack_name(self.server, self.framework)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the coordinate in which its services differ."""

    words: str
    by: str

    def label(self, name: str, place: Coordinates) -> str:
        """A service's name within the question."""
        if self.by == "server":
            return place.server
        if self.by == "python":
            return f"Python {place.python}"
        if self.by == "settings" and place.settings:
            return f"{place.server} with {setting_words(settings_of(place.settings))}"
        return str(getattr(place, self.by, None) or name)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`sentence` answers `question` under the load `where`, which is empty if it is about all loads.

    `decided` is whether it is based on a verdict; `more` has the sentences after the one on the whole table.
    """

    question: str
    where: str
    sentence: str
    decided: bool
    more: tuple[str, ...] = ()


def conclusions(rankings: Sequence[Ranking], records: Iterable[Record]) -> tuple[Conclusion, ...]:
    """A conclusion for every table of the run, in the order of the plan; without tables, the questions left open."""
    if rankings:
        return tuple(map(_of_table, rankings))
    every = list(records)
    places = {record.service: coordinates_of(record) for record in every if record.mode != "null"}
    return tuple(
        _without_verdicts(
            places, [record.service for record in every if record.mode == "solo" and record.outcome == MEASURED]
        )
    )


def _of_table(ranking: Ranking) -> Conclusion:
    scenario, tool, level = ranking.table
    decided = any(one.verdict != NOT_ENOUGH for one in ranking.contrasts)
    where = f"{explained(scenario)} under {tool} {level}"
    return Conclusion(ranking.question, where, ranking.sentences[0], decided, more=ranking.sentences[1:])


def by_question(found: Iterable[Conclusion]) -> tuple[tuple[str, tuple[Conclusion, ...]], ...]:
    """The conclusions grouped by question, in the order of the first of each."""
    groups: dict[str, list[Conclusion]] = {}
    for conclusion in found:
        groups.setdefault(conclusion.question, []).append(conclusion)
    return tuple((words, tuple(group)) for words, group in groups.items())


def question(a: str, b: str, places: Mapping[str, Coordinates]) -> Question:
    """What two services differ in."""
    one, other = places.get(a), places.get(b)
    if one is None or other is None:
        return Question("Which service?", "name")
    differs = {name for name in Coordinates.__slots__ if getattr(one, name) != getattr(other, name)}
    context = "" if differs & {"python", "base"} else f" (Python {one.python}, {one.base})"
    version = f" with {one.package}" if one.package else ""
    given = settings_of(one.settings)
    if differs == {"settings"}:
        asked = setting_question(one.stack, [given, settings_of(other.settings)])
        return Question(f"{asked}?{context}", "settings")
    words = {
        ("server",): f"{_which(one.server, other.server)} for {framework_words(one.framework)}?{context}",
        ("framework",): f"Which framework on {one.server}?{context}",
        ("framework", "server"): f"Which server and framework?{context}",
        ("python",): f"Which Python for {one.stack}{version}? ({one.base})",
        ("base",): f"Which base image for {one.stack}{version}? (Python {one.python})",
        ("package",): f"Which package version for {one.stack}?{context}",
    }
    key = tuple(sorted(differs))
    if key not in words:
        return Question("Which service?", "name")
    with_settings = f" with {setting_words(given)}?" if given else "?"
    return Question(words[key].replace("?", with_settings, 1), "stack" if len(key) > 1 else key[0])


def coordinates_of(record: Record) -> Coordinates:
    """What the service of a record is made of."""
    return Coordinates(**{name: getattr(record, name) for name in Coordinates.__slots__})


def _which(a: str, b: str) -> str:
    """Servers of one family differ in their worker model or another option."""
    family = a.partition("-")[0]
    if family != b.partition("-")[0]:
        return "Which server"
    return f"Which {family} worker model" if family == "gunicorn" else f"Which variant of {family}"


def _without_verdicts(places: Mapping[str, Coordinates], measured: Iterable[str]) -> Iterable[Conclusion]:
    """The questions that a run of solo windows raises; none of them has a verdict."""
    topics: dict[Question, dict[str, None]] = {}
    services = [name for name in dict.fromkeys(measured) if name in places]
    for a, b in combinations(services, 2):
        found = question(a, b, places)
        topics.setdefault(found, {}).update(dict.fromkeys((a, b)))
    # Services that differ in more than one thing only make a question if there is no narrower one.
    narrow = {found: names for found, names in topics.items() if found.by not in ("stack", "name")}
    topics = narrow or topics
    if not services:
        return
    lead = ALONE if len(services) > 1 else "No verdict: only one service was measured."
    if len(topics) > MOST_QUESTIONS:
        lead += f" {len(topics)} comparisons have no verdict; the first {MOST_QUESTIONS}:"
    yield Conclusion("", "", lead, False)
    for found, names in list(topics.items())[:MOST_QUESTIONS]:
        yield Conclusion(found.words, "", f"No verdict on {_list([found.label(n, places[n]) for n in names])}.", False)


def _list(names: Sequence[str], most: int = 8) -> str:
    listed, rest = list(names[:most]), len(names) - most
    if rest > 0:
        return f"{', '.join(listed)} and {rest} more"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
