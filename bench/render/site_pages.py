"""A page of the site for each server and each framework: what it is, and where published runs place it. Pure.

Their addresses, `servers/NAME.html` and `frameworks/NAME.html`, stay: tests/support/site_addresses.txt lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bench.core.formats import NOTHING, megabytes, number
from bench.core.groups import grouped
from bench.matrix.model import Framework, Matrix, Server
from bench.render.text import page_template
from bench.run.facts import RunFacts
from bench.words.event_settings import DEFAULTS
from bench.words.names import framework_words
from bench.words.setup import condition_words, day_of

SERVERS, FRAMEWORKS = "servers", "frameworks"


@dataclass(frozen=True, slots=True)
class Placing:
    """The place of a service in a table of a published run. `speed`: its requests/s; `cpu_us`: CPU per request."""

    run: str
    day: str
    condition: str
    load: str
    service: str
    server: str
    framework: str
    rank: int
    of: int
    tier: int | None
    speed: float | None
    cpu_us: float | None
    memory_bytes: int | None
    package: str = ""

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """Place, requests/s, CPU per request, memory."""
        place = f"{self.rank} of {self.of}" + (f", tier {self.tier}" if self.tier else "")
        cpu = NOTHING if self.cpu_us is None else f"{number(self.cpu_us)} µs"
        memory = NOTHING if self.memory_bytes is None else megabytes(self.memory_bytes)
        return place, NOTHING if self.speed is None else number(self.speed), cpu, memory


@dataclass(frozen=True, slots=True)
class Happened:
    """What an event did to a service in a published run, in words."""

    run: str
    day: str
    event: str
    service: str
    server: str
    words: str


def placings(run: str, facts: RunFacts, lines: Sequence[Mapping[str, Any]]) -> Iterator[Placing]:
    """The places in the tables of a run, from its verdicts.jsonl; none for a user's own app."""
    if facts.own_app:
        return
    tables = grouped((line for line in lines if line.get("kind") == "service"), _load)
    for load, rows in tables.items():
        ranked = [row for row in rows if isinstance(row.get("rank"), int)]
        for row in ranked:
            service = facts.service(row["service"])
            goodput, cpu = row.get("goodput") or {}, row.get("cpu_us") or {}
            yield Placing(
                run,
                day_of(facts.run),
                condition_words(facts),
                load,
                str(row.get("label") or row["service"]),
                service.server,
                service.framework,
                row["rank"],
                len(ranked),
                row.get("tier"),
                goodput.get("mean"),
                cpu.get("mean"),
                row.get("memory_loaded_bytes"),
                service.package or "",
            )


def happenings(run: str, facts: RunFacts, lines: Iterable[Mapping[str, Any]]) -> Iterator[Happened]:
    """What events did to the services of a run, from its verdicts.jsonl."""
    for line in lines:
        if line.get("kind") == "event" and line.get("kind_of_cell") == "counted":
            service = facts.service(line["service"])
            event = ", ".join(filter(None, (line.get("event"), line.get("case"))))
            yield Happened(run, day_of(facts.run), event, service.stack, service.server, str(line.get("words") or ""))


def newest(found: Iterable[Placing]) -> list[Placing]:
    """The newest place of each service under each load, the newest run first."""
    ordered = sorted(found, key=lambda one: (one.day, one.run), reverse=True)
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
        chosen = max((run for run in runs if 2 * len(run) >= most), key=lambda run: (run[0].day, len(run)))
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


def _load(line: Mapping[str, Any]) -> str:
    return " ".join(str(line.get(name)) for name in ("scenario", "tool", "level"))


def _page(**content: Any) -> str:
    here = Path(__file__).parent
    style = "".join((here / name).read_text("utf-8") for name in ("page/style.css", "site.css"))
    return page_template(here, "site_page.html.jinja").render(style=Markup(style), **content)
