"""The content of a run's report, for report.md and the page: answers, setup, what is missing, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from jinja2 import Template

from bench.analysis.cells.latency import LatenciesByCell
from bench.analysis.findings import CauseCount, Findings
from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.why import Why
from bench.analysis.published import reference_results
from bench.analysis.tables.ranking import REQUEST
from bench.core.formats import NOTHING, listed
from bench.core.templates import environment
from bench.plan.measurement import SkippedCell
from bench.render.alone import notes_alone, tables_alone
from bench.render.costs import cost_tables, null_table
from bench.render.events import event_tables
from bench.render.in_turns import (
    grid_table,
    ladder_tables,
    not_sampled,
    own_app_tables,
    published_table,
    ranking_table,
    reasons,
)
from bench.render.table import Column, Table, table_of, written
from bench.render.text import NOTES, escape, visible
from bench.run.facts import RunFacts
from bench.run.reader import Run, ServiceFacts
from bench.words.advice import advice
from bench.words.answers import against
from bench.words.conclusions import RankingText, by_question, conclusions, knee_conclusions
from bench.words.events import EventsText
from bench.words.own_app import elsewhere, own_app_answers, own_app_choices
from bench.words.setup import (
    already_running,
    condition_words,
    machines_words,
    package_facts,
    side_by_side,
)
from bench.words.units import in_units


class Report:
    """The report of a run in the order of reading. `profiles`: those of each ranking; `why`: what they explain.

    `events` is None without any. `unit`: what figures are for, if that is the same in all of the run; `drawn`: what
    those of charts are for, which show all of it. The templates use the attributes by name, and leave out what is
    empty.
    """

    def __init__(
        self,
        source: Run,
        services: Mapping[str, ServiceFacts],
        findings: Findings,
        rankings: Sequence[RankingText],
        latencies: LatenciesByCell,
        *,
        profiles: Sequence[Sequence[Profile]] = (),
        why: Sequence[Sequence[Why]] = (),
        events: EventsText | None = None,
    ) -> None:
        facts = source.facts
        reference = reference_results().get(facts.published)
        tables = [text.ranking for text in rankings]
        # A comparison of two refs of an app does not ask which server to use.
        own_app = () if against(facts.refs) else own_app_answers(facts, tables)
        stacks = {name: one.stack for name, one in facts.services.items()}
        sampled = [*zip(rankings, profiles, strict=True)] if profiles else []
        explained = [*zip(rankings, why, strict=True)] if why else []
        unknown = dict.fromkeys(one.missing["command"] for one in services.values() if "command" in one.missing)
        self.title, self.condition = facts.name, condition_words(facts)
        units = {facts.kind_of(planned.scenario).rated for planned in source.planned if not planned.event}
        self.unit = next(iter(units)) if len(units) == 1 else REQUEST
        self.drawn = self.unit if len(units) < 2 else "unit"
        self.source, self.findings, self.reference = source, findings, reference
        self.judged = any(table.look is not None for table in tables)
        self.facts = [
            *_facts(facts, findings),
            *(("package", words) for words in package_facts(facts, services)),
            *already_running(source),
            *side_by_side(facts.lanes),
            *_jit(facts, services),
            *(("start commands", f"unknown: {words}") for words in unknown),
        ]
        self.advice = [*advice(facts, tables, findings, source.planned), *(events.advice if events else ())]
        self.knees = knee_conclusions(findings)
        concluded = conclusions(rankings, findings, self.knees)
        self.conclusions = by_question(concluded)
        self.services = _services(facts, services, findings)
        self.commands = _commands(facts, services)
        self.causes = _causes(findings.causes)
        self.skipped = _skipped(facts)
        self.why = [reason for text, found in explained for reason in reasons(text, found)]
        self.not_sampled = [line for text, own in sampled for line in not_sampled(text.ranking, own)]
        self.own_app = own_app
        self.own_app_choices = own_app_choices(facts, rankings, services, events=bool(events)) if own_app else []
        self.own_app_tables = own_app_tables(facts, rankings, findings.idle_bytes, services) if own_app else []
        self.events = events
        self.event_tables = event_tables(events) if events else []
        self.rankings = [*map(ranking_table, rankings)]
        self.grids = [grid_table(text, text.grid) for text in rankings if text.grid]
        self.published = published_table(rankings, reference, stacks)
        self.ladders = ladder_tables(rankings)
        self.controls = null_table(findings.null)
        alone = tables_alone(findings.cells, reference, latencies)
        self.tables = [
            replace(table, columns=tuple(in_units(name, self.drawn) for name in table.columns)) for table in alone
        ]
        self.table_notes = notes_alone(findings.cells, self.tables)
        self.costs = cost_tables(findings)

    def markdown(self) -> str:
        """report.md."""
        return in_units(_template().render(report=self, why_note=NOTES["why"]), self.unit)


@cache
def _template() -> Template:
    templates = environment(Path(__file__).parent)
    templates.filters |= {
        "text": lambda value: escape(str(value)),
        "code": lambda value: visible(value).replace("```", "'''"),
    }
    return templates.get_template("report.md.jinja")


def _known(value: str | float | None) -> str:
    return "unknown" if value in (None, "") else str(value)


def _rounds(facts: RunFacts) -> str:
    """How many rounds were planned: for tables in turns, and for services alone."""
    alone = _known(facts.rounds)
    turns = dict.fromkeys(str(table.rounds) for table in facts.tables_in_turns)
    if not turns:
        return alone
    return f"{' or '.join(turns)} of tables" + (f", {alone} of services alone" if alone != "0" else "")


def _facts(facts: RunFacts, findings: Findings) -> Iterable[tuple[str, str]]:
    """The setup of the run as (name, value)."""
    yield "preset", _known(facts.preset)
    yield "mode", _known(facts.mode)
    yield "rounds planned", _rounds(facts)
    yield "seed", _known(facts.seed)
    if facts.command:
        yield "selection", " ".join(facts.command)
    if facts.refs and (refs := against(facts.refs)):
        yield "refs", f"{refs}; changed: {listed(facts.refs.changed or ['nothing'])}"
    if facts.again.run:
        yield "repeats", facts.again.run
    harness = facts.harness
    branch = f", branch {harness.branch}" if harness.branch else ""
    yield "harness", f"{_known(harness.version)} (content {_known(harness.hash)[:12]}{branch})"
    yield "containers", _known(facts.containers)
    yield "engine", _known(facts.engine)
    if facts.machines:
        yield "machines", machines_words(facts.machines)
    elif findings.nodes:
        yield "nodes", NOTES["nodes"].format(listed(findings.nodes))
    yield "host", _known(", ".join(f"{key} {_known(value)}" for key, value in facts.host.items()))
    yield "settings", _known(", ".join(f"{key}={value}" for key, value in facts.knobs.items() if value))
    yield "tools", ", ".join(findings.tools) or "none"


def _jit(facts: RunFacts, services: Mapping[str, ServiceFacts]) -> Iterable[tuple[str, str]]:
    """Whether the requested JIT is really enabled, as reported by each interpreter."""
    asked = facts.knobs.get("PYTHON_JIT")
    states: dict[str, list[str]] = {}
    for name, service in services.items():
        if facts.service(name).settings.get("PYTHON_JIT", asked) == "1":
            states.setdefault(service.jit or "unknown", []).append(name)
    words = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    if words or asked == "1":
        yield "PYTHON_JIT=1, as reported by the interpreters", words or "no services"


def _services(facts: RunFacts, services: Mapping[str, ServiceFacts], findings: Findings) -> Table:
    def known(name: str, field: str, unknown: str = "unknown") -> str:
        service = services[name]
        return getattr(service, field) or f"{unknown}: {service.missing[field]}"

    def base(name: str) -> str:
        place = findings.places.get(name)
        return f"{place.base if place else 'unknown'}, {known(name, 'base_label', 'pulled or unknown')}"

    def versions(name: str) -> str:
        return ", ".join(facts.service(name).own_packages(services[name].packages)) or NOTHING

    def image(name: str) -> str:
        identifier = known(name, "image_id")
        return identifier.removeprefix("sha256:")[:12] if services[name].image_id else identifier

    columns: list[Column[str]] = [
        Column("service", str, left=True),
        Column("Python", lambda name: known(name, "python_build"), left=True),
        Column("base and how it was built", base, left=True),
        Column("versions", versions, left=True),
        Column("image", image, left=True),
    ]
    return table_of("Services", columns, services)


def _commands(facts: RunFacts, services: Mapping[str, ServiceFacts]) -> Table | None:
    """What each service was started with, and its app; None if the run did not save it."""
    known = [name for name, service in services.items() if service.command]
    own_app = facts.own_app

    def app(name: str) -> str:
        service = facts.service(name)
        return (elsewhere(own_app, service, services[name]) if own_app else service.app) or NOTHING

    columns: list[Column[str]] = [
        Column("service", str, left=True),
        Column("start command", lambda name: written(services[name].command, lambda one: one.text), left=True),
        Column("elsewhere, in the app's folder" if own_app else "app", app, left=True),
    ]
    return table_of("Start commands", columns, known, [NOTES["commands"]]) if known else None


def _causes(causes: Sequence[CauseCount]) -> Table | None:
    columns: list[Column[CauseCount]] = [
        Column("cause", lambda one: one.cause, left=True),
        Column("service", lambda one: one.service, left=True),
        Column("measurements", lambda one: str(one.count), left=True),
        Column("first occurrence", lambda one: one.first, left=True),
    ]
    return table_of("Not measured or not valid", columns, causes) if causes else None


def _skipped(facts: RunFacts) -> Table | None:
    def of(name: str) -> Column[SkippedCell]:
        return Column(name, lambda skip: getattr(skip, name) or NOTHING, left=True)

    columns = [*map(of, ("service", "scenario", "tool", "cause"))]
    return table_of("Not planned", columns, facts.skipped) if facts.skipped else None
