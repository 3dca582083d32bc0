"""Conclusions: one sentence for each question of a run, built from its verdicts alone.

A question is what two services differ in: the server under one framework, the Python, the worker model.
If a run has no verdict on it, the sentence says so: figures of solo windows never become a conclusion.
Pure; report.md and the page print the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.coordinates import Places, coordinates_of
from bench.core.formats import listed
from bench.core.groups import grouped
from bench.records.record import MEASURED, Record
from bench.stats.table_verdicts import NOT_ENOUGH
from bench.words.questions import Question, question
from bench.words.scenarios import explained
from bench.words.tables.told import ToldRanking

MOST_QUESTIONS = 6
"""How many of the questions without a verdict are listed."""
MOST_LISTED = 8
"""The most services that are named of each."""
ALONE = (
    "No verdict: each service was measured alone (solo), so a difference between two of them may be noise."
    " Without --mode, services are measured in turns and ranked."
)


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


def conclusions(rankings: Sequence[ToldRanking], records: Iterable[Record]) -> tuple[Conclusion, ...]:
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


def _of_table(told: ToldRanking) -> Conclusion:
    scenario, tool, level = told.ranking.table
    decided = any(one.verdict != NOT_ENOUGH for one in told.ranking.contrasts)
    where = f"{explained(scenario)} under {tool} {level}"
    return Conclusion(told.question, where, told.sentences[0], decided, more=told.sentences[1:])


def by_question(found: Iterable[Conclusion]) -> tuple[tuple[str, tuple[Conclusion, ...]], ...]:
    """The conclusions grouped by question, in the order of the first of each."""
    groups = grouped(found, lambda conclusion: conclusion.question)
    return tuple((words, tuple(group)) for words, group in groups.items())


def _without_verdicts(places: Places, measured: Iterable[str]) -> Iterable[Conclusion]:
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
        labels = listed([found.label(name, places[name]) for name in names], MOST_LISTED, MOST_LISTED)
        yield Conclusion(found.words, "", f"No verdict on {labels}.", False)
