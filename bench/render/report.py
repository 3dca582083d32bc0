"""The content of a run's report, for report.md and the page: answers, setup, what is missing, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template

from bench.analysis.cells.latency import LatenciesByCell
from bench.analysis.findings import CauseCount, Findings
from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.why import Why
from bench.analysis.published import reference_results
from bench.analysis.services import own_app_of, own_packages, service_of
from bench.core.files import items, mapping
from bench.core.formats import NOTHING, listed
from bench.core.templates import environment
from bench.plan.measurement import settings_of
from bench.render.alone import notes_alone, tables_alone
from bench.render.costs import cost_tables, null_table
from bench.render.events import event_tables
from bench.render.in_turns import (
    WHY_NOTE,
    grid_table,
    ladder_tables,
    not_sampled,
    own_app_tables,
    published_table,
    ranking_table,
    reasons,
)
from bench.render.table import Column, Table, table_of
from bench.render.text import escape, visible
from bench.run.reader import Run, ServiceFacts
from bench.words.advice import advice
from bench.words.answers import against
from bench.words.conclusions import ToldRanking, by_question, conclusions, knee_conclusions
from bench.words.events import ToldEvents
from bench.words.own_app import elsewhere, own_app_answers, own_app_choices
from bench.words.setup import (
    already_running,
    machines_words,
    package_facts,
    side_by_side,
)


class Report:
    """The report of a run in the order of reading. `profiles`: those of each ranking; `why`: what they explain.

    `events` is None without any. The templates use the attributes by name, and leave out what is empty.
    """

    def __init__(
        self,
        source: Run,
        services: Mapping[str, ServiceFacts],
        findings: Findings,
        told: Sequence[ToldRanking],
        latencies: LatenciesByCell,
        *,
        profiles: Sequence[Sequence[Profile]] = (),
        why: Sequence[Sequence[Why]] = (),
        events: ToldEvents | None = None,
    ) -> None:
        facts = source.facts
        reference = reference_results().get(str(facts.get("published")))
        rankings = [one.ranking for one in told]
        # A comparison of two refs of an app does not ask which server to use.
        own_app = () if against(facts) else own_app_answers(facts, rankings)
        stacks = {name: str(mapping(entry).get("stack")) for name, entry in mapping(facts.get("services")).items()}
        sampled = [*zip(told, profiles, strict=True)] if profiles else []
        unknown = dict.fromkeys(one.missing["command"] for one in services.values() if "command" in one.missing)
        self.title = facts.get("title") or facts.get("preset") or "Run"
        self.source, self.findings, self.reference = source, findings, reference
        self.judged = any(one.look is not None for one in rankings)
        self.facts = [
            *_facts(facts, findings),
            *(("package", words) for words in package_facts(facts, services)),
            *already_running(source),
            *side_by_side(source),
            *_jit(facts, services),
            *(("start commands", f"unknown: {words}") for words in unknown),
        ]
        self.advice = [*advice(facts, rankings, findings, source.planned), *(events.advice if events else ())]
        self.knees = knee_conclusions(findings)
        concluded = conclusions(told, findings, self.knees)
        self.conclusions = by_question(concluded)
        self.services = _services(facts, services, findings)
        self.commands = _commands(facts, services)
        self.causes = _causes(findings.causes)
        self.skipped = _skipped(facts)
        self.why = (
            [reason for table, found in zip(told, why, strict=True) for reason in reasons(table, found)] if why else []
        )
        self.not_sampled = [line for table, own in sampled for line in not_sampled(table.ranking, own)]
        self.own_app = own_app
        self.own_app_choices = own_app_choices(facts, told, services, events=bool(events)) if own_app else []
        self.own_app_tables = own_app_tables(facts, told, findings.idle_bytes, services) if own_app else []
        self.events = events
        self.event_tables = event_tables(events) if events else []
        self.rankings = [*map(ranking_table, told)]
        self.grids = [grid_table(one, one.grid) for one in told if one.grid]
        self.published = published_table(told, reference, stacks)
        self.ladders = ladder_tables(told)
        self.controls = null_table(findings.null)
        self.tables = tables_alone(findings.cells, reference, latencies)
        self.table_notes = notes_alone(findings.cells, self.tables)
        self.costs = cost_tables(findings)

    def markdown(self) -> str:
        """report.md."""
        return _template().render(report=self, why_note=WHY_NOTE)


@cache
def _template() -> Template:
    templates = environment(Path(__file__).parent)
    templates.filters |= {
        "text": lambda value: escape(str(value)),
        "code": lambda value: visible(value).replace("```", "'''"),
    }
    return templates.get_template("report.md.jinja")


def _rounds(facts: Mapping[str, Any]) -> str:
    """How many rounds were planned: for tables in turns, and for services alone."""
    alone = str(facts.get("rounds", "unknown"))
    turns = dict.fromkeys(str(mapping(table).get("rounds", "unknown")) for table in items(facts.get("tables_in_turns")))
    if not turns:
        return alone
    return f"{' or '.join(turns)} of tables" + (f", {alone} of services alone" if alone != "0" else "")


def _facts(facts: Mapping[str, Any], findings: Findings) -> Iterable[tuple[str, str]]:
    """The setup of the run as (name, value)."""
    for name in ("preset", "mode"):
        yield name, str(facts.get(name, "unknown"))
    yield "rounds planned", _rounds(facts)
    yield "seed", str(facts.get("seed", "unknown"))
    if command := items(facts.get("command")):
        yield "selection", " ".join(map(str, command))
    if refs := against(facts):
        changed = [*map(str, items(mapping(facts.get("refs")).get("changed")))]
        yield "refs", f"{refs}; changed: {listed(changed or ['nothing'])}"
    if repeats := mapping(facts.get("again")).get("run"):
        yield "repeats", str(repeats)
    harness = mapping(facts.get("harness"))
    branch = f", branch {harness['branch']}" if harness.get("branch") else ""
    content = str(harness.get("hash", "unknown"))[:12]
    yield "harness", f"{harness.get('version', 'unknown')} (content {content}{branch})"
    for name in ("containers", "engine"):
        yield name, str(facts.get(name) or "unknown")
    if two := mapping(facts.get("machines")):
        yield "machines", machines_words(two)
    elif findings.nodes:
        yield (
            "nodes",
            f"servers on {listed(findings.nodes)}, of one kind; load generator and database on other nodes;"
            " unencrypted overlay network. `host`: where the scripts ran",
        )
    host = mapping(facts.get("host"))
    known = [f"{key} {'unknown' if host[key] is None else host[key]}" for key in host if key != "missing"]
    yield "host", ", ".join(known) or "unknown"
    settings = mapping(facts.get("knobs"))
    yield "settings", ", ".join(f"{key}={settings[key]}" for key in settings if settings[key] != "") or "unknown"
    yield "tools", ", ".join(findings.tools) or "none"


def _jit(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts]) -> Iterable[tuple[str, str]]:
    """Whether the requested JIT is really enabled, as reported by each interpreter."""
    asked, entries = mapping(facts.get("knobs")).get("PYTHON_JIT"), mapping(facts.get("services"))
    states: dict[str, list[str]] = {}
    for name, service in services.items():
        own = settings_of(mapping(entries.get(name)).get("settings"))
        if own.get("PYTHON_JIT", asked) == "1":
            states.setdefault(service.jit or "unknown", []).append(name)
    told = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    if told or asked == "1":
        yield "PYTHON_JIT=1, as reported by the interpreters", told or "no services"


def _services(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts], findings: Findings) -> Table:
    def base(name: str) -> str:
        made = services[name].base_label or f"pulled or unknown: {services[name].missing['base_label']}"
        place = findings.places.get(name)
        return f"{place.base if place else 'unknown'}, {made}"

    def versions(name: str) -> str:
        return ", ".join(own_packages(facts, name, services[name].packages)) or NOTHING

    def image(name: str) -> str:
        found = services[name].image_id
        return f"unknown: {services[name].missing['image_id']}" if found is None else found.removeprefix("sha256:")[:12]

    def python(name: str) -> str:
        return services[name].python_build or f"unknown: {services[name].missing['python_build']}"

    columns: list[Column[str]] = [
        Column("service", str, left=True),
        Column("Python", python, left=True),
        Column("base and how it was built", base, left=True),
        Column("versions", versions, left=True),
        Column("image", image, left=True),
    ]
    return table_of("Services", columns, services)


def _commands(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts]) -> Table | None:
    """What each service was started with, and its app; None if the run did not save it."""
    known = [name for name, service in services.items() if service.command]
    own = own_app_of(facts)

    def app(name: str) -> str:
        return str(service_of(facts, name).get("app") or NOTHING)

    def there(name: str) -> str:
        return elsewhere(facts, services[name]) or NOTHING

    columns: list[Column[str]] = [
        Column("service", str, left=True),
        Column("start command", lambda name: _started(services[name]), left=True),
        *([Column("elsewhere, in the app's folder", there, left=True)] if own else [Column("app", app, left=True)]),
    ]
    notes = ["As in the containers: /app/server is services/servers/SERVER; its `start` script explains each flag."]
    return table_of("Start commands", columns, known, notes) if known else None


def _started(service: ServiceFacts) -> str:
    return service.command.text if service.command else NOTHING


def _causes(found: Sequence[CauseCount]) -> Table | None:
    columns: list[Column[CauseCount]] = [
        Column("cause", lambda one: one.cause, left=True),
        Column("service", lambda one: one.service, left=True),
        Column("measurements", lambda one: str(one.count), left=True),
        Column("first occurrence", lambda one: one.first, left=True),
    ]
    return table_of("Not measured or not valid", columns, found) if found else None


def _skipped(facts: Mapping[str, Any]) -> Table | None:
    rows = [*map(mapping, items(facts.get("skipped")))]

    def of(name: str) -> Column[Mapping[str, Any]]:
        return Column(name, lambda skip: str(skip.get(name) or NOTHING), left=True)

    return table_of("Not planned", [*map(of, ("service", "scenario", "tool", "cause"))], rows) if rows else None
