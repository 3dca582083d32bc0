"""The front page of all published runs: questions in plain words, each with its newest answer. Pure.

What it says of a run is saved beside the run when that is published (`ANSWERS`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from bench.analysis.events import NULL
from bench.analysis.tables.ranking import REQUEST
from bench.core.formats import capital, listed, plural
from bench.core.groups import grouped
from bench.render.page.document import json_block, policy
from bench.render.report import Report
from bench.render.text import page_template
from bench.run.facts import RunFacts
from bench.run.published import PACKED
from bench.words.conclusions import RankingText
from bench.words.events import EventsText
from bench.words.names import level_words, wait_words
from bench.words.setup import day_of

ANSWERS = "answers.json"
"""Beside a published run: its title and its answers."""
STYLES = ("page/style.css", "site.css")
SCRIPTS = ("page/app/10-format.js", "page/app/40-dom.js", "finder.js")
"""Those of the finder, which formats figures and makes tables as the page of a run does."""
WHAT_IS_LOST = "What is lost at a deploy, a crash or an overload?"
MOST_FINDINGS = 5
"""Of a run of events; its page has all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one table of a run says to `question` under `load`; `level` tells tables of the same load apart.

    `waits`: whether every response waits for something. `late`: whether late responses were counted.
    """

    question: str
    load: str
    level: str
    sentence: str
    services: int
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """A published run on the front page. `started`: its UTC time as digits.

    `checked`: its selftest.md, or empty; a self-test answers no reader's question. `files`: its data beside its page.
    """

    name: str
    title: str
    started: str
    machine: str
    answers: tuple[Answer, ...]
    checked: str
    files: tuple[str, ...] = (PACKED,)

    @property
    def date(self) -> str:
        """The day in ISO 8601 format; empty if unknown."""
        return day_of(self.started)

    @property
    def family(self) -> str:
        """The name without the number of a repetition."""
        return re.sub(r"-\d+$", "", self.name)


@dataclass(frozen=True, slots=True)
class RunAnswers:
    """The answers of a run to one question under one load."""

    run: PublishedRun
    answers: Sequence[Answer]

    @property
    def services(self) -> int:
        """How many services it compared."""
        return max(one.services for one in self.answers)


@dataclass(frozen=True, slots=True)
class Load:
    """A load of a question: its newest answer that does not cover far fewer services than another, and the others."""

    words: str
    newest: RunAnswers
    others: Sequence[RunAnswers]


def answers_of(
    facts: RunFacts, report: Report, rankings: Sequence[RankingText], presets: Mapping[str, str]
) -> dict[str, Any]:
    """The content of `ANSWERS`; `presets`: the titles of the matrix's presets."""
    own_app: Sequence[tuple[str, str]] = report.own_app or [("", "")] * len(rankings)
    answers = [_answer(text, facts, *pair) for text, pair in zip(rankings, own_app, strict=True)]
    title = presets.get(facts.preset, report.title)
    if report.events:
        names = list(dict.fromkeys(row.row.event for row in report.events.rows))
        servers = plural(sum(name != NULL for name in report.events.table.services), "server")
        title = f"{capital(listed(names, 8, 7))}: {servers}"
        answers += _of_events(report.events, title)
    return {"title": title, "answers": [asdict(one) for one in answers if one]}


def _answer(text: RankingText, facts: RunFacts, requests: str, app_answer: str) -> Answer | None:
    """The answer of a table; None if it has no verdict yet."""
    ranking = text.ranking
    if ranking.look is None:
        return None
    waits = wait_words(ranking.wait)
    instant = "instant responses" if ranking.unit == REQUEST else f"{ranking.unit}s"
    load = f"every response waits for {waits}" if waits else instant
    question = text.question.partition(" (")[0]
    if app_answer:
        app = "/".join(Path(facts.own_app.folder if facts.own_app else "").parts[-2:])
        question = f"{question.rstrip('?')} for the app {app}?"
    return Answer(
        question=question,
        load=requests if app_answer else f"{capital(load)} ({ranking.scenario})",
        level=f"{ranking.tool}, {level_words(ranking.level)}",
        sentence=capital(app_answer) if app_answer else text.sentences[0],
        services=len(ranking.rows),
        waits=bool(waits),
    )


def _of_events(events: EventsText, title: str) -> Iterator[Answer]:
    """The first findings of a run of events."""
    services = sum(name != NULL for name in events.table.services)
    for sentence in events.sentences[:MOST_FINDINGS]:
        yield Answer(WHAT_IS_LOST, title, "", sentence, services, waits=False)


def front_page(
    runs: Iterable[PublishedRun],
    pages: Mapping[str, Sequence[str]] = MappingProxyType({}),
    finder: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """index.html of the site. `pages`: the names of its other pages by their folder; `finder`: what finder.js reads."""
    newest_first = sorted(runs, key=lambda run: run.started, reverse=True)
    aside = {run.family for run in newest_first if run.checked or not run.answers}
    others = grouped((run for run in newest_first if run.family in aside), lambda run: run.family)
    here = Path(__file__).parent
    style, functions = ("".join((here / name).read_text("utf-8") for name in names) for names in (STYLES, SCRIPTS))
    script = f'"use strict";\n(() => {{\n{functions}}})();\n'
    return page_template(here, "site.html.jinja").render(
        topics=topics([run for run in newest_first if run.family not in aside]),
        others=sorted(others.values(), key=lambda family: (not family[0].checked, family[0].family)),
        runs=newest_first,
        pages=pages,
        finder=finder,
        data=json_block(finder) if finder else "",
        script=Markup(script),  # the project's own files, as the style
        policy=policy([script]),
        style=Markup(style),
    )


def topics(runs: Sequence[PublishedRun]) -> dict[str, list[Load]]:
    """The questions of these runs, which are sorted from the newest, each with its loads.

    Questions about the most services come first.
    """
    found = grouped(_asked(runs), lambda pair: pair[0])
    made = []
    for words, pairs in found.items():
        loads = grouped((one for _, one in pairs), lambda one: one.answers[0].load)
        made.append((words, [_load(load, answers) for load, answers in loads.items()]))

    def size(load: Load) -> int:
        return max(one.services for one in (load.newest, *load.others))

    made.sort(key=lambda pair: -max(map(size, pair[1])))
    return {words: sorted(loads, key=lambda load: (load.newest.answers[0].waits, -size(load))) for words, loads in made}


def _load(words: str, answers: Sequence[RunAnswers]) -> Load:
    most = max(one.services for one in answers)
    newest = next(one for one in answers if 2 * one.services >= most)
    return Load(words, newest, [one for one in answers if one is not newest])


def _asked(runs: Iterable[PublishedRun]) -> Iterator[tuple[str, RunAnswers]]:
    """(question, what a run says to it under one load)."""
    for run in runs:
        for (words, _), answers in grouped(run.answers, lambda one: (one.question, one.load)).items():
            yield words, RunAnswers(run, answers)
