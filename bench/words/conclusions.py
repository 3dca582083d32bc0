"""The rankings of a run in words, and the conclusions at the top of its report.

If a question has no verdict, its sentence says so: figures of services measured alone never become a conclusion.
report.md and the page print the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

from bench.analysis.findings import Findings
from bench.analysis.published import ReferenceComparison, along_axes, published_beside, reference_results
from bench.analysis.services import Places, pairs_of, places_of, waits_of
from bench.analysis.tables.grid import Grid, grid_of
from bench.analysis.tables.ladder import Ladder, ladders
from bench.analysis.tables.ranking import Cheapest, Ranking
from bench.core.formats import listed, number, size, span
from bench.core.groups import grouped
from bench.matrix.start_command import Waits
from bench.plan.measurement import Pair
from bench.records.record import Record
from bench.run.facts import Caveats, RunFacts
from bench.run.reader import ServiceFacts
from bench.stats.table_verdicts import NO_WINNER
from bench.words.answers import ref_question, ref_sentences, sentences
from bench.words.knees import describe_knees
from bench.words.latency import latency_sentences
from bench.words.names import Question, labels_of, level_words, loaded_words, question, scenario_words, table_question
from bench.words.order import ceiling_words
from bench.words.remarks import (
    CAUSES,
    ONE_CPU,
    along_sentence,
    aside_words,
    beside_words,
    lacking_words,
    limits_words,
    note_of,
    published_sentence,
)
from bench.words.units import in_units

LEAST_CREDIT = 0.01
"""From this share on, requests that services may have lost to other programs are mentioned."""
GENERAL = frozenset({ONE_CPU})
"""Sentences that are the same for every table of a run."""


@dataclass(frozen=True, slots=True)
class RankingText:
    """A ranking in words; `labels` and `notes` are by service.

    `sentences` begins with the one on the whole table. `beside`: for pairs without a verdict, the difference that would
    have been detected.
    """

    ranking: Ranking
    question: str
    sentences: tuple[str, ...]
    labels: Mapping[str, str]
    notes: Mapping[str, str]
    beside: tuple[str, ...] = ()
    grid: Grid | None = None
    """For services that differ in two knobs."""
    ladders: tuple[Ladder, ...] = ()
    """For releases of one package."""
    waits: Mapping[str, Waits] = field(default_factory=dict)
    """How many requests can wait at once in each service whose start command was saved."""

    def name(self, service: str) -> str:
        """The label of a service, or its full name if the label has several parts."""
        label = self.labels[service]
        return service if "," in label else label


def describe_rankings(
    rankings: Iterable[Ranking],
    facts: RunFacts,
    records: Iterable[Record],
    services: Mapping[str, ServiceFacts] | None = None,
) -> tuple[RankingText, ...]:
    """The rankings of a run in words; pure."""
    places, pairs = places_of(facts, records), pairs_of(facts) if facts.refs else ()
    reference, knobs = reference_results().get(facts.published), facts.knobs
    caveats = {name: service.caveats for name, service in facts.services.items()}
    waits = waits_of(facts, services or {})
    texts = tuple(
        describe_ranking(one, places, reference, knobs, pairs, caveats=caveats, waits=waits) for one in rankings
    )
    texts = tuple(
        replace(one, sentences=(*one.sentences, *lacking_words(one.labels, places, services or {}))) for one in texts
    )
    # What is true of all tables is said once.
    others = (
        replace(one, sentences=tuple(words for words in one.sentences if words not in GENERAL)) for one in texts[1:]
    )
    return (*texts[:1], *others)


def describe_ranking(
    ranking: Ranking,
    places: Places,
    reference: ReferenceComparison | None = None,
    knobs: Mapping[str, Any] | None = None,
    pairs: Sequence[Pair] = (),
    *,
    caveats: Mapping[str, Caveats] = MappingProxyType({}),
    waits: Mapping[str, Waits] | None = None,
) -> RankingText:
    """One ranking in words. `places`: the coordinates of services; `pairs`: the services of two refs."""
    services = [row.service for row in ranking.rows]
    labels = labels_of(services, places)
    aside = {name: caveats[name] for name in services if CAUSES.keys() & caveats.get(name, {})}
    others = tuple(row for row in ranking.rows if row.service not in aside)
    compared = ranking if pairs or len(others) < 2 else replace(ranking, rows=others)
    first, *more = ref_sentences(ranking, pairs, places) or sentences(compared, places, labels)
    lead = "Keep in mind" if compared is ranking else "In the table only"
    first = " ".join([first, *aside_words(aside, labels, lead)])
    grid = grid_of(services, places)
    # The machine's limits, cost and latency come before single comparisons, but after the sentences of a grid.
    table_sentences = [ceiling_words(ranking.ceiling)] if ranking.ceiling else []
    table_sentences += limits_words(places, services, knobs or {})
    table_sentences += [cheapest_words(ranking, ranking.cheapest, labels)] if ranking.cheapest else []
    table_sentences += [words for one in ranking.latencies for words in latency_sentences(one, labels)]
    table_sentences = [first, *more, *table_sentences] if grid else [first, *table_sentences, *more]
    if ranking.unknown_cpu:
        table_sentences.append(f"CPU per request is unknown ({ranking.unknown_cpu}), so requests/s are compared.")
    table_sentences += [drift_words(ranking.drift, ranking.rounds)] if ranking.drift is not None else []
    beside = published_beside(ranking, reference, {name: place.stack for name, place in places.items()})
    table_sentences += [published_sentence(beside, labels)] if beside else []
    table_sentences += map(along_sentence, along_axes(ranking, reference, places))
    notes = {row.service: note_of(row, (waits or {}).get(row.service), caveats.get(row.service)) for row in ranking.rows}
    made = RankingText(
        ranking=ranking,
        question=ref_question(pairs, places) or table_question(services, places),
        sentences=tuple(in_units(words, ranking.unit) for words in table_sentences),
        labels=labels,
        notes={service: in_units(words, ranking.unit) for service, words in notes.items()},
        waits={name: found for name, found in (waits or {}).items() if name in services},
        grid=grid,
        ladders=tuple(ladders(ranking, places)),
    )
    return replace(made, beside=tuple(in_units(words, ranking.unit) for words in beside_words(ranking, made.name)))


def drift_words(drift: float, rounds: int) -> str:
    """How requests/s changed over the rounds, and what that may mean."""
    changed = f"{'rose' if drift > 0 else 'fell'} by {size(abs(drift))}"
    return (
        f"From the first to the last of {rounds} rounds, requests/s of all services {changed}: something grows that is"
        " not undone between rounds, such as rows that requests insert, or the machine changed. The means depend on the"
        " number of rounds."
    )


def cheapest_words(ranking: Ranking, cheapest: Cheapest, labels: Mapping[str, str]) -> str:
    """Which services need the least CPU per request."""
    needs = f"{span(number(cheapest.least), number(cheapest.most))} µs"
    if len(cheapest.services) == sum(row.cpu_us is not None for row in ranking.rows) > 1:
        return f"CPU per request: no winner ({needs})."
    single = len(cheapest.services) == 1
    names = [labels[name] for name in cheapest.services]
    least = "the least CPU per request"
    if single:
        return f"Cheapest: {names[0]} needs {least} ({needs})."
    return f"Cheapest: {listed(names)} need {least} ({needs}), with no winner among them."


def systematic_words(ranking: Ranking) -> list[str]:
    """The systematic errors that the intervals include; none before the first verdicts, which have intervals."""
    if ranking.look is None:
        return []
    return [in_units(words, ranking.unit) for words in (bias_words(ranking), credit_words(ranking.credit)) if words]


def credit_words(credit: float) -> str:
    """How many requests idle services may have lost to other programs; empty if hardly any."""
    if credit < LEAST_CREDIT:
        return ""
    most = f"Without other programs, idle services might have served up to {100 * credit:.0f} % more requests/s"
    return f"{most}; their intervals include that."


def bias_words(ranking: Ranking) -> str:
    """How far taking turns biases ratios; empty if services took no turns."""
    if ranking.rate is not None:
        return ""
    if ranking.bias is None:
        return "How far taking turns biases ratios was not measured in this run: the intervals leave it out."
    shifts = f"Taking turns shifts ratios by up to {100 * ranking.bias:.1f} %, as measured in this run"
    return f"{shifts}: all figures are corrected by it, and the intervals include how uncertain it is."


MOST_QUESTIONS = 6
"""The most questions without a verdict that are listed."""
MOST_LISTED = 8
"""The most services that each of them names."""
ALONE = (
    "No verdict: each service was measured alone (solo), so a difference between two of them may be noise."
    " Without --mode, services are measured in turns and ranked."
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`sentence` answers `question` under the load `where`, which is empty if it is about all loads.

    `decided`: whether it is based on a verdict. `more`: the sentences after the one on the whole table.
    """

    question: str
    where: str
    sentence: str
    decided: bool
    more: tuple[str, ...] = ()


def conclusions(
    rankings: Sequence[RankingText], findings: Findings, knees: Iterable[Conclusion]
) -> tuple[Conclusion, ...]:
    """A conclusion for every table, then those of the `knees`; without tables, also the open questions."""
    found = (*map(_of_table, rankings), *knees)
    return found if rankings else (*found, *_without_verdicts(findings.places, findings.alone))


def knee_conclusions(findings: Findings) -> tuple[Conclusion, ...]:
    """The result of each knee search."""
    return tuple(
        Conclusion(asked, where, first, True, more=tuple(more))
        for asked, where, (first, *more) in describe_knees(findings.knees, findings.places, findings.waits)
    )


def _of_table(text: RankingText) -> Conclusion:
    scenario, tool, level = text.ranking.table
    decided = any(one.verdict != NO_WINNER for one in text.ranking.contrasts)
    load, means = f"{tool} {level}", level_words(level)
    usual = load if means == level.text else f"{load} ({means})"
    where = f"{scenario_words(scenario, text.ranking.wait)} under {loaded_words(text.ranking, usual)}"
    return Conclusion(text.question, where, text.sentences[0], decided, more=text.sentences[1:])


def by_question(found: Iterable[Conclusion]) -> tuple[tuple[str, tuple[Conclusion, ...]], ...]:
    """The conclusions grouped by question, in the order of the first of each."""
    groups = grouped(found, lambda conclusion: conclusion.question)
    return tuple((words, tuple(group)) for words, group in groups.items())


def _without_verdicts(places: Places, measured: Sequence[str]) -> Iterable[Conclusion]:
    """The questions that a run of solo windows raises, all without a verdict."""
    topics: dict[Question, dict[str, None]] = {}
    for a, b in combinations(measured, 2):
        topic = question(a, b, places)
        topics.setdefault(topic, {}).update(dict.fromkeys((a, b)))
    # Services that differ in several things are compared only if no two differ in just one.
    narrow = {topic: names for topic, names in topics.items() if topic.by not in ("stack", "name")}
    topics = narrow or topics
    if not measured:
        return
    lead = ALONE if len(measured) > 1 else "No verdict: only one service was measured."
    if len(topics) > MOST_QUESTIONS:
        lead += f" {len(topics)} comparisons have no verdict; the first {MOST_QUESTIONS}:"
    yield Conclusion("", "", lead, False)
    for topic, names in list(topics.items())[:MOST_QUESTIONS]:
        labels = listed([topic.label(name, places[name]) for name in names], MOST_LISTED, MOST_LISTED)
        yield Conclusion(topic.words, "", f"No verdict on {labels}.", False)
