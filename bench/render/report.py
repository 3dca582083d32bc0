"""report.md: conclusions, rankings, setup, missing results, then the preset's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Template

from bench.analysis.cells.cell import Context
from bench.analysis.cells.latency import Key, Latencies
from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.why import explanations
from bench.analysis.published import reference_results
from bench.analysis.services import places_of
from bench.core.files import items, mapping
from bench.core.formats import NOTHING, listed
from bench.core.templates import environment
from bench.plan.measurement import settings_of
from bench.records.record import MEASURED, Record
from bench.render.table import Table, escape
from bench.render.tables.costs import costs, service_costs
from bench.render.tables.four_tools import four_tools
from bench.render.tables.knee import knee
from bench.render.tables.ladder import ladder_tables
from bench.render.tables.latency import latency
from bench.render.tables.levels import levels
from bench.render.tables.null_server import null_table
from bench.render.tables.open_loop import vegeta
from bench.render.tables.own_app import own_app_tables
from bench.render.tables.processes import process_table
from bench.render.tables.published import published_table
from bench.render.tables.ranking import NOTE as RANKING_NOTE
from bench.render.tables.ranking import ranking_table
from bench.render.tables.repeats import repeats
from bench.render.tables.summary import summary
from bench.render.tables.tldr import tldr
from bench.render.tables.why import NOTE as WHY_NOTE
from bench.render.tables.why import not_sampled, reasons
from bench.render.tables.wrk_latency import wrk_latency
from bench.run.reader import Run, ServiceFacts
from bench.words.advice import advice
from bench.words.answers import against
from bench.words.setup import (
    already_running,
    loadgen_words,
    machines_words,
    network_cost,
    own_app_answers,
    package_facts,
    side_by_side,
)
from bench.words.told import ToldRanking, by_question, conclusions

KINDS = MappingProxyType[str, Callable[[Sequence[Record], Context], list[Table]]](
    {
        "summary": summary,
        "tldr": tldr,
        "levels": levels,
        "repeats": repeats,
        "vegeta": vegeta,
        "wrk-latency": wrk_latency,
        "four-tools": four_tools,
        "latency": latency,
        "knee": knee,
    }
)


def markdown(content: Mapping[str, Any]) -> str:
    """The content of a report as Markdown."""
    return _template().render(content)


def report_content(
    source: Run,
    services: Mapping[str, ServiceFacts],
    records: Sequence[Record],
    told: Sequence[ToldRanking],
    latencies: Mapping[Key, Latencies],
    *,
    profiles: Sequence[Sequence[Profile]] = (),
) -> dict[str, Any]:
    """The content of the report, by the names that its templates use; `profiles` are those of each ranking."""
    solo = [record for record in records if record.mode == "solo"]
    alone = [record for record in records if record.mode in ("solo", "turns")]
    facts = source.facts
    reference = reference_results().get(str(facts.get("published")))
    context, rankings = Context(tuple(services), reference, latencies), [one.ranking for one in told]
    kinds = [kind for kind in items(facts.get("tables")) if kind in KINDS] or ["summary"]
    # For every preset: these tables are empty if the run has no such cells.
    kinds += [kind for kind in ("knee", "latency") if kind not in kinds]
    # Which server to run it on is not what two refs of an app are measured for.
    own_app = () if against(facts) else own_app_answers(facts, rankings)
    return {
        "own_app": own_app,
        "own_app_tables": own_app_tables(facts, rankings, records, services) if own_app else [],
        "conclusions": by_question(conclusions(told, records)),
        "advice": advice(facts, rankings, records),
        "title": facts.get("title") or facts.get("preset") or "Run",
        "facts": [
            *_facts(facts, records),
            *(("package", words) for words in package_facts(facts, services)),
            *already_running(source),
            *network_cost(source, records),
            *side_by_side(source),
            *_jit(facts, services),
        ],
        "services": _services(facts, services, records),
        "reference": reference,
        "planned": len(records),
        "measured": sum(record.outcome == MEASURED for record in records),
        "valid": sum(record.valid for record in records),
        "faults": source.faults,
        "causes": _causes(records),
        "skipped": _skipped(facts),
        "tables": [table for kind in kinds for table in KINDS[kind](solo, context)] if solo else [],
        "rankings": [*map(ranking_table, told)],
        "rankings_note": RANKING_NOTE,
        "ladders": ladder_tables(told, places_of(facts, records)),
        "published": published_table(told, reference, _stacks(facts)),
        "controls": null_table(records),
        **_why(told, profiles, records),
        "costs": [
            *(costs(solo, context) or _costs_of_turns(records, context)),
            *process_table(alone, context, mapping(facts.get("knobs"))),
        ],
        "noisy": sum(any(cause.cause == "host" for cause in record.causes) for record in records),
        "measured_again": source.measured_again,
        "rounds": len({record.round for record in solo}),
    }


def _why(
    told: Sequence[ToldRanking], profiles: Sequence[Sequence[Profile]], records: Sequence[Record]
) -> dict[str, Any]:
    """What the profiles of the tables say; empty without any."""
    pairs = [*zip(told, profiles, strict=True)] if profiles else []
    return {
        "why": [one for table, own in pairs for one in reasons(table, explanations(table.ranking, own, records))],
        "not_sampled": [line for table, own in pairs for line in not_sampled(table.ranking, own)],
        "why_note": WHY_NOTE,
    }


@cache
def _template() -> Template:
    templates = environment(Path(__file__).parent)
    templates.filters["text"] = lambda value: escape(str(value))
    return templates.get_template("report.md.jinja")


def _stacks(facts: Mapping[str, Any]) -> dict[str, str]:
    """The stack of each service of run.json."""
    return {name: str(mapping(entry).get("stack")) for name, entry in mapping(facts.get("services")).items()}


def _costs_of_turns(records: Iterable[Record], context: Context) -> list[Table]:
    """What the services cost besides CPU time, which the rankings have."""
    turns = [record for record in records if record.mode == "turns"]
    return [service_costs(turns, context)] if turns else []


def _rounds(facts: Mapping[str, Any]) -> str:
    """How many were planned: of tables in turns, and of what was measured alone."""
    alone = str(facts.get("rounds", "unknown"))
    turns = dict.fromkeys(str(mapping(table).get("rounds", "unknown")) for table in items(facts.get("tables_in_turns")))
    if not turns:
        return alone
    return f"{' or '.join(turns)} of tables" + (f", {alone} of services alone" if alone != "0" else "")


def _facts(facts: Mapping[str, Any], records: Iterable[Record]) -> Iterable[tuple[str, str]]:
    """The setup of the run as (name, value)."""
    for name in ("preset", "mode"):
        yield name, str(facts.get(name, "unknown"))
    yield "rounds planned", _rounds(facts)
    yield "seed", str(facts.get("seed", "unknown"))
    if command := items(facts.get("command")):
        yield "selection", " ".join(map(str, command))
    if refs := against(facts):
        changed = [*map(str, items(mapping(facts.get("refs")).get("changed")))]
        yield "refs", f"{refs}, which differ in {listed(changed or ['nothing'])}"
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
    elif nodes := sorted({record.node for record in records if record.node}):
        yield (
            "nodes",
            (
                f"servers on {listed(nodes)}, of one kind; load generator and database on other nodes; overlay "
                "network, not encrypted. `host` is where the scripts ran"
            ),
        )
    if words := loadgen_words(facts, records):
        yield "load generators", words
    host = mapping(facts.get("host"))
    known = [f"{key} {'unknown' if host[key] is None else host[key]}" for key in host if key != "missing"]
    yield "host", ", ".join(known) or "unknown"
    settings = mapping(facts.get("knobs"))
    yield "settings", ", ".join(f"{key}={settings[key]}" for key in settings if settings[key] != "") or "unknown"
    versions = sorted({f"{record.tool} {record.tool_version}" for record in records if record.tool_version})
    yield "tools", ", ".join(versions) or "none"


def _jit(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts]) -> Iterable[tuple[str, str]]:
    """Whether the requested JIT is really enabled, as reported by each interpreter."""
    asked, listed_services = mapping(facts.get("knobs")).get("PYTHON_JIT"), mapping(facts.get("services"))
    states: dict[str, list[str]] = {}
    for name, service in services.items():
        own = settings_of(mapping(listed_services.get(name)).get("settings"))
        if own.get("PYTHON_JIT", asked) != "1":
            continue
        states.setdefault(service.jit or "unknown", []).append(name)
    listed = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    if listed or asked == "1":
        yield "PYTHON_JIT=1, as reported by the interpreters", listed or "no services"


def _services(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts], records: Sequence[Record]) -> Table:
    coordinates = {record.service: record for record in records}
    listed = mapping(facts.get("services"))
    rows = []
    for name, service in services.items():
        entry, record = mapping(listed.get(name)), coordinates.get(name)
        base = str(entry.get("base") or (record.base if record else "unknown"))
        names = [str(entry.get(key, "")) for key in ("server", "framework")]
        wanted = {*names, *names[0].split("-")}
        versions = [f"{key} {version}" for key, version in service.packages.items() if key in wanted]
        rows.append(
            (
                name,
                service.python_build or f"unknown: {service.missing['python_build']}",
                f"{base}, {service.base_label or 'pulled or unknown: ' + service.missing['base_label']}",
                ", ".join(versions) or NOTHING,
                _image(service),
            )
        )
    columns = ("service", "Python", "base and how it was built", "versions", "image")
    return Table("Services", columns, tuple(rows), labels=len(columns))


def _image(service: ServiceFacts) -> str:
    if service.image_id is None:
        return f"unknown: {service.missing['image_id']}"
    return service.image_id.removeprefix("sha256:")[:12]


def _causes(records: Sequence[Record]) -> Table | None:
    """Every cause with its count by service, and the details of its first occurrence."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for record in records:
        for cause in record.causes:
            key = (cause.cause, record.service)
            counts[key] += 1
            where = f"{record.id} {record.scenario} {record.tool} {record.level}"
            examples.setdefault(key, f"{where}: {cause.detail}")
    rows = tuple(
        (cause, service, str(counts[cause, service]), examples[cause, service]) for cause, service in sorted(counts)
    )
    columns = ("cause", "service", "measurements", "first occurrence")
    return Table("Not measured or not valid", columns, rows, labels=4) if rows else None


def _skipped(facts: Mapping[str, Any]) -> Table | None:
    rows = []
    for skip in map(mapping, items(facts.get("skipped"))):
        words = [str(skip.get(key) or NOTHING) for key in ("service", "scenario", "tool", "cause")]
        rows.append(tuple(words))
    columns = ("service", "scenario", "tool", "cause")
    return Table("Not planned", columns, tuple(rows), labels=4) if rows else None
