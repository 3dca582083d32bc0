"""Conclusions: one sentence for each question of a run, built from its verdicts alone.

A question is what the services of a pair differ in: the server under one framework, the Python, the worker model.
If a run has no verdict on it, the sentence says so: figures of solo windows never become a conclusion.
Pure; report.md and the page print the same sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.comparison import Comparison, Metric
from bench.analysis.pair_analysis import Judged, PlannedPair
from bench.analysis.ranking import Ranking
from bench.analysis.scenario_words import explained, framework_words
from bench.analysis.setting_words import setting_question, setting_words
from bench.analysis.verdicts import FASTER, INVALID, NO_DIFFERENCE, SLOWER, Verdict, Winner, winner
from bench.matrix.model import stack_name
from bench.plan.measurement import settings_of
from bench.records.record import MEASURED, Record
from bench.stats.estimates import percent_of

MOST_QUESTIONS = 6
"""How many of the questions without a verdict are listed."""
MORE = {Metric.CPU: "successful responses per CPU second", Metric.GOODPUT: "successful responses per second"}
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

    `decided` is whether it is based on a verdict; `pairs` has one sentence for each pair of the question, and `more`
    those that come after the one on a whole table in turns.
    """

    question: str
    where: str
    sentence: str
    decided: bool
    pairs: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    pair: PlannedPair
    made: Comparison
    found: Verdict


def conclusions(judged: Judged, records: Iterable[Record]) -> tuple[Conclusion, ...]:
    """A conclusion for every question of the run, in the order of the plan: its tables in turns, then its pairs."""
    every = list(records)
    places = {record.service: coordinates_of(record) for record in every if record.mode != "null"}
    groups: dict[tuple[Question, tuple[str, str, str]], list[_Judged]] = {}
    for entry in zip(judged.pairs, judged.comparisons, judged.verdicts, strict=True):
        one = _Judged(*entry)
        topic = question(one.pair.a, one.pair.b, places)
        groups.setdefault((topic, one.pair.table), []).append(one)
    if groups or judged.rankings:
        pairs = (_conclusion(topic, table, group, judged, places) for (topic, table), group in groups.items())
        return (*map(_of_table, judged.rankings), *pairs)
    return tuple(
        _without_verdicts(
            places, [record.service for record in every if record.mode == "solo" and record.outcome == MEASURED]
        )
    )


def _of_table(ranking: Ranking) -> Conclusion:
    scenario, tool, level = ranking.table
    decided = any(one.verdict in (FASTER, SLOWER, NO_DIFFERENCE) for one in ranking.contrasts)
    where = f"{explained(scenario)} under {tool} {level}"
    return Conclusion(ranking.question, where, ranking.sentences[0], decided, more=ranking.sentences[1:])


def by_question(found: Iterable[Conclusion]) -> tuple[tuple[str, tuple[Conclusion, ...]], ...]:
    """The conclusions grouped by question, in the order of the first of each."""
    groups: dict[str, list[Conclusion]] = {}
    for conclusion in found:
        groups.setdefault(conclusion.question, []).append(conclusion)
    return tuple((words, tuple(group)) for words, group in groups.items())


def noise_floor_words(judged: Judged) -> str:
    """The noise floor of this run in words; empty if it was not measured."""
    by_metric: dict[Metric, float] = {}
    for _, metric, found, _ in judged.controls:
        if found is not None:
            by_metric[metric] = max(by_metric.get(metric, 0.0), abs(found.percent))
    if not by_metric:
        return ""
    floors = " and ".join(f"{value:.1f} % ({metric})" for metric, value in by_metric.items())
    return f"Noise floor: A/A pairs of this run differ by up to {floors}. Smaller differences are treated as noise."


def question(a: str, b: str, places: Mapping[str, Coordinates]) -> Question:
    """The question of a pair: what its services differ in."""
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


def _conclusion(
    topic: Question,
    table: tuple[str, str, str],
    group: Sequence[_Judged],
    judged: Judged,
    places: Mapping[str, Coordinates],
) -> Conclusion:
    names = {name: topic.label(name, places[name]) if name in places else name for name in _services(group)}
    if len(set(names.values())) < len(names):
        names = {name: name for name in names}
    sentences = tuple(_pair_words(one, names) for one in group)
    where = f"{table[0]} under {table[1]} {table[2]}"
    if len(group) == 1:
        return Conclusion(topic.words, where, sentences[0], _decided(group[0].found))
    best = _winner(table, group, judged)
    return Conclusion(
        topic.words, where, _table_words(best, group, names), any(_decided(one.found) for one in group), sentences
    )


def _services(group: Iterable[_Judged]) -> list[str]:
    return list(dict.fromkeys(name for one in group for name in (one.pair.a, one.pair.b)))


def _winner(table: tuple[str, str, str], group: Sequence[_Judged], judged: Judged) -> Winner:
    """The winner among the services of a question; its pairs alone are the family of the test."""
    if len(group) == sum(pair.table == table for pair in judged.pairs):
        known = dict(judged.winners).get(table)
        if known is not None:
            return known
    return winner([one.made for one in group], [one.found for one in group])


def _table_words(best: Winner, group: Sequence[_Judged], names: Mapping[str, str]) -> str:
    decided = sum(_decided(one.found) for one in group)
    count = f"{decided} of {len(group)} pairs have a verdict"
    if best.service is None:
        rivals = [names[name] for name in best.rivals]
        if 0 < len(rivals) < len(names):
            return f"No single winner (unbeaten: {_list(rivals)}); {count}."
        return f"No single winner; {count}."
    margins = [one for one in group if best.service in (one.pair.a, one.pair.b) and one.found.word in (FASTER, SLOWER)]
    nearest = min(
        margins, key=lambda one: abs(one.found.estimate.mean) if one.found.estimate else math.inf, default=None
    )
    sentence = f"{names[best.service]} is faster than all {len(names) - 1} others"
    if nearest is not None:
        rival = nearest.pair.b if nearest.pair.a == best.service else nearest.pair.a
        sentence += f"; the closest with a verdict is {names[rival]}: {_figures(nearest)}"
    return f"{sentence}."


def _pair_words(one: _Judged, names: Mapping[str, str]) -> str:
    a, b = names[one.pair.a], names[one.pair.b]
    found = one.found
    if found.word.startswith(INVALID):
        return f"No verdict on {a} and {b}: {found.word}."
    if found.word in (FASTER, SLOWER):
        better, worse = (b, a) if found.word == FASTER else (a, b)
        return f"{better} is faster than {worse}: {_figures(one)}."
    if found.word == NO_DIFFERENCE:
        return f"No difference shown between {a} and {b} ({b} vs {a}: {_signed(one)})."
    known = found.interval is not None and math.isfinite(found.interval.low)
    figures = f" ({b} vs {a}: {_signed(one)})" if known else ""
    return f"Not enough data to compare {a} and {b}: {found.reason or 'too few rounds'}{figures}."


def _figures(one: _Judged) -> str:
    """`8.8 % more successful responses per second (7.1 to 10.4 %, 16 rounds)`, of the better one."""
    mean, low, high, rounds = _percents(one.found, -1 if one.found.word == SLOWER else 1)
    return f"{mean:z.1f} % more {MORE[one.made.metric]} ({low:z.1f} to {high:z.1f} %, {rounds} rounds)"


def _signed(one: _Judged) -> str:
    """`-0.2 %, -0.8 to +0.5 %, 8 rounds, by goodput`."""
    mean, low, high, rounds = _percents(one.found, 1)
    return f"{mean:+z.1f} %, {low:+z.1f} to {high:+z.1f} %, {rounds} rounds, by {one.made.metric}"


def _percents(found: Verdict, turn: int) -> tuple[float, float, float, int]:
    """Difference and interval in percent, B vs A (`turn` 1) or A vs B (`turn` -1), and the number of rounds."""
    if found.estimate is None or found.interval is None:
        return math.nan, math.nan, math.nan, found.rounds
    low, high = sorted((turn * found.interval.low, turn * found.interval.high))
    return percent_of(turn * found.estimate.mean), percent_of(low), percent_of(high), found.estimate.n


def _decided(found: Verdict) -> bool:
    return found.word in (FASTER, SLOWER, NO_DIFFERENCE)


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
