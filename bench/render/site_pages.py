"""A page of the site for each server and each framework: what it is, and where published runs place it. Pure.

Their addresses, `servers/NAME.html` and `frameworks/NAME.html`, stay: tests/support/site_addresses.txt lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from bench.analysis.events import NULL
from bench.analysis.services import places_of
from bench.analysis.tables.ranking import REQUEST
from bench.core.formats import NOTHING, megabytes, number
from bench.core.groups import grouped
from bench.matrix.model import Framework, Matrix, Server
from bench.render.text import page_template
from bench.run.facts import RunFacts
from bench.tools.levels import Level
from bench.words.event_settings import DEFAULTS
from bench.words.events import event_labels
from bench.words.names import framework_words, level_words, scenario_words
from bench.words.setup import condition_words, day_of

SERVERS, FRAMEWORKS = "servers", "frameworks"


@dataclass(frozen=True, slots=True)
class P99:
    """p99 at the highest common rate of a table; `at_most`: only an upper bound is known."""

    seconds: float
    rate: float
    at_most: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """The place of a service in a table of a published run.

    `started`: the run's UTC time as digits. `table`: what the address of the run's page says to show only this table.
    `speed`: its requests/s; `cpu_us`: CPU per request, `mean`, `low` and `high`.
    """

    run: str
    started: str
    condition: str
    load: str
    table: str
    service: str
    server: str
    framework: str
    rank: int
    of: int
    tier: int | None
    speed: float | None
    cpu_us: Mapping[str, float] | None
    memory_bytes: int | None
    p99: P99 | None
    package: str
    settings: str

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """Place, requests/s, CPU per request, memory."""
        place = f"{self.rank} of {self.of}" + (f", tier {self.tier}" if self.tier else "")
        cpu = f"{number(self.cpu_us['mean'])} µs" if self.cpu_us else NOTHING
        memory = NOTHING if self.memory_bytes is None else megabytes(self.memory_bytes)
        return place, NOTHING if self.speed is None else number(self.speed), cpu, memory


@dataclass(frozen=True, slots=True)
class Happened:
    """What an event did to a service in a published run, in words; `label` is its name in the run's heat map."""

    run: str
    day: str
    event: str
    service: str
    server: str
    words: str
    label: str

    @property
    def row(self) -> str:
        """What the address of the run's page says to show only this service's row of the heat map."""
        return urlencode({"service": self.label})


def placings(run: str, facts: RunFacts, lines: Sequence[Mapping[str, Any]]) -> Iterator[Placing]:
    """The places in the tables of a run, from its verdicts.jsonl; none for a user's own app."""
    if facts.own_app:
        return
    p99 = _p99_of(lines)
    services = (line for line in lines if line.get("kind") == "service")
    for (scenario, load), rows in grouped(services, _table).items():
        tool, _, level = load.partition(" ")
        ranked = [row for row in rows if isinstance(row.get("rank"), int)]
        words, unit = scenario_words(scenario, facts.wait_of(scenario)), facts.kind_of(scenario).rated
        per = "" if unit == REQUEST else f" (figures are of {unit}s)"
        for row in ranked:
            service = facts.service(row["service"])
            yield Placing(
                run=run,
                started=facts.run,
                condition=condition_words(facts),
                load=f"{words}{per}, {tool}, {level_words(Level.read(level))}",
                table=urlencode({"scenario": scenario, "tool": tool}),
                service=str(row.get("label") or row["service"]),
                server=service.server,
                framework=service.framework,
                rank=row["rank"],
                of=len(ranked),
                tier=row.get("tier"),
                speed=(row.get("goodput") or {}).get("mean"),
                cpu_us=row.get("cpu_us"),
                memory_bytes=row.get("memory_loaded_bytes"),
                p99=p99.get((scenario, load, row["service"])),
                package=service.package or "",
                settings=service.settings.text,
            )


def _table(line: Mapping[str, Any]) -> tuple[str, str]:
    """Scenario and load of a table; a line on latency names the table that its common rate is derived from."""
    return str(line.get("scenario")), str(line.get("table") or f"{line.get('tool')} {line.get('level')}")


def _p99_of(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], P99]:
    """By scenario, load and service."""
    figures: dict[tuple[str, str, str], P99] = {}
    latencies = (line for line in lines if line.get("kind") == "latency" and line.get("judge") == "p99")
    for table, rows in grouped(latencies, _table).items():
        rate = max(row["rate"] or 0.0 for row in rows)
        for row in rows:
            at_most = row["mean"] is None
            seconds = row["at_most"] if at_most else row["mean"]
            if row["rate"] == rate and seconds is not None:
                figures[*table, row["service"]] = P99(seconds, rate, at_most)
    return figures


def happenings(run: str, facts: RunFacts, lines: Iterable[Mapping[str, Any]]) -> Iterator[Happened]:
    """What events did to the services of a run, from its verdicts.jsonl."""
    cells = [line for line in lines if line.get("kind") == "event"]
    services = dict.fromkeys(cell["service"] for cell in cells if cell["service"] != NULL)
    labels = event_labels([*services], places_of(facts, []))
    for cell in cells:
        if cell.get("kind_of_cell") == "counted":
            service = facts.service(cell["service"])
            event = ", ".join(filter(None, (cell.get("event"), cell.get("case"))))
            words, label = str(cell.get("words") or ""), labels[cell["service"]]
            yield Happened(run, day_of(facts.run), event, service.stack, service.server, words, label)


def newest(found: Iterable[Placing]) -> list[Placing]:
    """The newest place of each service under each load, the newest run first."""
    ordered = sorted(found, key=lambda one: (one.started, one.run), reverse=True)
    return list({(one.load, one.service, one.package): one for one in reversed(ordered)}.values())[::-1]


def server_page(server: Server, start: str, places: Iterable[Placing], events: Iterable[Happened]) -> str:
    """The page of a server: how it is started and why, its defaults, known issues, tables, releases and events."""
    of_server = newest(one for one in places if one.server == server.name)
    happened = sorted((one for one in events if one.server == server.name), key=lambda one: one.day)
    last = {(one.event, one.service): one for one in happened}
    notes = server.notes
    issues = {
        "a known defect": notes.stall if notes else "",
        "not meant for production": server.development or "",
        "added by this project": notes.adds if notes else "",
        "set otherwise than by its default": notes.sets if notes else "",
        "not supported": notes.lacks if notes else "",
    }
    return _page(
        name=server.name,
        lead=f"{server.model}; serves {', '.join(server.serves)}.",
        source=notes.source if notes else "",
        start=start,
        defaults=[(DEFAULTS[kind], one.value, one.source) for kind, one in server.defaults.items()],
        reload=server.reload,
        issues=[(name, text) for name, text in issues.items() if text],
        groups=_by_run(one for one in of_server if not one.package),
        releases=_by_run(one for one in of_server if one.package),
        events=sorted(last.values(), key=lambda one: one.event),
        kind=SERVERS,
    )


def framework_page(framework: Framework, places: Iterable[Placing]) -> str:
    """The page of a framework: under each load, its servers in the newest run that has the most of them."""
    of_framework = [one for one in places if one.framework == framework.name and not one.package]
    groups = []
    for load, found in grouped(of_framework, lambda one: one.load).items():
        runs = grouped(found, lambda one: one.run).values()
        most = max(map(len, runs))
        chosen = max((run for run in runs if 2 * len(run) >= most), key=lambda run: (run[0].started, len(run)))
        groups.append((load, chosen[0], sorted(chosen, key=lambda one: one.rank)))
    return _page(
        name=framework_words(framework.name),
        lead=f"Interface: {', '.join(framework.interfaces)}. Its servers, best first; places are those of the table.",
        source=framework.pool.source if framework.pool else "",
        start="",
        defaults=[],
        reload=None,
        issues=[("not offered", f"{route}: {why}") for route, why in framework.lacks.items()],
        groups=sorted(groups, key=lambda group: -len(group[2])),
        releases=[],
        events=[],
        kind=FRAMEWORKS,
    )


def addresses(matrix: Matrix) -> dict[str, list[str]]:
    """The names of all pages by their folder."""
    return {
        FRAMEWORKS: sorted(name for name, one in matrix.frameworks.items() if not one.selftest),
        SERVERS: sorted(matrix.servers),
    }


def _by_run(places: Iterable[Placing]) -> list[tuple[str, Placing, list[Placing]]]:
    """(title, one that says which run, its places) for each run."""
    return [(run, found[0], found) for run, found in grouped(places, lambda one: one.run).items()]


def _page(**content: Any) -> str:
    here = Path(__file__).parent
    style = "".join((here / name).read_text("utf-8") for name in ("page/style.css", "site.css"))
    return page_template(here, "site_page.html.jinja").render(style=Markup(style), **content)
